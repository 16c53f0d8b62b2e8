//! The thread that takes the samples.

use crate::frame::{Change, Frame, StageFrame};
use crate::graph::Graph;
use crate::latency::Latencies;
use crate::still::Stills;
use crate::tally::{Tally, TaskletsByNode, per_second};
use crate::watch::{Options, Shown, Watched};
use millstream_exec::{Bottleneck, Counters, Observer};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A sample takes at most this fraction of the time between two.
const SHARE: u32 = 5;

/// A spacing beyond the range of the clock is replaced by a year.
const NEVER: Duration = Duration::from_secs(365 * 86_400);

/// While a run goes on, the bottleneck is found from this recent time.
const RECENT: Duration = Duration::from_secs(2);

pub(crate) struct Sampler {
    observer: Observer,
    graph: Arc<Graph>,
    options: Options,
    shown: Arc<Shown>,
    tasklets: TaskletsByNode,
    /// The samples since the last frame; and those from the beginning of the watch up to the last frame.
    tally: Tally,
    whole: Tally,
    latencies: Latencies,
    stills: Stills,
    now: Counters,
    /// The counters when the last frame was made.
    before: Counters,
    /// The counters when the watch began.
    first: Counters,
    /// For the last seconds, the counters, and the time since the frame before in which the source's ring had room.
    recent: VecDeque<(Counters, Duration)>,
    /// The time since the watch began in which the source's ring had room.
    open: Duration,
    frames: u64,
    /// The rows that had come to each node when the last frame was made, and when they were first counted.
    rows_before: Vec<Option<u64>>,
    rows_first: Vec<Option<u64>>,
}

/// Adds the rows of each node to a frame, and how many of them came since `before`.
fn set_rows(frame: &mut Frame, rows: &[Option<u64>], before: &[Option<u64>]) {
    for (stage, (rows, before)) in frame.stages.iter_mut().zip(rows.iter().zip(before)) {
        let since = rows.zip(*before).map(|(rows, before)| rows.saturating_sub(before));
        (stage.rows, stage.row_rate) = (*rows, since.map(|since| per_second(since, frame.span)));
    }
}

impl Sampler {
    pub(crate) fn new(watched: Arc<Watched>, options: Options, shown: Arc<Shown>) -> Self {
        let (observer, graph) = (watched.observer.clone(), watched.graph.clone());
        let mut now = Counters::default();
        observer.read(&mut now);
        Sampler {
            tasklets: TaskletsByNode::new(&graph, &observer),
            latencies: Latencies::of(&graph, &observer),
            stills: Stills::default(),
            tally: Tally::default(),
            whole: Tally::default(),
            before: now.clone(),
            first: now.clone(),
            recent: VecDeque::new(),
            open: Duration::ZERO,
            now,
            frames: 0,
            rows_before: Vec::new(),
            rows_first: Vec::new(),
            observer,
            options,
            graph,
            shown,
        }
    }

    /// Takes samples until the run has ended, or the watch is dropped.
    pub(crate) fn work(mut self) {
        let mut next = Instant::now();
        loop {
            let wanted = self.shown.wait_until(next);
            let begun = Instant::now();
            self.look();
            let last = !wanted || !self.now.running;
            if last || self.now.at.saturating_sub(self.before.at) >= self.options.frame {
                self.show(last);
            }
            if last {
                return;
            }
            // Late samples are not made up for.
            let took = begun.elapsed();
            let spaced = next.checked_add(self.options.spacing).unwrap_or_else(|| next + NEVER);
            next = spaced.max(begun + took * SHARE);
        }
    }

    /// Goes on with the version that has taken the place of the present one, if there is one.
    fn follow(&mut self) {
        let Some(observer) = self.observer.successor() else { return };
        let watched = Arc::new(Watched::of(observer));
        self.shown.follow(watched.clone());
        let (options, shown, frames) = (self.options, self.shown.clone(), self.frames);
        *self = Sampler { frames, ..Sampler::new(watched, options, shown) };
    }

    fn look(&mut self) {
        self.follow();
        self.observer.read(&mut self.now);
        self.tally.look(&self.now, &self.tasklets);
        self.latencies.look(&self.observer, self.now.at, self.options.spacing);
        if self.rows_first.is_empty() {
            self.rows_first = self.rows();
            self.rows_before.clone_from(&self.rows_first);
        }
    }

    /// The rows that have come to each node; empty if they are not counted.
    fn rows(&self) -> Vec<Option<u64>> {
        let Some(rows) = self.shown.rows() else { return Vec::new() };
        self.graph.nodes.iter().map(|node| rows(&node.name)).collect()
    }

    /// Makes a frame of the samples.
    fn show(&mut self, last: bool) {
        let open = self.now.at.saturating_sub(self.before.at).mul_f64(self.tally.open());
        self.open += open;
        let before = std::mem::replace(&mut self.before, self.now.clone());
        let mut frame = self.frame(&self.tally, &before, self.bottleneck(&before, open));
        let rows = self.rows();
        let rows_before = std::mem::replace(&mut self.rows_before, rows.clone());
        set_rows(&mut frame, &rows, &rows_before);
        self.stills.look(self.now.at, frame.stages.iter().chain(&frame.side_outputs));
        frame.stuck = self.stills.stuck(&self.graph, &self.tasklets, &self.observer, &self.now);
        self.recent.push_back((before, open));
        while self.recent.len() > 1 && self.now.at.saturating_sub(self.recent[1].0.at) >= RECENT {
            self.recent.pop_front();
        }
        self.whole.take(&mut self.tally);
        let all = last.then(|| {
            let found = self.observer.loads(&self.first, &self.now, Some(self.open)).bottleneck();
            let mut all = self.frame(&self.whole, &self.first, found);
            set_rows(&mut all, &rows, &self.rows_first);
            all
        });
        self.frames += 1;
        self.shown.show(frame, all);
    }

    fn frame(&self, tally: &Tally, before: &Counters, bottleneck: Option<Bottleneck>) -> Frame {
        let span = self.now.at.saturating_sub(before.at).as_secs_f64();
        let stages = self.graph.nodes.iter().enumerate().map(|(node, described)| {
            let stage = tally.stage(node, &described.name, &self.tasklets, before, &self.now);
            StageFrame { latency: self.latencies.through(node), ..stage }
        });
        let side_output = |(node, name)| tally.stage(node, name, &self.tasklets, before, &self.now);
        Frame {
            number: self.frames,
            version: self.observer.version(),
            change: self.observer.last_change().as_ref().map(Change::of),
            at: self.now.at.as_secs_f64(),
            span,
            looks: tally.looks,
            running: self.now.running,
            stages: stages.collect(),
            side_outputs: self.tasklets.side_outputs().map(side_output).collect(),
            rings: tally.rings(before, &self.now, span),
            workers: tally.workers(),
            latency: self.latencies.whole(),
            bottleneck,
            stuck: Vec::new(),
        }
    }

    /// Finds the bottleneck of the last seconds.
    fn bottleneck(&self, before: &Counters, open: Duration) -> Option<Bottleneck> {
        let since = self.recent.front().map_or(before, |(since, _)| since);
        let open = self.recent.iter().map(|(_, open)| *open).sum::<Duration>() + open;
        self.observer.loads(since, &self.now, Some(open)).bottleneck()
    }
}
