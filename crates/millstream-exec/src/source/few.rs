use super::{Channel, Closer, Connect, External, Source, least};
use crate::Wiring;
use crate::explain::Feed;
use crate::external_source::StopSource;
use crate::shared::Shared;
use crate::source_ring::SourceRing;
use millstream_core::Item;
use std::sync::Arc;

/// A source whose ring has few slots. See [`few`].
#[derive(Clone, Debug)]
pub struct Few<X, const SLOTS: usize>(X);

/// Limits the source's ring or queue to `SLOTS` slots, or to the run's number if that is smaller. Use it for large
/// values, such as blocks of bytes, of which only a few should be in memory at a time. The rings after the first are
/// unaffected. A [`channel`](fn@super::channel) keeps the slots that it was made with.
///
/// If other processes use the cores, handing values to a worker takes a time slice, which is long for few values. If
/// the source may wait, its thread then runs the stages itself after every value, for as long as that lasts. Therefore
/// no stage may wait for the source's next value, unless the run has
/// [`StagesOn::Workers`](crate::StagesOn::Workers).
///
/// ```
/// use millstream::prelude::*;
/// let blocks = (0..100).map(|n| vec![n; 1 << 16]);
/// let (bytes, _) = pipeline()
///     .from(source::few::<4, _>(blocks))
///     .to_fold(0, |n, _, block| *n += block.len())
///     .run()?;
/// assert_eq!(bytes, 100 << 16);
/// # Ok::<(), RunError>(())
/// ```
pub fn few<const SLOTS: usize, X>(source: X) -> Few<X, SLOTS> {
    const { assert!(SLOTS.is_power_of_two(), "a ring's slots are a power of two") };
    Few(source)
}

impl<T: Item, X: Source<T>, const SLOTS: usize> Source<T> for Few<X, SLOTS> {
    type Values = X::Values;
    const WAITS: bool = X::WAITS;
    const SLOTS: usize = SLOTS;
    const THREADS: usize = X::THREADS;
    const IN_LOOP: bool = X::IN_LOOP;
    const LOOP_BEHIND: bool = X::LOOP_BEHIND;

    fn most_slots() -> usize {
        least(SLOTS, X::most_slots())
    }

    fn into_values(self) -> X::Values {
        self.0.into_values()
    }

    fn waits(&self) -> bool {
        self.0.waits()
    }

    fn external(self) -> Result<External<T>, Self> {
        let External(source) = self.0.external().map_err(Self)?;
        Ok(External(Box::new(FewSlots { source, slots: SLOTS })))
    }

    fn external_feed(&self) -> Option<Feed> {
        Some(self.0.external_feed()?.at_most(SLOTS))
    }

    fn closer(&self) -> Option<Closer> {
        self.0.closer()
    }

    fn channels(&self) -> Vec<Channel> {
        self.0.channels()
    }
}

/// A source that fills the ring of a run by itself, which has few slots.
struct FewSlots<T: Item> {
    source: Box<dyn Connect<T>>,
    slots: usize,
}

impl<T: Item> Connect<T> for FewSlots<T> {
    fn shared(&self) -> Arc<Shared> {
        self.source.shared()
    }

    fn feed(&self) -> Feed {
        self.source.feed().at_most(self.slots)
    }

    fn connect(self: Box<Self>, ring: SourceRing<T>, wiring: &mut Wiring) -> std::io::Result<StopSource> {
        self.source.connect(ring, wiring)
    }
}
