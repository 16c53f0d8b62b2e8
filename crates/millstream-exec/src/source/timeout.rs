use super::ahead::{Ahead, Change, Line, Next};
use super::{Channel, Source};
use millstream_core::Item;
use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

/// The most values that are taken from the source before the pipeline takes them.
const AHEAD: usize = 16;

/// A source that says when it is silent. See [`timeout`].
#[derive(Clone, Debug)]
pub struct Timeout<X> {
    source: X,
    within: Duration,
}

/// No value came in time: see [`timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Elapsed {
    /// For how long none came.
    pub within: Duration,
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the source had no value for {:?}", self.within)
    }
}

impl std::error::Error for Elapsed {}

/// Passes each value of the source as `Ok`, and says [`Err(Elapsed)`](Elapsed) when it has waited for one for `within`.
/// It says so once, and goes on: the next item is the value, whenever that comes, or the end of the stream. The first
/// value is waited for in the same way.
///
/// The time runs while the source is asked: time in which the pipeline is full does not count. A value that took longer
/// always comes after its `Elapsed`.
///
/// **Memory**: up to 16 values are taken from the source before the pipeline takes them.
///
/// **The stream depends on the clock**: where an `Elapsed` comes differs from run to run. What the stages make of the
/// stream does not: for the items that came, every deployment has the output of the model. Record them to replay a run,
/// as `state::journaled` does: see the book, "Many threads, one pipeline".
/// [`model::sources::timeout`](millstream_core::model::sources::timeout) says, on a list of values and the times that
/// they took, what comes.
///
/// The source is read on a thread of its own, and another one, that of any source that waits, looks at the clock. No
/// worker waits. When a run is drained or stopped, values that the pipeline has not taken are dropped. Dropping the
/// `Sender` of a channel ends the stream without a loss.
///
/// ```
/// use millstream::prelude::*;
/// use std::time::Duration;
///
/// let (sensor, values) = source::channel(64);
/// let silences = source::timeout(values, Duration::from_millis(1));
/// let alarms = pipeline().map(|x: &Result<u64, source::Elapsed>| x.is_err()).dedup();
/// let mut alarms = Rings::new().iter(alarms.from(silences))?;
/// assert_eq!(alarms.next(), Some(true)); // before any value has come
/// sensor.send(20)?;
/// assert_eq!(alarms.next(), Some(false));
/// assert_eq!(alarms.next(), Some(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
///
/// If `within` is zero.
#[doc(alias = "idle")]
#[doc(alias = "heartbeat")]
pub fn timeout<X>(source: X, within: Duration) -> Timeout<X> {
    assert!(!within.is_zero(), "a source needs some time for a value");
    Timeout { source, within }
}

impl<T: Item, X: Source<T>> Source<Result<T, Elapsed>> for Timeout<X> {
    type Values = Timed<T, X::Values>;
    const WAITS: bool = true;
    const SLOTS: usize = X::SLOTS;
    const THREADS: usize = 1 + if X::THREADS > 1 { X::THREADS } else { 1 };

    fn most_slots() -> usize {
        X::most_slots()
    }

    fn into_values(self) -> Timed<T, X::Values> {
        let channels = self.source.channels();
        Timed(Ahead::Ready(self.source.into_values(), Asked::new(self.within), channels))
    }

    fn channels(&self) -> Vec<Channel> {
        self.source.channels()
    }
}

/// The values of a [`Timeout`].
pub struct Timed<T: Item, I>(Ahead<I, Asked<T>>);

impl<T: Item, I: Iterator<Item = T> + Send + 'static> Iterator for Timed<T, I> {
    type Item = Result<T, Elapsed>;

    fn next(&mut self) -> Option<Result<T, Elapsed>> {
        self.0.next()
    }
}

impl<T: Item, I> fmt::Debug for Timed<T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Timed").field(&self.0).finish()
    }
}

/// What has come, and since when the source is asked for more.
struct Asked<T> {
    within: Duration,
    /// Values, and whether each of them was late.
    came: VecDeque<(T, bool)>,
    asked: Option<Instant>,
    /// Once the source has ended: whether that took too long.
    ended: Option<bool>,
    /// Whether it was said that the next value is late.
    told: bool,
}

impl<T> Asked<T> {
    fn new(within: Duration) -> Self {
        Asked { within, came: VecDeque::new(), asked: None, ended: None, told: false }
    }

    /// Whether what comes now is late.
    fn is_late(&mut self, now: Instant) -> bool {
        self.asked.take().is_some_and(|asked| now.saturating_duration_since(asked) >= self.within)
    }

    /// Says, unless that was said, that the next value is late.
    fn tell(&mut self) -> Next<Result<T, Elapsed>> {
        self.told = true;
        Next::Is(Err(Elapsed { within: self.within }))
    }
}

impl<T: Item> Line for Asked<T> {
    type Value = T;
    type Out = Result<T, Elapsed>;

    fn ask(&mut self, now: Instant) -> Change {
        if self.came.len() == AHEAD {
            return Change::Refused;
        }
        self.asked = Some(now);
        // A taker that waits without a time now has one.
        if self.came.is_empty() { Change::Shown } else { Change::Quiet }
    }

    fn put(&mut self, value: &mut Option<T>, now: Instant) -> Change {
        let late = self.is_late(now);
        let shows = self.came.is_empty();
        // It was asked for because there is room.
        self.came.extend(value.take().map(|value| (value, late)));
        if shows { Change::Shown } else { Change::Quiet }
    }

    fn end(&mut self, now: Instant) {
        self.ended = Some(self.is_late(now));
    }

    fn take(&mut self, now: Instant) -> Next<Result<T, Elapsed>> {
        match (self.came.front(), self.ended) {
            (Some((_, true)), _) | (None, Some(true)) if !self.told => self.tell(),
            (Some(_), _) => {
                self.told = false;
                self.came.pop_front().map_or(Next::End, |(value, _)| Next::Is(Ok(value)))
            }
            (None, Some(_)) => Next::End,
            (None, None) => match self.asked {
                Some(asked) if !self.told && now.saturating_duration_since(asked) >= self.within => self.tell(),
                Some(asked) if !self.told => Next::NotBefore(asked.checked_add(self.within)),
                _ => Next::NotBefore(None),
            },
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use millstream_core::model::sources;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    fn taken(line: &mut Asked<usize>, now: Instant) -> Option<Option<usize>> {
        match line.take(now) {
            Next::Is(item) => Some(item.ok()),
            Next::NotBefore(then) => {
                assert!(then.is_none_or(|then| then > now), "it would never sleep");
                None
            }
            Next::End => None,
        }
    }

    /// What comes if the source takes these times, and the taker takes everything at these intervals.
    fn came(within: Duration, took: &[u32], looks: &[u32]) -> Vec<Option<usize>> {
        let (mut now, mut line, mut out) = (Instant::now(), Asked::new(within), Vec::new());
        let (mut looks, mut look) = (looks.iter().cycle(), now);
        for (value, time) in took.iter().enumerate() {
            while line.ask(now) == Change::Refused {
                out.extend(taken(&mut line, now));
            }
            let comes = now + MS * *time;
            while look < comes {
                out.extend(taken(&mut line, look.max(now)));
                look += MS * *looks.next().unwrap();
            }
            now = comes;
            if value == took.len() - 1 {
                // The last time is that of the end.
                line.end(now);
            } else {
                assert_ne!(line.put(&mut Some(value), now), Change::Refused);
            }
        }
        out.extend(std::iter::from_fn(|| taken(&mut line, now)));
        assert_eq!(line.take(now), Next::End);
        out
    }

    proptest! {
        #[test]
        fn an_elapsed_comes_where_the_model_says_whenever_the_taker_looks(
            within in 1..20_u32,
            took in prop::collection::vec(0..40_u32, 1..60),
            looks in prop::collection::vec(1..200_u32, 1..9),
        ) {
            let out = came(MS * within, &took, &looks);
            let (end, values) = took.split_last().unwrap();
            let values = values.iter().enumerate().map(|(value, time)| (MS * *time, value)).collect();
            prop_assert_eq!(out, sources::timeout(MS * within, values, MS * *end));
        }
    }

    #[test]
    fn a_taker_that_finds_the_source_idle_is_told_when_it_is_asked() {
        let (now, mut line) = (Instant::now(), Asked::<usize>::new(MS));
        assert_eq!(line.take(now), Next::NotBefore(None));
        assert_eq!(line.ask(now), Change::Shown);
        assert_eq!(line.take(now), Next::NotBefore(Some(now + MS)));
        assert_eq!(line.take(now + MS), Next::Is(Err(Elapsed { within: MS })));
        assert_eq!(line.take(now + MS * 9), Next::NotBefore(None), "it is told once");
    }
}
