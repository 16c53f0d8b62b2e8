use super::ahead::{Ahead, Change, Line, Next};
use super::{Channel, Source};
use millstream_core::Item;
use std::fmt;
use std::time::{Duration, Instant};

/// A source without the values that a newer one follows soon. See [`debounce`].
#[derive(Clone, Debug)]
pub struct Debounce<X> {
    source: X,
    quiet: Duration,
}

/// Passes a value once nothing newer has come for `quiet`; a newer value replaces one that has not passed. The last
/// value of the stream passes as soon as the source ends.
///
/// Use it for bursts of which only the result counts: changes of a file, keys that are typed, a state that is reported
/// at every change. With a `quiet` of zero no value is replaced.
///
/// **Memory**: one value. A value that has passed is never replaced: while the pipeline has no room for it, the source
/// is held back, after one more value, and that time does not count.
///
/// **The stream depends on the clock**: which values pass differs from run to run. What the stages make of them does
/// not: for the values that have passed, every deployment has the output of the model. Record them to replay a run, as
/// `state::journaled` does: see the book, "Many threads, one pipeline".
/// [`model::sources::debounce`](millstream_core::model::sources::debounce) says, on a list of values and times, which
/// ones pass.
///
/// The source is read on a thread of its own, and another one, that of any source that waits, looks at the clock. No
/// worker waits. When a run is drained or stopped, the value that has not passed is dropped. Dropping the `Sender` of a
/// channel ends the stream without a loss.
///
/// ```
/// use millstream::prelude::*;
/// use std::time::Duration;
///
/// let (typed, keys) = source::channel(64);
/// typed.send_all(["m", "mi", "mill"])?;
/// drop(typed);
/// let searches = source::debounce(keys, Duration::from_secs(60));
/// assert_eq!(pipeline().collect(searches)?, ["mill"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "throttle_last")]
#[doc(alias = "settle")]
pub fn debounce<X>(source: X, quiet: Duration) -> Debounce<X> {
    Debounce { source, quiet }
}

impl<T: Item, X: Source<T>> Source<T> for Debounce<X> {
    type Values = Debounced<T, X::Values>;
    const WAITS: bool = true;
    const SLOTS: usize = X::SLOTS;
    const THREADS: usize = 1 + if X::THREADS > 1 { X::THREADS } else { 1 };

    fn most_slots() -> usize {
        X::most_slots()
    }

    fn into_values(self) -> Debounced<T, X::Values> {
        let line = Latest { quiet: self.quiet, value: None, ended: false };
        let channels = self.source.channels();
        Debounced(Ahead::Ready(self.source.into_values(), line, channels))
    }

    fn channels(&self) -> Vec<Channel> {
        self.source.channels()
    }
}

/// The values of a [`Debounce`].
pub struct Debounced<T: Item, I>(Ahead<I, Latest<T>>);

impl<T: Item, I: Iterator<Item = T> + Send + 'static> Iterator for Debounced<T, I> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next()
    }
}

impl<T: Item, I> fmt::Debug for Debounced<T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Debounced").field(&self.0).finish()
    }
}

/// The value that has not passed, or has passed and was not taken.
struct Latest<T> {
    quiet: Duration,
    value: Option<(T, Instant)>,
    ended: bool,
}

impl<T> Latest<T> {
    /// Whether a value that came then has passed by now.
    fn passed(&self, came: Instant, now: Instant) -> bool {
        self.ended || now.saturating_duration_since(came) >= self.quiet
    }
}

impl<T: Item> Line for Latest<T> {
    type Value = T;
    type Out = T;

    fn ask(&mut self, _: Instant) -> Change {
        Change::Quiet
    }

    fn put(&mut self, value: &mut Option<T>, now: Instant) -> Change {
        if let Some((_, came)) = &self.value
            && self.passed(*came, now)
        {
            return Change::Refused;
        }
        let newer = value.take().map(|value| (value, now));
        let older = std::mem::replace(&mut self.value, newer);
        // A taker that waits for the older value looks when that would have passed.
        let change = if older.is_some() { Change::Quiet } else { Change::Shown };
        *value = older.map(|(older, _)| older);
        change
    }

    fn end(&mut self, _: Instant) {
        self.ended = true;
    }

    fn take(&mut self, now: Instant) -> Next<T> {
        match &self.value {
            None if self.ended => Next::End,
            None => Next::NotBefore(None),
            Some((_, came)) if !self.passed(*came, now) => Next::NotBefore(came.checked_add(self.quiet)),
            Some(_) => self.value.take().map_or(Next::End, |(value, _)| Next::Is(value)),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use millstream_core::model::sources;
    use proptest::prelude::*;

    /// The values that pass if the source's thread brings values after these pauses, and the taker looks after those,
    /// unless it is told to look earlier. Each value has the time at which it got in.
    fn passed(quiet: Duration, pauses: &[u64], looks: &[u64]) -> (Vec<usize>, Vec<(Duration, usize)>) {
        let (start, mut line) = (Instant::now(), Latest { quiet, value: None, ended: false });
        let (mut now, mut out, mut came) = (Duration::ZERO, Vec::new(), Vec::new());
        let mut looks = looks.iter().cycle();
        let mut look = |line: &mut Latest<usize>, now: Duration| match line.take(start + now) {
            Next::Is(value) => out.push(value),
            Next::NotBefore(then) => assert!(then.is_none_or(|then| then > start + now), "it would never sleep"),
            Next::End => panic!("it has not ended"),
        };
        for (value, pause) in pauses.iter().enumerate() {
            let arrives = now + Duration::from_millis(*pause);
            loop {
                let next = now + Duration::from_millis(*looks.next().unwrap());
                if next >= arrives {
                    break;
                }
                now = next;
                look(&mut line, now);
            }
            now = arrives;
            let mut offered = Some(value);
            while line.put(&mut offered, start + now) == Change::Refused {
                look(&mut line, now);
                now += Duration::from_millis(1);
            }
            assert_ne!(offered, Some(value));
            came.push((now, value));
        }
        line.end(start + now);
        while let Next::Is(value) = line.take(start + now) {
            out.push(value);
        }
        (out, came)
    }

    proptest! {
        #[test]
        fn values_pass_as_the_model_says_whenever_the_taker_looks(
            quiet in 0..20_u64,
            pauses in prop::collection::vec(0..40_u64, 0..20),
            looks in prop::collection::vec(1..30_u64, 1..9),
        ) {
            let quiet = Duration::from_millis(quiet);
            let (out, came) = passed(quiet, &pauses, &looks);
            prop_assert_eq!(out, sources::debounce(quiet, came));
        }
    }
}
