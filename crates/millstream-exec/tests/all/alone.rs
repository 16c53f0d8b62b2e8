//! Whether a value takes its way before the next one is taken from the source.

use millstream_core::SequenceNumber;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Values, and how many of them were taken so far.
pub(crate) fn counted(
    values: impl Iterator<Item = u64> + Send + 'static,
) -> (impl Iterator<Item = u64> + Send, Arc<AtomicU64>) {
    let taken = Arc::new(AtomicU64::new(0));
    let counter = taken.clone();
    (values.inspect(move |_| _ = counter.fetch_add(1, Relaxed)), taken)
}

/// A sink that counts the values that it got before another one was taken from the source, and all.
pub(crate) fn alone(taken: Arc<AtomicU64>) -> impl FnMut(&mut (u64, u64), SequenceNumber, &u64) + Send + 'static {
    move |(alone, all), number, _| {
        *alone += u64::from(taken.load(Relaxed) == number.0 + 1);
        *all += 1;
    }
}

/// Whether some run does, of a few: where others use the core, the first values may look dear, and then all go through
/// the slots.
pub(crate) fn at_last(run: impl FnMut() -> bool) -> bool {
    std::iter::repeat_with(run).take(20).any(|does| does)
}
