use crate::error::CapacityError;
use crate::occupancy::EmptyCounter;
use crate::producer::{Producer, leaf_at};
use crate::reader::Reader;
use crate::shared::{Published, Shared};
use crate::sync::Arc;
use crate::text::{Kind, Span};
use crate::view::OneRing;
use millstream_core::{Density, Item, SequenceNumber, Text, Val};
use std::marker::PhantomData;

/// A ring that has not started. Readers made here see it from number 0 on.
///
/// ```
/// use millstream::{prelude::*, ring::Wiring};
///
/// let wiring = Wiring::<u64, Dense>::new(8)?;
/// let (mut a, mut b) = (wiring.reader(), wiring.reader());
/// let mut producer = wiring.start();
/// producer.try_claim(1)?.expect("room").write(7);
/// assert!(a.batch(1).is_none(), "the claim was dropped without being published");
/// # assert!(b.batch(1).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Wiring<T: Item, D: Density> {
    shared: Arc<Shared<D::Slot<T>>>,
    density: PhantomData<D>,
}

impl<T: Item, D: Density> Wiring<T, D> {
    /// A ring of `capacity` slots. They are allocated here, once.
    ///
    /// # Errors
    ///
    /// If `capacity` is not a power of two.
    pub fn new(capacity: usize) -> Result<Self, CapacityError> {
        Ok(Wiring { shared: Shared::new(capacity, 0, Published::producer(0))?, density: PhantomData })
    }

    /// Adds a reader from number 0 on.
    #[must_use]
    pub fn reader(&self) -> Reader<Val<T, D>> {
        reader_at(&self.shared, 0)
    }

    /// Ends the wiring and returns the producer. Further readers come from forks, or from [`Producer::reader`].
    #[must_use]
    pub fn start(self) -> Producer<D::Slot<T>> {
        Producer::new(self.shared, 0)
    }
}

/// A reader from number `position` on, which must be the next number to be published.
pub(crate) fn reader_at<F: OneRing>(shared: &Arc<Shared<F::Slot>>, position: u64) -> Reader<F> {
    if !F::Density::DENSE {
        shared.counts_empty(EmptyCounter::of::<F>);
    }
    let (gate, leaf) = leaf_at(shared, position);
    shared.gates.add(gate);
    Reader::new(leaf, position)
}

/// A ring with one reader.
///
/// # Errors
///
/// If `capacity` is not a power of two.
#[expect(clippy::type_complexity, reason = "the two ends of one ring")]
pub fn ring<T: Item, D: Density>(capacity: usize) -> Result<(Producer<D::Slot<T>>, Reader<Val<T, D>>), CapacityError> {
    ring_from(SequenceNumber(0), capacity)
}

/// As [`ring`], with `first` as its first number: it has no slots below.
///
/// ```
/// use millstream::core::{Dense, SequenceNumber};
/// let (mut producer, mut reader) = millstream::ring::ring_from::<u64, Dense>(SequenceNumber(7), 4)?;
/// producer.fill(1, |_| 100)?;
/// let batch = reader.batch(4).expect("a number is published");
/// assert_eq!((batch.first(), batch.get(0)), (SequenceNumber(7), Some(&100)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `capacity` is not a power of two.
///
/// # Panics
///
/// If `first` is beyond 2^63.
#[expect(clippy::type_complexity, reason = "the two ends of one ring")]
pub fn ring_from<T: Item, D: Density>(
    first: SequenceNumber,
    capacity: usize,
) -> Result<(Producer<D::Slot<T>>, Reader<Val<T, D>>), CapacityError> {
    from::<Val<T, D>>(first, capacity)
}

fn from<F: OneRing>(
    SequenceNumber(first): SequenceNumber,
    capacity: usize,
) -> Result<(Producer<F::Slot>, Reader<F>), CapacityError> {
    let shared = Shared::new(capacity, first, Published::producer(first))?;
    let reader = reader_at::<F>(&shared, first);
    Ok((Producer::new(shared, first), reader))
}

/// As [`ring_from`], of text: a [`Pen`](crate::Pen) fills its slots.
///
/// # Errors
///
/// If `capacity` is not a power of two.
///
/// # Panics
///
/// If `first` is beyond 2^63.
#[expect(clippy::type_complexity, reason = "the two ends of one ring")]
pub fn text_ring<T: Kind + ?Sized, D: Density>(
    first: SequenceNumber,
    capacity: usize,
) -> Result<(Producer<D::Slot<Span<T>>>, Reader<Text<T, D>>), CapacityError> {
    from::<Text<T, D>>(first, capacity)
}

impl<T: Item, D: Density> std::fmt::Debug for Wiring<T, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wiring").field("capacity", &self.shared.slots.capacity()).finish_non_exhaustive()
    }
}
