//! A watch samples a run from a thread of its own, every millisecond by default, and makes frames of its samples.
//!
//! A `Frame` is plain data, of which pages, metrics, terminals and recordings are made. The `Graph` of the plan
//! describes the stages and rings of the frames.

use crate::frame::Frame;
use crate::graph::Graph;
use crate::sampler::Sampler;
use millstream_core::failure::{caught, into_message};
use millstream_exec::Observer;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The sampling interval, and the amount of data that a watch keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The time between two samples: a millisecond. It is longer if a sample takes more than a fifth of that.
    pub spacing: Duration,
    /// The length of a frame: a quarter of a second.
    pub frame: Duration,
    /// The time for which frames are kept: five minutes. A frame takes some 600 bytes for each stage. Fewer frames of
    /// large graphs are kept: at least 8, and else at most those with 100,000 stages in all, so some 60 megabytes.
    pub kept: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let (spacing, frame) = (Duration::from_millis(1), Duration::from_millis(250));
        Options { spacing, frame, kept: Duration::from_secs(300) }
    }
}

impl Options {
    /// Sets the time between two samples.
    #[must_use]
    pub fn spacing(self, spacing: Duration) -> Self {
        Options { spacing, ..self }
    }

    /// Sets the length of a frame.
    #[must_use]
    pub fn frame(self, frame: Duration) -> Self {
        Options { frame, ..self }
    }

    /// Sets the time for which frames are kept.
    #[must_use]
    pub fn kept(self, kept: Duration) -> Self {
        Options { kept, ..self }
    }
}

/// The most stages in all frames that are kept.
const MOST_STAGES: usize = 100_000;

/// Watches a run from a thread of its own. It can be attached at any time. Dropping it ends the watch and not the run,
/// which is not observed from then on.
///
/// See the [crate](crate) for an example.
#[derive(Debug)]
pub struct Watch {
    shown: Arc<Shown>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The version of the pipeline that is watched.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) observer: Observer,
    pub(crate) graph: Arc<Graph>,
}

impl Watched {
    pub(crate) fn of(observer: Observer) -> Self {
        Watched { graph: Arc::new(Graph::of(observer.plan())), observer }
    }
}

/// The frames, and the threads that wait for them.
pub(crate) struct Shown {
    state: Mutex<Frames>,
    changed: Condvar,
    /// The most frames of a graph that are kept, if it is small.
    most: usize,
}

/// How many rows have come to a stage, by its name.
pub(crate) type CountRows = Arc<dyn Fn(&str) -> Option<u64> + Send + Sync>;

struct Frames {
    /// The version that the frames are of.
    watched: Arc<Watched>,
    rows: Option<CountRows>,
    frames: VecDeque<Arc<Frame>>,
    /// The watch was dropped.
    unwanted: bool,
    /// There will be no further frame.
    over: bool,
    /// Why there are none, if the sampling thread has failed.
    failure: Option<String>,
    /// One frame of the whole time.
    all: Option<Arc<Frame>>,
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").field("frames", &self.lock().frames.len()).finish_non_exhaustive()
    }
}

impl Shown {
    /// Who counts rows.
    pub(crate) fn rows(&self) -> Option<CountRows> {
        self.lock().rows.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Frames> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until this time. Returns whether the watch still exists.
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

    /// Adds a frame of this version. Those of the version before, which do not fit its graph, are kept until then. The
    /// last frame comes with the frame of the whole time.
    pub(crate) fn show(&self, watched: &Arc<Watched>, frame: Frame, all: Option<Frame>) {
        let mut state = self.lock();
        if !Arc::ptr_eq(&state.watched, watched) {
            state.watched = watched.clone();
            state.frames.clear();
        }
        if state.frames.len() >= self.most.min(MOST_STAGES / state.watched.graph.nodes.len()).max(8) {
            state.frames.pop_front();
        }
        state.frames.push_back(Arc::new(frame));
        state.over = all.is_some();
        state.all = all.map(Arc::new);
        self.changed.notify_all();
    }

    /// Runs the sampling thread. If it panics there are no more frames, and waiting threads return.
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
    /// Begins to watch a run.
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
        let watched = Arc::new(Watched::of(observer));
        let kept = options.kept.as_nanos() / options.frame.as_nanos().max(1);
        let most = usize::try_from(kept).unwrap_or(usize::MAX);
        let frames = Frames {
            watched: watched.clone(),
            rows: None,
            frames: VecDeque::new(),
            unwanted: false,
            over: false,
            failure: None,
            all: None,
        };
        let shown = Arc::new(Shown { state: Mutex::new(frames), changed: Condvar::new(), most });
        watched.observer.observe(true);
        let sampler = Sampler::new(watched, options, shown.clone());
        let builder = std::thread::Builder::new().name("millstream-watch".to_owned());
        let guard = shown.clone();
        let thread = Mutex::new(Some(builder.spawn(move || guard.guarded(|| work(sampler)))?));
        Ok(Watch { shown, thread })
    }

    /// From the next frame on, frames have the rows that have come to each stage. A value may hold many of them, of
    /// which the counters of a run know nothing: `rows` is asked for each stage by its name; `source` and `sink` are
    /// the ends, and it is not asked for a stage of such a name.
    ///
    /// ```
    /// use millstream::observe::Watch;
    /// use millstream::prelude::*;
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let counted = Arc::new(AtomicU64::new(0));
    /// let rows = counted.clone();
    /// let p = pipeline::<Vec<u64>>().map(move |block| counted.fetch_add(block.len() as u64, Ordering::Relaxed));
    /// let (sender, receiver) = source::channel(16);
    /// let run = p.named("blocks").from(receiver).to_each(|_, _| ()).start()?;
    /// let watch = Watch::attach(run.observer())?;
    /// watch.count_rows(move |stage| (stage == "blocks").then(|| rows.load(Ordering::Relaxed)));
    /// sender.send(vec![1, 2, 3])?;
    /// drop(sender);
    /// run.wait()?;
    /// assert_eq!(watch.finish().stage("blocks").unwrap().rows, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count_rows(&self, rows: impl Fn(&str) -> Option<u64> + Send + Sync + 'static) {
        self.shown.lock().rows = Some(Arc::new(rows));
    }

    /// The graph that describes the frames. From the first frame after an
    /// [upgrade](millstream_exec::Handle::upgrade) on it is that of the new version of the pipeline, and frames of the
    /// earlier version are not kept.
    #[must_use]
    pub fn graph(&self) -> Arc<Graph> {
        self.shown.lock().watched.graph.clone()
    }

    /// An observer of the version of the pipeline that the frames are of, which has its plan with the sizes of the
    /// rings.
    #[must_use]
    pub fn observer(&self) -> Observer {
        self.shown.lock().watched.observer.clone()
    }

    /// The frames that are kept, the oldest first, and the graph that describes them.
    #[must_use]
    pub fn frames_and_graph(&self) -> (Vec<Arc<Frame>>, Arc<Graph>) {
        let state = self.shown.lock();
        (state.frames.iter().cloned().collect(), state.watched.graph.clone())
    }

    /// The newest frame; `None` before the first one.
    #[must_use]
    pub fn frame(&self) -> Option<Arc<Frame>> {
        self.shown.lock().frames.back().cloned()
    }

    /// All frames that are kept, the oldest first.
    #[must_use]
    pub fn frames(&self) -> Vec<Arc<Frame>> {
        self.shown.lock().frames.iter().cloned().collect()
    }

    /// Waits for a frame after number `after`, or for any. Returns `None` if there are no more: the run has ended, or
    /// the watch has [failed](Watch::failure).
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

    /// The panic of the watch's own thread, if it has panicked: a defect of this crate, which the run does not notice.
    /// Earlier frames are kept, and no further one comes.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shown.lock().failure.clone()
    }

    /// Ends the watch. Returns one frame of the whole time of the present version of the pipeline: up to the end of the
    /// run if it has ended, or else up to now. The frame is empty if the watch has [failed](Watch::failure).
    pub fn finish(&self) -> Arc<Frame> {
        self.end();
        self.shown.lock().all.clone().unwrap_or_default()
    }

    fn end(&self) {
        self.shown.lock().unwanted = true;
        self.shown.changed.notify_all();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A panic is caught there.
            let _ = thread.join();
        }
        self.observer().observe(false);
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
    use millstream_exec::{JobExt, Rings, Runner};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_watch_whose_thread_panics_ends_and_says_why() {
        let waited = millstream_testkit::within(Duration::from_secs(60), || {
            let (values, source) = channel::<u64>();
            let run =
                Rings::new().start(pipeline::<u64>().from(source).to_fold(0, |n: &mut u64, _, x| *n += x)).unwrap();
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
