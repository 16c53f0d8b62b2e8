//! Random pipelines after random producers.

use super::build::{Built, Runs};
use super::logs::Taken;
use super::order::in_one_order;
use super::producers::Producers;
use super::value::Value;
use crate::check::{Difference, ended, same};
use crate::deployment::{Deployment, Slots};
use crate::way::{QueueFeeding, Way};
use millstream_exec::{FanIn, MergeLog, Queues, RunError};
use std::sync::{Arc, Mutex, PoisonError};

impl Built {
    /// Runs it after producers that are merged live, and compares it with the model as [`check`](Built::check) does: on
    /// the merged values by the rule, if the rule is determinate, and on those by the recorded choices, which must be
    /// all that was sent if the pipeline does not end before its source. Then replays the record, and compares again.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check_fan_in(&self, producers: &Arc<Producers>, deployment: Deployment) -> Result<(), Difference> {
        self.check_way(producers, Way::Rings(deployment))
    }

    /// As [`check_fan_in`](Built::check_fan_in), on queues.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check_fan_in_on_queues(&self, producers: &Arc<Producers>, queues: Queues) -> Result<(), Difference> {
        self.check_way(producers, Way::Queues { queues, feeding: QueueFeeding::Waiting })
    }

    fn check_way(&self, producers: &Arc<Producers>, way: Way) -> Result<(), Difference> {
        let recorded = Arc::new(Mutex::new(MergeLog::default()));
        let choices = recorded.clone();
        let record = move |producer, count| {
            choices.lock().unwrap_or_else(PoisonError::into_inner).push(producer, count);
        };
        let runs = |of: FanIn<Value>| {
            let (pipeline, producers) = (self.runs().clone(), producers.clone());
            ended(move || run(&*pipeline, &producers, of, way))
        };
        let ran = self.watched(|| runs(producers.fan_in().record(record)))?;
        let choices = recorded.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let chosen = producers.as_chosen(&choices).expect("what was recorded was sent");
        let sent = producers.lists.iter().map(Vec::len).sum();
        if !self.ends && chosen.len() != sent {
            return Err(Difference::Length { model: sent, deployed: chosen.len() });
        }
        for merged in producers.by_rule().into_iter().chain([chosen]) {
            self.judge_run(way, merged, &ran)?;
        }
        let again = self.watched(|| runs(producers.replay(choices)))?;
        self.judge(way, ran.1, again.1)?;
        if self.ends { Ok(()) } else { self.judge_logs(way, &ran.0, &again.0, false) }
    }

    /// Compares what sinks and receivers of dead letters got, as [`judge`](Built::judge) does.
    pub(super) fn judge_logs(&self, way: Way, model: &Taken, ran: &Taken, ends: bool) -> Result<(), Difference> {
        if self.scatters(way) { ran.scattered().is_model(&model.scattered(), ends) } else { ran.is_model(model, ends) }
    }

    fn scatters(&self, way: Way) -> bool {
        self.gives_order_up() && matches!(way, Way::Rings(deployment) if deployment.has_workers())
    }

    /// Compares slots; of stages that lose the order, in one order.
    pub(super) fn judge(&self, way: Way, model: Slots<Value>, deployed: Slots<Value>) -> Result<(), Difference> {
        if self.scatters(way) {
            return same(&in_one_order(model), &in_one_order(deployed));
        }
        same(&model, &deployed)
    }
}

fn run(pipeline: &dyn Runs, producers: &Arc<Producers>, of: FanIn<Value>, way: Way) -> Result<Slots<Value>, RunError> {
    let producing = producers.clone();
    let (slots, threads) = pipeline.collect_fan_in(of, way, Box::new(move |senders| producing.start(senders)))?;
    for thread in threads {
        if let Err(payload) = thread.join() {
            std::panic::resume_unwind(payload);
        }
    }
    Ok(slots)
}
