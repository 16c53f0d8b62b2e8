//! The thread that takes the samples.

use crate::frame::{Change, Frame, StageFrame};
use crate::graph::Graph;
use crate::latency::Latencies;
use crate::still::Stills;
use crate::tally::{Tally, TaskletsByNode, per_second};
use crate::watch::{Options, Shown, Watched};
use millstream_exec::{Bottleneck, Counters, Observer, State, TaskletCounters};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A sample takes at most this fraction of the time between two.
const SHARE: u32 = 5;

/// A spacing beyond the range of the clock is replaced by a year.
const NEVER: Duration = Duration::from_secs(365 * 86_400);

/// While a run goes on, the bottleneck is found from this recent time, and so are the rates that people read.
const RECENT: Duration = Duration::from_secs(2);

/// It is longer, up to this, if something has moved nothing in that time: a stage within a long step, whose time counts
/// when the step ends, or a source between two bursts. Else the stage would count as idle, and the source as dry.
const LONGEST: Duration = Duration::from_secs(10);

pub(crate) struct Sampler {
    watched: Arc<Watched>,
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
    /// The last seconds.
    recent: VecDeque<Recent>,
    /// The time since the watch began in which the source's ring had room.
    open: Duration,
    frames: u64,
    /// The rows that had come to each node when the last frame was made, and when they were first counted.
    rows_before: Vec<Option<u64>>,
    rows_first: Vec<Option<u64>>,
}

/// A moment of the last seconds, at which a frame began.
struct Recent {
    counters: Counters,
    /// The time in that frame in which the source's ring had room.
    open: Duration,
    /// The rows that had come to each node.
    rows: Vec<Option<u64>>,
}

/// The place among the last moments since which a run is judged, and whether all that could has moved something since.
fn since(recent: &VecDeque<Recent>, now: &Counters) -> (usize, bool) {
    let long = |moment: &Recent| now.at.saturating_sub(moment.counters.at) >= RECENT;
    let first = recent.iter().rposition(long).unwrap_or(0);
    match (0..=first).rev().find(|place| recent.get(*place).is_some_and(|moment| all_moved(&moment.counters, now))) {
        Some(place) => (place, true),
        None => (0, false),
    }
}

/// Whether each tasklet with input and room has moved something, and a source with room has yielded something.
fn all_moved(before: &Counters, now: &Counters) -> bool {
    let produced = |counters: &Counters| counters.rings.first().map_or(0, |ring| ring.produced);
    let moved = |(index, tasklet): (usize, &TaskletCounters)| {
        tasklet.done
            || tasklet.state != State::Working
            || before.tasklets.get(index).map_or(0, |before| before.moved) < tasklet.moved
    };
    (now.source != State::Working || produced(before) < produced(now)) && now.tasklets.iter().enumerate().all(moved)
}

/// The rows that came since an earlier count. A lower count is one that began at 0 since then, as that of another text.
fn came(now: u64, then: u64) -> u64 {
    now.checked_sub(then).unwrap_or(now)
}

/// Adds the rows of each node to a frame, and how many of them came since `before`.
fn set_rows(frame: &mut Frame, rows: &[Option<u64>], before: &[Option<u64>]) {
    for (stage, (rows, before)) in frame.stages.iter_mut().zip(rows.iter().zip(before)) {
        let since = rows.zip(*before).map(|(rows, before)| came(rows, before));
        (stage.rows, stage.row_rate) = (*rows, since.map(|since| per_second(since, frame.span)));
        stage.recent_row_rate = stage.row_rate;
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
            watched,
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
            let last = !wanted || self.now.over;
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
        let (options, shown, frames) = (self.options, self.shown.clone(), self.frames);
        *self = Sampler { frames, ..Sampler::new(Arc::new(Watched::of(observer)), options, shown) };
    }

    fn look(&mut self) {
        loop {
            self.follow();
            self.observer.read(&mut self.now);
            // In between, another version may have begun, and the run may have ended with it.
            if !self.now.over || self.observer.successor().is_none() {
                break;
            }
        }
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
        let last = self.graph.nodes.len() - 1;
        let is_asked = |index: usize, name: &str| index == 0 || index == last || !matches!(name, "source" | "sink");
        let nodes = self.graph.nodes.iter().enumerate();
        nodes.map(|(index, node)| is_asked(index, &node.name).then(|| rows(&node.name)).flatten()).collect()
    }

    /// Makes a frame of the samples.
    fn show(&mut self, last: bool) {
        let open = self.now.at.saturating_sub(self.before.at).mul_f64(self.tally.open());
        self.open += open;
        let before = std::mem::replace(&mut self.before, self.now.clone());
        let rows = self.rows();
        let rows_before = std::mem::replace(&mut self.rows_before, rows.clone());
        for (first, (now, before)) in self.rows_first.iter_mut().zip(rows.iter().zip(&rows_before)) {
            if now.zip(*before).is_some_and(|(now, before)| now < before) {
                *first = Some(0);
            }
        }
        self.recent.push_back(Recent { counters: before.clone(), open, rows: rows_before.clone() });
        while self.recent.len() > 1 && self.now.at.saturating_sub(self.recent[1].counters.at) >= LONGEST {
            self.recent.pop_front();
        }
        let (place, all_moved) = since(&self.recent, &self.now);
        let mut frame = self.frame(&self.tally, &before, self.bottleneck(place, all_moved));
        set_rows(&mut frame, &rows, &rows_before);
        self.set_recent_rates(&mut frame, &rows, &self.recent[place]);
        self.stills.look(&self.observer, &self.now);
        frame.stuck = self.stills.stuck(&self.graph, &self.tasklets, &self.now);
        self.whole.take(&mut self.tally);
        let all = last.then(|| {
            let found = self.observer.loads(&self.first, &self.now, Some(self.open)).bottleneck();
            let mut all = self.frame(&self.whole, &self.first, found);
            set_rows(&mut all, &rows, &self.rows_first);
            all
        });
        self.frames += 1;
        self.shown.show(&self.watched, frame, all);
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
            change: self.observer.change().map(Change::of),
            at: self.now.at.as_secs_f64(),
            span,
            looks: tally.looks,
            running: !self.now.over,
            stages: stages.collect(),
            side_outputs: self.tasklets.side_outputs().map(side_output).collect(),
            rings: tally.rings(before, &self.now, span),
            workers: tally.workers(),
            latency: self.latencies.whole(),
            bottleneck,
            stuck: Vec::new(),
        }
    }

    /// Finds the bottleneck since a recent moment. There is none as long as a tasklet is in its first long step, of
    /// which nothing is known.
    fn bottleneck(&self, place: usize, all_moved: bool) -> Option<Bottleneck> {
        let has_begun = |tasklet: &TaskletCounters| tasklet.state != State::Working || tasklet.moved > 0;
        if !all_moved && !self.now.tasklets.iter().all(has_begun) {
            return None;
        }
        let open = self.recent.iter().skip(place).map(|moment| moment.open).sum();
        self.observer.loads(&self.recent[place].counters, &self.now, Some(open)).bottleneck()
    }

    /// Sets the rates since a recent moment.
    fn set_recent_rates(&self, frame: &mut Frame, rows: &[Option<u64>], since: &Recent) {
        let span = self.now.at.saturating_sub(since.counters.at).as_secs_f64();
        for (node, stage) in frame.stages.iter_mut().enumerate() {
            let moved = self.tasklets.moved(node, &self.now).saturating_sub(self.tasklets.moved(node, &since.counters));
            stage.recent_rate = Some(per_second(moved, span));
            let of = |rows: &[Option<u64>]| rows.get(node).copied().flatten();
            let came = of(rows).zip(of(&since.rows)).map(|(now, then)| came(now, then));
            stage.recent_row_rate = came.map(|came| per_second(came, span));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_exec::RingCounters;

    /// Counters after this many seconds: what the source has yielded, and a stage's numbers and state.
    fn counters(at: u64, (source, produced): (State, u64), (state, moved): (State, u64)) -> Counters {
        let mut counters = Counters::default();
        (counters.at, counters.running, counters.source) = (Duration::from_secs(at), true, source);
        let (mut ring, mut tasklet) = (RingCounters::default(), TaskletCounters::default());
        (ring.produced, tasklet.state, tasklet.moved) = (produced, state, moved);
        (counters.rings, counters.tasklets) = (vec![ring], vec![tasklet]);
        counters
    }

    /// The second since which the run is judged at the last of these counters.
    fn judged_since(seen: Vec<Counters>) -> (u64, bool) {
        let (now, before) = seen.split_last().unwrap();
        let recent =
            |counters: &Counters| Recent { counters: counters.clone(), open: Duration::ZERO, rows: Vec::new() };
        let recent: VecDeque<_> = before.iter().map(recent).collect();
        let (place, all_moved) = since(&recent, now);
        (recent[place].counters.at.as_secs(), all_moved)
    }

    #[test]
    fn rows_that_begin_at_0_again_have_a_rate() {
        let mut frame = Frame { span: 2.0, stages: vec![StageFrame::default(); 2], ..Frame::default() };
        set_rows(&mut frame, &[Some(10), Some(1010)], &[Some(1000); 2]);
        assert_eq!([frame.stages[0].row_rate, frame.stages[1].row_rate], [Some(5.0); 2]);
    }

    #[test]
    fn a_stage_within_a_long_step_is_judged_since_it_last_moved_something() {
        use State::{Blocked, Starved, Working};
        let full = (Blocked, 4096);
        let steps = |last: u64| {
            let seen = (0..=last).map(|at| counters(at, full, (Working, at / 3 * 256)));
            judged_since(seen.collect())
        };
        assert_eq!(steps(4), (2, true), "a step has ended since");
        assert_eq!(steps(5), (2, true), "the newest moment before the step's end");
        // Its first step has not ended: nothing is known of it.
        assert_eq!(steps(2), (0, false));
        // A stage that starves has no step.
        let starved = (0..=5).map(|at| counters(at, (Working, at), (Starved, 1)));
        assert_eq!(judged_since(starved.collect()), (3, true));
    }

    #[test]
    fn a_source_is_judged_since_its_last_burst() {
        use State::{Starved, Working};
        let bursts = |last: u64, source: State| {
            let seen = (0..=last).map(|at| counters(at, (source, (at + 2) / 5 * 100), (Starved, (at + 2) / 5 * 100)));
            judged_since(seen.collect())
        };
        assert_eq!(bursts(4, Working), (2, true));
        assert_eq!(bursts(7, Working), (2, true));
        // One that has ended yields nothing any more.
        assert_eq!(bursts(7, Starved), (5, true));
    }
}
