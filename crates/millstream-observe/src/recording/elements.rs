//! The elements of a recording.

use millstream_core::SequenceNumber;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Keeps elements as text while a run goes on, at selected places. A [`Recording`](super::Recording) shows them with
/// their numbers. For debugging.
///
/// **Cost**: every element that passes such a place is formatted, under a lock, on a worker. That takes some hundred
/// nanoseconds to a microsecond, a hundred times the time of a cheap stage, and slows the run down. If
/// [`keep`](Elements::keep) has disabled it, an element costs the read of a flag. A pipeline without such a place costs
/// nothing. Memory: the newest elements of every place, at most `most` of them, each of at most 40 characters.
///
/// ```
/// use millstream::{observe::{Elements, Recorder}, prelude::*};
/// let elements = Elements::new(1000);
/// let p = pipeline::<u64>()
///     .map(|x| x * x)
///     .named("square")
///     .tee(|p| p.enumerate().map(elements.of("square")));
/// let run = Rings::new().start(p.from(source::ready(0..100)).to_each(|_, _| ()))?;
/// let recorder = Recorder::attach(run.observer())?;
/// run.wait()?;
/// let recording = recorder.finish().with(&elements);
/// assert_eq!(recording.elements["square"].back(), Some(&(99, "9801".to_owned())));
/// assert!(recording.svg().contains("9801"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Elements {
    kept: Arc<Mutex<Kept>>,
    wanted: Arc<AtomicBool>,
    most: usize,
}

/// For each place, by the name of its stage, its newest elements with their numbers.
pub(super) type Kept = BTreeMap<String, VecDeque<(u64, String)>>;

/// The most characters of an element.
const LONG: usize = 40;

impl Elements {
    /// Keeps at most this many elements at each place.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Elements { kept: Arc::default(), wanted: Arc::new(AtomicBool::new(true)), most: most.max(1) }
    }

    /// Enables or disables the keeping of elements, at every place. It is enabled at first. Elements that were kept
    /// before stay.
    pub fn keep(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    /// A function that keeps the output of this stage. Its place is a `tee` after the stage, after `enumerate`.
    pub fn of<T: Debug>(&self, stage: &str) -> impl for<'a> Fn((&'a SequenceNumber, &'a T)) + Send + Sync + use<T> {
        let (kept, wanted, most, stage) = (self.kept.clone(), self.wanted.clone(), self.most, stage.to_owned());
        move |(number, element)| {
            if !wanted.load(Ordering::Relaxed) {
                return;
            }
            let mut text = Shortened(String::new());
            // An error ends the formatting, once there is no room for more.
            let _ = write!(text, "{element:?}");
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let place = kept.entry(stage.clone()).or_default();
            if place.len() == most {
                place.pop_front();
            }
            place.push_back((number.0, text.0));
        }
    }

    pub(super) fn kept(&self) -> Kept {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The beginning of a text.
struct Shortened(String);

impl Write for Shortened {
    fn write_str(&mut self, more: &str) -> std::fmt::Result {
        let room = LONG.saturating_sub(self.0.chars().count());
        self.0.extend(more.chars().take(room));
        if more.chars().count() <= room {
            return Ok(());
        }
        self.0.push('…');
        Err(std::fmt::Error)
    }
}
