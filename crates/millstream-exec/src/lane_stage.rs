//! A stage that is a whole lane of a choice: it fills one ring together with the other lane's.

use crate::stage::moved;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::Item;
use millstream_ring::{LaneWriter, Mark, OtherLane, Reader, RingLayout, is_lane, lane};
use std::any::Any;

/// Whether a stateless stage that reads an edge of shape `A` can be such a lane. Shards and keys assign numbers
/// differently; and a loop goes past rings with one producer each.
pub(crate) fn can_be_lane<A: RingLayout>(wiring: &Wiring) -> bool {
    is_lane::<A>() && !wiring.passed && wiring.scope.width == 1 && wiring.scope.keyed.is_none()
}

/// Adds the first lane to the wiring and returns the token for the second one; or adds the second one and returns the
/// reader of their common output.
pub(crate) fn lane_stage<A: RingLayout, B: Item>(
    input: Reader<A>,
    other: Option<Box<dyn Any>>,
    wiring: &mut Wiring,
    f: impl for<'a> Fn(A::Ref<'a>) -> B + Send + 'static,
) -> Box<dyn Any> {
    let (lane, next): (_, Box<dyn Any>) = match other {
        None => {
            let (lane, other) = lane::<A, B>(input.stops_at_marks(), wiring.slots);
            (lane, Box::new(other))
        }
        Some(other) => {
            let other = other.downcast::<OtherLane<B>>().expect("both lanes have values of one type");
            let (lane, reader) = other.joined(input.stops_at_marks());
            (lane, Box::new(reader))
        }
    };
    let batch = wiring.batch;
    wiring.stage(Home::Workers, [Box::new(LaneStage { lane, f, batch }) as Box<dyn Tasklet>]);
    next
}

struct LaneStage<A: RingLayout, B: Item, F> {
    lane: LaneWriter<A, B>,
    f: F,
    batch: usize,
}

impl<A: RingLayout, B: Item, F: Send> AtMarks for LaneStage<A, B, F> {
    fn pass(&mut self) -> Option<Mark> {
        self.lane.pass_mark()
    }
}

impl<A: RingLayout, B: Item, F> Tasklet for LaneStage<A, B, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send,
{
    fn step(&mut self, most: usize) -> Progress {
        let moved = moved(self.batch.min(most), |max| self.lane.fill(max, &self.f));
        if moved > 0 {
            return Progress::moved(moved);
        }
        self.lane.sweep();
        if self.lane.end() { Progress::ENDED } else { Progress::NONE }
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        self.lane.abandoned_at().map(|number| number.0)
    }

    fn backlog(&self) -> u64 {
        self.lane.backlog()
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::of_both(self.lane.probes())
    }
}
