//! A watch looks at a run from a thread of its own, every millisecond unless told otherwise, and sums up what it sees
//! in frames.
//!
//! A `Frame` is plain data, of which pages, metrics, terminals and recordings are made. The plan's `Graph` says once
//! what the frames are about.

use crate::frame::Frame;
use crate::graph::Graph;
use crate::sampler::Sampler;
use millstream_core::failure::{caught, into_message};
use millstream_exec::Observer;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a watch looks, and how much it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The time between two looks: a millisecond. It is longer where a look takes more than a fifth of that.
    pub spacing: Duration,
    /// How long a frame is: a quarter of a second.
    pub frame: Duration,
    /// How long frames are kept: five minutes. Of large graphs fewer are, so that they take some megabytes.
    pub kept: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let (spacing, frame) = (Duration::from_millis(1), Duration::from_millis(250));
        Options { spacing, frame, kept: Duration::from_secs(300) }
    }
}

impl Options {
    /// The same with another time between two looks.
    #[must_use]
    pub fn spacing(self, spacing: Duration) -> Self {
        Options { spacing, ..self }
    }

    /// The same with frames of another length.
    #[must_use]
    pub fn frame(self, frame: Duration) -> Self {
        Options { frame, ..self }
    }

    /// The same with another time for which frames are kept.
    #[must_use]
    pub fn kept(self, kept: Duration) -> Self {
        Options { kept, ..self }
    }
}

/// Stages of all frames that are kept.
const MOST_STAGES: usize = 100_000;

/// Watches a run from a thread of its own. Attach it at any time; dropping it ends the watch and not the run, which is
/// not observed from then on.
///
/// See the [crate](crate) for an example.
#[derive(Debug)]
pub struct Watch {
    observer: Observer,
    graph: Arc<Graph>,
    shown: Arc<Shown>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The frames, and who waits for them.
#[derive(Debug)]
pub(crate) struct Shown {
    state: Mutex<Frames>,
    changed: Condvar,
    most: usize,
}

#[derive(Debug, Default)]
struct Frames {
    frames: VecDeque<Arc<Frame>>,
    /// Nobody wants to know any more.
    unwanted: bool,
    /// There are no more to come.
    over: bool,
    /// Why there are none, if the thread that looks has failed.
    failure: Option<String>,
    /// All the time in one.
    all: Option<Arc<Frame>>,
}

impl Shown {
    fn lock(&self) -> MutexGuard<'_, Frames> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits so long; whether anybody still wants to know.
    pub(crate) fn wait_until(&self, next: Instant) -> bool {
        let mut state = self.lock();
        loop {
            let left = next.saturating_duration_since(Instant::now());
            if state.unwanted || left.is_zero() {
                return !state.unwanted;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Shows a frame; the last one with what was seen of all the time.
    pub(crate) fn show(&self, frame: Frame, all: Option<Frame>) {
        let mut state = self.lock();
        if state.frames.len() >= self.most {
            state.frames.pop_front();
        }
        state.frames.push_back(Arc::new(frame));
        state.over = all.is_some();
        state.all = all.map(Arc::new);
        self.changed.notify_all();
    }

    /// Does the work of the thread that looks. If it panics there are no more frames, and whoever waits for one is told.
    fn guarded(&self, work: impl FnOnce()) {
        if let Err(payload) = caught(work) {
            let failure = into_message(payload);
            let mut state = self.lock();
            (state.failure, state.over) = (Some(failure), true);
            self.changed.notify_all();
        }
    }
}

impl Watch {
    /// Watches a run from now on.
    ///
    /// # Errors
    ///
    /// If the thread could not be started.
    pub fn attach(observer: Observer) -> std::io::Result<Self> {
        Watch::attach_with(observer, Options::default())
    }

    /// As [`attach`](Watch::attach), with other options.
    ///
    /// # Errors
    ///
    /// As [`attach`](Watch::attach).
    pub fn attach_with(observer: Observer, options: Options) -> std::io::Result<Self> {
        Watch::attach_by(observer, options, Sampler::work)
    }

    fn attach_by(
        observer: Observer,
        options: Options,
        work: impl FnOnce(Sampler) + Send + 'static,
    ) -> std::io::Result<Self> {
        let graph = Arc::new(Graph::of(observer.plan()));
        let kept = options.kept.as_nanos() / options.frame.as_nanos().max(1);
        let most = usize::try_from(kept).unwrap_or(usize::MAX).min(MOST_STAGES / graph.nodes.len()).max(8);
        let shown = Arc::new(Shown { state: Mutex::default(), changed: Condvar::new(), most });
        observer.observe(true);
        let sampler = Sampler::new(observer.clone(), graph.clone(), options, shown.clone());
        let builder = std::thread::Builder::new().name("millstream-watch".to_owned());
        let guard = shown.clone();
        let thread = Mutex::new(Some(builder.spawn(move || guard.guarded(|| work(sampler)))?));
        Ok(Watch { observer, graph, shown, thread })
    }

    /// What the frames are about.
    #[must_use]
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The plan of the run, with the rings that it got.
    #[must_use]
    pub fn plan(&self) -> &millstream_core::Plan {
        self.observer.plan()
    }

    /// The newest frame; none in the first moments.
    #[must_use]
    pub fn frame(&self) -> Option<Arc<Frame>> {
        self.shown.lock().frames.back().cloned()
    }

    /// All frames that are kept, the oldest first.
    #[must_use]
    pub fn frames(&self) -> Vec<Arc<Frame>> {
        self.shown.lock().frames.iter().cloned().collect()
    }

    /// Waits for a frame behind number `after`, or for any; none if there are no more to come: the run has ended, or the watch
    /// has [failed](Watch::failure).
    #[must_use]
    pub fn next(&self, after: Option<u64>) -> Option<Arc<Frame>> {
        let mut state = self.shown.lock();
        loop {
            let news = state.frames.back().filter(|frame| after.is_none_or(|after| frame.number > after));
            if news.is_some() || state.over {
                return news.cloned();
            }
            state = self.shown.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Why the watch has ended, if its own thread panicked: a mistake here, which the run does not notice. The frames up to
    /// there are kept, and no other comes.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shown.lock().failure.clone()
    }

    /// Ends the watch, and sums up all of it in one frame: up to the end of the run if that has ended, or else up to now. The
    /// frame is empty if the watch has [failed](Watch::failure).
    pub fn finish(&self) -> Arc<Frame> {
        self.end();
        self.shown.lock().all.clone().unwrap_or_default()
    }

    fn end(&self) {
        self.shown.lock().unwanted = true;
        self.shown.changed.notify_all();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // What it panics with is caught there.
            let _ = thread.join();
        }
        self.observer.observe(false);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, Watch};
    use millstream_core::pipeline;
    use millstream_exec::{Rings, Run};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_watch_whose_thread_panics_ends_and_says_why() {
        let waited = millstream_testkit::within(Duration::from_secs(60), || {
            let (values, source) = channel::<u64>();
            let run = pipeline::<u64>().start(&Rings::new(), source, 0, |n: &mut u64, _, x| *n += x).unwrap();
            let watch = Watch::attach_by(run.observer(), Options::default(), |_| {
                std::panic::resume_unwind(Box::new("of a mistake"));
            });
            let watch = watch.unwrap();
            assert_eq!(watch.next(None), None);
            assert_eq!(watch.next(Some(7)), None);
            assert_eq!(watch.failure().unwrap(), "panicked: of a mistake");
            assert_eq!(watch.finish().looks, 0);
            values.send(5).unwrap();
            drop(values);
            assert_eq!(run.wait().unwrap().0, 5);
        });
        waited.unwrap();
    }
}
