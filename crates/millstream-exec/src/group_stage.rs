//! A stage inside `shard`: k tasklets claim runs of one input and fill one output ring (`ring/group.rs`).

use crate::gauges::Gauges;
use crate::shared::Shared;
use crate::stage::{EndSlot, stage};
use crate::tasklet::{Progress, Tasklet};
use crate::wiring::{Home, Wiring};
use millstream_core::{Density, Event, Val};
use millstream_ring::{Last, Member, Reader, Wire, group};
use std::marker::PhantomData;
use std::sync::Arc;

/// Adds a stateless stage to the wiring: as many tasklets as the shards around it ask for.
pub(crate) fn stateless_stage<A: Wire, B: Event, D: Density>(
    input: Reader<A>,
    wiring: &mut Wiring,
    end: EndSlot,
    home: Home,
    f: impl for<'a> Fn(Option<A::Ref<'a>>) -> Option<B> + Clone + Send + 'static,
) -> Reader<Val<B, D>> {
    if wiring.width == 1 {
        return stage::<A, B, D>(input, wiring, end, home, move |value, _| f(value));
    }
    let (members, reader) = group::<A, B, D>(input, wiring.width, wiring.slots).expect("the options were checked");
    let batch = wiring.batch_at(home);
    let (shared, density) = (wiring.shared.clone(), PhantomData::<fn() -> (B, D)>);
    let tasklets: Vec<_> = members
        .into_iter()
        .map(|member| {
            let (shared, f) = (shared.clone(), f.clone());
            Box::new(GroupStage { member, f, batch, end, shared, density }) as Box<dyn Tasklet>
        })
        .collect();
    wiring.stage(home, tasklets);
    reader
}

struct GroupStage<A: Wire, B: Event, D: Density, F> {
    member: Member<A, D::Slot<B>>,
    f: F,
    batch: usize,
    end: EndSlot,
    shared: Arc<Shared>,
    density: PhantomData<fn() -> (B, D)>,
}

impl<A: Wire, B: Event, D: Density, F> Tasklet for GroupStage<A, B, D, F>
where
    F: for<'a> Fn(Option<A::Ref<'a>>) -> Option<B> + Send,
{
    fn step(&mut self) -> Progress {
        let f = &self.f;
        let shared = &self.shared;
        // Whoever was shown too little, and has parked, must look again.
        let moved = self.member.fill_or_tell(self.batch, || shared.signal.notify(), |value| D::pack(f(value)));
        if moved > 0 {
            return Progress::moved(moved);
        }
        self.member.sweep();
        let end = self.end;
        let ended = self.member.end_with(|value| end.then(|| Last::of::<B, D>(f(value))));
        if ended { Progress::DONE } else { Progress::NONE }
    }

    fn failed_at(&self) -> Option<u64> {
        self.member.abandoned_at().map(|number| number.0)
    }

    fn backlog(&self) -> u64 {
        self.member.backlog()
    }

    fn gauges(&self) -> Gauges {
        Gauges::of_both(self.member.probes())
    }
}
