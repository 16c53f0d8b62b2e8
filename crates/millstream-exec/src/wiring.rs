use crate::tasklet::Tasklet;
use millstream_core::{Plan, plan};

/// What stages are added to while a pipeline is deployed on rings: their tasklets, in pipeline order.
pub struct Wiring {
    pub(crate) slots: usize,
    pub(crate) batch: usize,
    /// How many tasklets run each stage that is deployed now: more than one inside `shard`.
    pub(crate) width: usize,
    pub(crate) tasklets: Vec<Named>,
    names: std::vec::IntoIter<plan::Stage>,
}

/// A tasklet and the name of its stage.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) tasklet: Box<dyn Tasklet>,
}

impl Wiring {
    pub(crate) fn new(slots: usize, batch: usize, plan: Plan) -> Self {
        Wiring { slots, batch, width: 1, tasklets: Vec::new(), names: plan.stages.into_iter() }
    }

    /// Adds the tasklets of the next stage of the plan.
    pub(crate) fn stage(&mut self, tasklets: impl IntoIterator<Item = Box<dyn Tasklet>>) {
        let name = self.names.next().map_or_else(|| "unplanned".to_owned(), |stage| stage.name);
        self.tasklets.extend(tasklets.into_iter().map(|tasklet| Named { name: name.clone(), tasklet }));
    }

    /// Adds a tasklet that is not a stage of the plan: the source or the sink.
    pub(crate) fn end(&mut self, name: &str, tasklet: Box<dyn Tasklet>) {
        self.tasklets.push(Named { name: name.to_owned(), tasklet });
    }
}

impl std::fmt::Debug for Wiring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.tasklets.iter().map(|tasklet| &tasklet.name).collect();
        f.debug_struct("Wiring").field("tasklets", &names).finish_non_exhaustive()
    }
}
