//! The things that a loop takes for a step, and returns: the stages, the ends of their rings, and their states.

use super::clocks::{Clocks, clock_before};
use super::ends::Lent;
use super::lent_stage::Passer;
use crate::tasklet::Tasklet;
use millstream_core::{Item, Val};
use millstream_ring::{Reader, RingEnd};
use std::any::Any;

/// Lists for a step, kept so that a step does not allocate. It is empty between steps.
#[derive(Default)]
pub(super) struct Spare {
    pub(super) taken: Vec<Box<dyn Tasklet>>,
    pub(super) ends: Vec<&'static mut (dyn RingEnd + Send)>,
    pub(super) states: Vec<&'static mut (dyn Any + Send)>,
}

/// An empty list with the room of this one.
pub(super) fn recycled<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    // There is nothing in it; it is collected in place.
    list.into_iter().map(|_| unreachable!("it is empty")).collect()
}

/// The tasklets of the stages before the last one, which are returned when this is dropped.
pub(super) struct Taken<'t> {
    lent: &'t [Lent<Passer>],
    pub(super) stages: &'t mut Vec<Box<dyn Tasklet>>,
    pub(super) clocks: &'t mut Clocks,
}

impl<'t> Taken<'t> {
    /// All of them, or fewer if one is in use or has ended.
    pub(super) fn of(lent: &'t [Lent<Passer>], stages: &'t mut Vec<Box<dyn Tasklet>>, clocks: &'t mut Clocks) -> Self {
        stages.extend(lent.iter().map_while(|stage| stage.try_lock()?.as_mut()?.tasklet.take()));
        clocks.moved.fill(0);
        Taken { lent, stages, clocks }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let Clocks { ends, moved } = &*self.clocks;
        for (stage, (lent, tasklet)) in self.lent.iter().zip(self.stages.drain(..)).enumerate() {
            // Where the stage has ended meanwhile, its tasklet ends here.
            if let Some(passer) = lent.lock().as_mut() {
                passer.tasklet = Some(tasklet);
                passer.passed += moved[clock_before(ends, stage + 1)];
            }
        }
    }
}

/// The reader of the first stage, if it reads the source's ring as it is.
pub(super) fn ring_of_source<T: Item>(input: &mut dyn RingEnd) -> Option<&mut Reader<Val<T>>> {
    input.any().downcast_mut()
}
