//! Sinks that fail, after random pipelines.

use super::build::Built;
use super::value::Value;
use crate::check::{Difference, same};
use crate::deployment::{Deployment, Slots};
use crate::way::{QueueFeeding, Way};
use crate::within;
use millstream_core::{SequenceNumber, Shape, Val};
use millstream_exec::sink::CollectSlots;
use millstream_exec::{Queues, RunEnd, RunError, RunOutcome, Sink};
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Why a [`Refusing`] sink fails.
#[derive(Debug)]
struct Refused(u64);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is refused", self.0)
    }
}

impl Error for Refused {}

/// A sink that keeps values, and refuses those from a number on.
pub(super) struct Refusing<V> {
    pub(super) from: u64,
    pub(super) refused: bool,
    pub(super) slots: CollectSlots<Value>,
    pub(super) value: V,
}

impl<A: Shape, V> Sink<A> for Refusing<V>
where
    V: for<'a> Fn(A::Ref<'a>) -> Value + Send + 'static,
{
    type Output = Slots<Value>;
    type Error = Box<dyn Error + Send + Sync>;

    fn put(&mut self, SequenceNumber(number): SequenceNumber, value: A::Ref<'_>) -> Result<(), Self::Error> {
        if number >= self.from {
            self.refused = true;
            return Err(Refused(number).into());
        }
        let Ok(()) = Sink::<Val<Value>>::put(&mut self.slots, SequenceNumber(number), &(self.value)(value));
        Ok(())
    }

    fn finish(self, outcome: RunOutcome) -> Result<Slots<Value>, Self::Error> {
        // A sink that has failed must get a failure as the run's outcome.
        match (self.refused, outcome.is_complete()) {
            (true, true) => Err("it refused, and the run says that it came to its end".into()),
            _ => {
                let Ok(slots) = Sink::<Val<Value>>::finish(self.slots, outcome);
                Ok(slots)
            }
        }
    }
}

impl Built {
    /// Runs it into a sink that fails at the first value from this number on, in every way. The run must fail at that
    /// number, with the sink's own error as its source, and the sink must have got all values before it, once and in
    /// order.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check_refusing_sink(&self, inputs: &[Value], deployment: Deployment, from: u64) -> Result<(), Difference> {
        let queues = Queues::new().capacity(deployment.ring);
        let ways = [
            Way::Model,
            Way::Rings(deployment),
            Way::Queues { queues, feeding: QueueFeeding::Waiting },
            Way::Queues { queues, feeding: QueueFeeding::Channel },
        ];
        let model = self.model_slots(inputs.to_vec());
        let refused = (from as usize..model.len()).find(|number| model[*number].is_some());
        let kept = refused.map_or(&model[..], |number| &model[..number]);
        for way in ways {
            if self.gives_order_up() && matches!(way, Way::Rings(deployment) if deployment.has_workers()) {
                continue;
            }
            let (pipeline, inputs) = (self.runs().clone(), inputs.to_vec());
            let ended = match within(Duration::from_secs(60), move || pipeline.refused(inputs, way, from)) {
                Err(hung) => return Err(Difference::Hung(hung)),
                Ok(Err(error)) => return Err(Difference::Failed(error)),
                Ok(Ok(ended)) => ended,
            };
            judge(ended, refused, kept, way)?;
        }
        Ok(())
    }
}

fn judge(
    ended: RunEnd<Slots<Value>>,
    refused: Option<usize>,
    kept: &[Option<Value>],
    way: Way,
) -> Result<(), Difference> {
    match (refused, ended.failure) {
        (None, None) => {}
        (Some(at), Some(RunError::Stage { stage, number, cause })) => {
            let error = cause.error().and_then(|error| error.downcast_ref::<Refused>());
            assert_eq!((&*stage, number), ("sink", Some(SequenceNumber(at as u64))), "{way:?}");
            assert_eq!(error.map(|Refused(number)| *number), Some(at as u64), "{way:?}: {cause}");
        }
        (refused, failure) => panic!("{way:?}: {refused:?} is refused, and the run says {failure:?}"),
    }
    let mut slots = ended.output.unwrap_or_else(|| panic!("{way:?}: the sink is lost"));
    // The sink does not get the empty slots after the last value.
    slots.resize_with(slots.len().max(kept.len()), || None);
    same(&kept.to_vec(), &slots)
}
