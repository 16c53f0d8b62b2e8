//! The ends of rings, of any type.

use crate::gate::{Gate, GateId};
use crate::producer::Producer;
use crate::reader::Reader;
use crate::view::{RingLayout, View};
use millstream_core::Item;
use std::any::Any;

/// A [`Producer`] or a [`Reader`]. Sealed.
pub trait RingEnd: sealed::Sealed {
    /// The number of its clock that is next.
    #[doc(hidden)]
    fn at(&self) -> u64;

    /// How many numbers can pass before it has something to do: none if its ring is not empty.
    #[doc(hidden)]
    fn before_work(&mut self) -> u64;

    /// The gates that hold a producer back, as they were read last.
    #[doc(hidden)]
    fn held_by(&self, see: &mut dyn FnMut(Option<GateId>));

    /// The gates of a reader, one for each of its rings. Returns whether these are all.
    #[doc(hidden)]
    fn holds(&self, see: &mut dyn FnMut(GateId)) -> bool;

    /// The next `n` numbers pass. `filled` of them have a value; none if it is not known.
    ///
    /// # Safety
    ///
    /// Nothing may wait in the rings of this end. The same numbers must pass at all other ends of these rings before
    /// any of them is used otherwise. No number from 2^63 on may pass.
    #[doc(hidden)]
    unsafe fn pass_by(&mut self, n: usize, filled: Option<usize>);

    /// The end itself, for a caller that knows its type.
    #[doc(hidden)]
    fn any(&mut self) -> &mut dyn Any;
}

mod sealed {
    pub trait Sealed {}
    impl<S: super::Item> Sealed for super::Producer<S> {}
    impl<F: super::RingLayout> Sealed for super::Reader<F> {}
}

impl<S: Item> RingEnd for Producer<S> {
    fn at(&self) -> u64 {
        self.next
    }

    fn before_work(&mut self) -> u64 {
        if self.is_drained() { u64::MAX } else { 0 }
    }

    fn held_by(&self, see: &mut dyn FnMut(Option<GateId>)) {
        self.gates().map(Gate::id).for_each(see);
    }

    fn holds(&self, _: &mut dyn FnMut(GateId)) -> bool {
        true
    }

    unsafe fn pass_by(&mut self, n: usize, filled: Option<usize>) {
        self.pass_by(n, filled);
    }

    fn any(&mut self) -> &mut dyn Any {
        self
    }
}

impl<F: RingLayout> RingEnd for Reader<F> {
    fn at(&self) -> u64 {
        self.position
    }

    fn before_work(&mut self) -> u64 {
        self.before_mark()
    }

    fn held_by(&self, _: &mut dyn FnMut(Option<GateId>)) {}

    fn holds(&self, see: &mut dyn FnMut(GateId)) -> bool {
        self.view.gates(see)
    }

    unsafe fn pass_by(&mut self, n: usize, _: Option<usize>) {
        self.pass_by(self.position + n as u64);
    }

    fn any(&mut self) -> &mut dyn Any {
        self
    }
}
