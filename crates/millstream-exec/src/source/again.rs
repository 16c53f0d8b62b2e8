use super::Source;
use millstream_core::Item;

/// A source that can be started again: see [`again`](crate::source::again).
#[derive(Clone, Debug)]
pub struct Again<F>(pub(crate) F);

impl<T: Item, X: Source<T>, F: FnMut() -> X> Source<T> for Again<F> {
    type Values = X::Values;
    const WAITS: bool = X::WAITS;
    const SLOTS: usize = X::SLOTS;
    const THREADS: usize = X::THREADS;

    fn most_slots() -> usize {
        X::most_slots()
    }

    fn into_values(mut self) -> X::Values {
        (self.0)().into_values()
    }
}

/// A source that a [run again](crate::Runner::run_again) can start again: `make` makes a new one for each try.
pub fn again<F>(make: F) -> Again<F> {
    Again(make)
}
