use crate::deployment::{Deployment, Slots};
use crate::watchdog::{Hung, within};
use millstream_core::model::ModelShape;
use millstream_core::{Arrow, Item, ModelExt, ToOwnedItem, Val};
use millstream_exec::{Deployable, Everywhere, QueueShape, RingShape, RunError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The time after which a run counts as hung. A run of a few hundred values takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// A pipeline from `T` whose outputs can be collected and compared. Implemented for all that fit.
pub trait Checkable<T: Item>:
    Deployable + Arrow<In = Val<T>, Out: RingShape + ModelShape + ToOwnedItem<Owned: PartialEq + fmt::Debug>>
{
}

impl<T: Item, P> Checkable<T> for P where
    P: Deployable + Arrow<In = Val<T>, Out: RingShape + ModelShape + ToOwnedItem<Owned: PartialEq + fmt::Debug>>
{
}

/// A [`Checkable`] pipeline that also runs on queues: one whose values are `Clone`. Implemented for all that fit.
pub trait CheckableEverywhere<T: Item + Clone>: Checkable<T> + Everywhere + Arrow<Out: QueueShape> {}
impl<T: Item + Clone, P: Checkable<T> + Everywhere + Arrow<Out: QueueShape>> CheckableEverywhere<T> for P {}

/// How a deployment differs from the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The number of slots differs, END included.
    Length {
        /// The model's number of slots.
        model: usize,
        /// The deployment's number of slots.
        deployed: usize,
    },
    /// A slot differs.
    Slot {
        /// The slot's number.
        number: usize,
        /// Whether it is END.
        end: bool,
        /// The model's slot, printed.
        model: String,
        /// The deployment's slot, printed.
        deployed: String,
    },
    /// A named sink of the pipeline got other values, or a receiver of dead letters other ones.
    Sink {
        /// The index of the sink: first the named ones, then the receivers, each in pipeline order.
        sink: usize,
        /// Its values in the model, printed.
        model: String,
        /// Its values in the deployment, printed.
        deployed: String,
    },
    /// The deployment failed, but the model did not.
    Failed(RunError),
    /// The deployment did not end in time.
    Hung(Hung),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Length { model, deployed } => write!(f, "{deployed} slots, but the model has {model}"),
            Difference::Slot { number, end, model, deployed } => {
                let end = if *end { " (END)" } else { "" };
                write!(f, "number {number}{end} holds {deployed}, but {model} in the model")
            }
            Difference::Sink { sink, model, deployed } => {
                write!(f, "sink {sink} got {deployed}, but {model} in the model")
            }
            Difference::Failed(error) => write!(f, "the run failed, but the model did not: {error}"),
            Difference::Hung(hung) => write!(f, "the run hangs: {hung}"),
        }
    }
}

impl std::error::Error for Difference {}

/// Compares a deployment of a pipeline with its model, slot by slot: by `==`, and values that are not equal to
/// themselves, as with a NaN, as `{:?}` prints them. The pipeline is in an `Arc`, because the thread of a run that
/// hangs is not joined and keeps it.
///
/// ```
/// use millstream::{prelude::*, testkit::{Deployment, Feeding, check}};
/// let p = std::sync::Arc::new(pipeline::<u8>().delay(0));
/// let deployment = Deployment { ring: 1, batch: 1, workers: 2, feeding: Feeding::Waiting };
/// assert_eq!(check(&p, &[1, 2, 3], deployment), Ok(()));
/// ```
///
/// # Errors
///
/// The first difference.
pub fn check<T: Item + Clone, P: Checkable<T>>(
    pipeline: &Arc<P>,
    inputs: &[T],
    deployment: Deployment,
) -> Result<(), Difference> {
    let model = pipeline.model_slots(inputs.iter().cloned());
    let (pipeline, inputs) = (pipeline.clone(), inputs.to_vec());
    compare(model, move || deployment.collect_slots(&*pipeline, inputs))
}

/// The first difference between the model's slots and the result of `deployed`.
pub(crate) fn compare<B: PartialEq + fmt::Debug + Send + 'static>(
    model: Slots<B>,
    deployed: impl FnOnce() -> Result<Slots<B>, RunError> + Send + 'static,
) -> Result<(), Difference> {
    same(&model, &ended(deployed)?)
}

/// The result of a run, if it does not hang.
pub(crate) fn ended<R: Send + 'static>(
    run: impl FnOnce() -> Result<R, RunError> + Send + 'static,
) -> Result<R, Difference> {
    within(PATIENCE, run).map_err(Difference::Hung)?.map_err(Difference::Failed)
}

/// The first difference between the models of two pipelines.
pub(crate) fn models<T: Item + Clone, P: Checkable<T>>(one: &P, other: &P, inputs: &[T]) -> Result<(), Difference> {
    same(&one.model_slots(inputs.iter().cloned()), &other.model_slots(inputs.iter().cloned()))
}

/// Whether two slots hold the same. A value that is not equal to itself, as with a NaN, is the same as one that is
/// printed alike.
fn holds_the_same<B: PartialEq + fmt::Debug>(one: &Option<B>, other: &Option<B>) -> bool {
    let equal = |a: &Option<B>, b: &Option<B>| a == b;
    equal(one, other) || !equal(one, one) && !equal(other, other) && format!("{one:?}") == format!("{other:?}")
}

/// The first difference between two outputs.
pub(crate) fn same<B: PartialEq + fmt::Debug>(model: &Slots<B>, deployed: &Slots<B>) -> Result<(), Difference> {
    for (number, (in_model, in_deployed)) in model.iter().zip(deployed).enumerate() {
        if !holds_the_same(in_model, in_deployed) {
            let (end, shown) = (number + 1 == model.len(), |slot: &Option<B>| format!("{slot:?}"));
            return Err(Difference::Slot { number, end, model: shown(in_model), deployed: shown(in_deployed) });
        }
    }
    if model.len() != deployed.len() {
        return Err(Difference::Length { model: model.len(), deployed: deployed.len() });
    }
    Ok(())
}
