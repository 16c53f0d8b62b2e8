//! Values that are the same each time.

use super::{Places, Resumable};
use millstream_core::Item;
use serde_json::Value;
use std::io;

/// Values that are the same in every process, made by a function: see [`again`].
#[derive(Clone, Debug)]
pub struct Again<F>(F);

/// A source whose values are the same each time that `values` is called, such as generated ones. It begins in the
/// middle by skipping the earlier values, so a restart takes the time to make those again. The values never wait, as
/// those of [`ready`](millstream_exec::source::ready).
///
/// ```
/// use millstream::state::{Resumable, again};
/// let odd = again(|| (1_u64..).step_by(2));
/// assert_eq!(odd.begin(None)?.nth(2), Some(5));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn again<F: Fn() -> I, I: Iterator>(values: F) -> Again<F> {
    Again(values)
}

impl<T: Item, F, I> Resumable<T> for Again<F>
where
    F: Fn() -> I + Send + Sync + 'static,
    I: Iterator<Item = T> + Send + 'static,
{
    type Mark = u64;
    type Values = Counted<I>;
    const WAITS: bool = false;

    fn begin(&self, position: Option<&Value>) -> io::Result<Counted<I>> {
        let skipped = position.and_then(Value::as_u64).unwrap_or(0);
        let mut values = Counted { values: (self.0)(), taken: 0 };
        while values.taken < skipped {
            if values.next().is_none() {
                let why = format!("it has {} values, and {skipped} were read before the snapshot", values.taken);
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
            }
        }
        Ok(values)
    }

    fn position(&self, mark: &u64) -> io::Result<Value> {
        Ok((*mark).into())
    }
}

/// The values of an [`Again`], and how many were taken.
#[derive(Debug)]
pub struct Counted<I> {
    values: I,
    taken: u64,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let value = self.values.next()?;
        self.taken += 1;
        Some(value)
    }
}

impl<I: Iterator> Places for Counted<I> {
    type Mark = u64;

    fn place(&self) -> u64 {
        self.taken
    }
}
