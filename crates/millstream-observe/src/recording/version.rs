//! The recording of one version of a pipeline.

use super::Moment;
use crate::frame::{Change, Frame, RingFrame, StageFrame};
use crate::graph::{Graph, Node, Wire};
use millstream_exec::{Observer, State};

/// A version of the pipeline that was replaced while it was recorded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedVersion {
    /// Its graph.
    pub graph: Graph,
    /// As those of a [`Recording`](super::Recording). The last one is that in which it had retired.
    pub moments: Vec<Moment>,
    /// How it began; none if it is the first one that was recorded.
    pub change: Option<Change>,
}

impl RecordedVersion {
    /// As [`Recording::reached`](super::Recording::reached).
    #[must_use]
    pub fn reached(&self, moment: &Moment, node: usize) -> u64 {
        reached(&self.graph, moment, node)
    }

    /// The source's ring goes on in the next version, which begins at this number.
    pub(super) fn ended_at(mut self, at: u64) -> Self {
        for moment in &mut self.moments {
            let of_source = self.graph.wires.iter().zip(&mut moment.rings).filter(|(wire, _)| wire.from == 0);
            for level in of_source.map(|(_, level)| level) {
                level.produced = level.produced.min(at);
                level.consumed.iter_mut().for_each(|consumed| *consumed = at.min(*consumed));
            }
        }
        self
    }

    pub(super) fn numbers(&self) -> usize {
        numbers(&self.graph)
    }

    /// Drops moments until there are at most this many, or few; not the first and the last one.
    pub(super) fn thin(&mut self, most: usize) {
        while self.moments.len() > most.max(16) {
            let last = self.moments.pop();
            halve(&mut self.moments);
            self.moments.extend(last);
        }
    }
}

/// The version that has taken the place of this one, and how.
pub(super) fn after(observer: &Observer) -> Option<(Observer, Change)> {
    let next = observer.successor()?;
    let change = Change::of(next.change()?);
    Some((next, change))
}

/// Drops every second one, but not the first.
pub(super) fn halve(moments: &mut Vec<Moment>) {
    let mut index = 0;
    moments.retain(|_| {
        index += 1;
        index % 2 == 1
    });
}

/// How many numbers a moment has.
pub(super) fn numbers(graph: &Graph) -> usize {
    graph.wires.iter().map(|wire| 1 + wire.to.len()).sum::<usize>() + graph.nodes.len()
}

/// The count of numbers that the source had published, or that another node had read.
pub(super) fn reached(graph: &Graph, moment: &Moment, node: usize) -> u64 {
    let rings = graph.wires.iter().zip(&moment.rings);
    let of_ring = |(wire, level): (&Wire, &super::Level)| {
        let read = wire.to.iter().position(|to| *to == node).and_then(|reader| level.consumed.get(reader).copied());
        read.or_else(|| (node == 0 && wire.from == 0).then_some(level.produced))
    };
    rings.filter_map(of_ring).max().unwrap_or(0)
}

/// The last moment as a frame, for a picture.
pub(super) fn last_frame(graph: &Graph, moments: &[Moment]) -> Frame {
    let none = Moment::default();
    let last = moments.last().unwrap_or(&none);
    let ring = |(wire, level): (&Wire, &super::Level)| {
        let capacity = wire.capacity.unwrap_or(0) as u64;
        let least = level.consumed.iter().min().unwrap_or(&level.produced);
        let occupied = level.produced.saturating_sub(*least).min(capacity);
        let (produced, consumed) = (level.produced, level.consumed.clone());
        RingFrame { produced, consumed, capacity, occupied, ..RingFrame::default() }
    };
    let stage = |(node, described): (usize, &Node)| {
        let state = last.states.get(node).copied().unwrap_or_default();
        let share = |of: State| f64::from(u8::from(state == of));
        StageFrame {
            name: described.name.clone(),
            moved: reached(graph, last, node),
            working: share(State::Working),
            starved: share(State::Starved),
            blocked: share(State::Blocked),
            ..StageFrame::default()
        }
    };
    Frame {
        at: last.at.as_secs_f64(),
        rings: graph.wires.iter().zip(&last.rings).map(ring).collect(),
        stages: graph.nodes.iter().enumerate().map(stage).collect(),
        ..Frame::default()
    }
}
