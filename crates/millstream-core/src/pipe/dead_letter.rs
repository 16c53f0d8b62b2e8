use super::combinator;
use crate::failure::{Cause, Finished, caught, into_message};
use crate::plan::{Describe, Port, StageKind};
use crate::{Arrow, Density, Either, Item, Projected, SequenceNumber, Shape, ToOwnedItem, Val, lens};
use std::{fmt, marker::PhantomData, sync::Arc};

/// A function that can fail, applied to every value, and the receiver of its failures.
///
/// The stage writes one ring. Each slot holds a failure or a value: stages downstream read the lane of the values, and
/// the receiver of dead letters reads the other lane of the same ring.
pub struct TryMapOrDeadLetter<A, F, B, E, G> {
    /// The function, shared by every deployment.
    pub f: Arc<F>,
    /// The receiver of the failures.
    pub letters: DeadLetters<A, E, G>,
    output: PhantomData<fn() -> B>,
}
combinator!(TryMapOrDeadLetter<A, F, B, E, G>: KeepsClock Quiet Shardable Determinate; through :);

/// The receiver of a stage's failures.
pub struct DeadLetters<A, E, G> {
    /// The stage's name, which every dead letter contains.
    pub name: String,
    dead: Arc<G>,
    shape: PhantomData<fn() -> (A, E)>,
}
super::debug!(DeadLetters<A, E, G>);

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault<E> {
    /// The function returned this error.
    Error(E),
    /// The function panicked: `panicked: ` and the message of the panic.
    Panic(String),
    /// The function was not called: at this number a value of the same key failed
    /// ([`try_map_or_park`](crate::KeysExt::try_map_or_park), [`try_scan_or_park`](crate::KeysExt::try_scan_or_park)).
    Parked(SequenceNumber),
}

impl<E> Fault<E> {
    /// The output of a call, or why there is none.
    pub(crate) fn of<B>(finished: Finished<Result<B, E>>) -> Result<B, Self> {
        match finished {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(error)) => Err(Fault::Error(error)),
            Err(payload) => Err(Fault::Panic(into_message(payload))),
        }
    }
}

impl<E: fmt::Display> fmt::Display for Fault<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Error(error) => error.fmt(f),
            Fault::Panic(message) => message.fmt(f),
            Fault::Parked(first) => write!(f, "parked: an earlier value of its key failed, at number {first}"),
        }
    }
}

/// A value on which the function failed, and the fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedItem<I, E> {
    /// The input of the function.
    pub input: I,
    /// The fault.
    pub fault: Fault<E>,
}

/// A failure as `dead` receives it: see
/// [`TryMapExt::try_map_or_dead_letter`](crate::TryMapExt::try_map_or_dead_letter).
#[derive(Debug, PartialEq, Eq)]
pub struct DeadLetter<'a, I, E> {
    /// The stage's name in the plan; on the model, the one that was given with `dead`.
    pub stage: &'a str,
    /// The number at which the output is empty.
    pub number: SequenceNumber,
    /// The input of the function.
    pub input: &'a I,
    /// Why it failed.
    pub fault: &'a Fault<E>,
}

/// A failure in its slot. It is boxed: failures are rare, and the slot stays small.
pub type Boxed<A, E> = Box<FailedItem<<A as ToOwnedItem>::Owned, E>>;

/// The item of the stage's ring.
pub type Outcome<A, B, E> = Either<Boxed<A, E>, B>;

/// The lane of the values.
pub type SuccessLane<A, B, E> = Projected<Val<Outcome<A, B, E>, <A as Shape>::Density>, lens::Right>;

impl<A, E, G> Clone for DeadLetters<A, E, G> {
    fn clone(&self) -> Self {
        DeadLetters { name: self.name.clone(), dead: self.dead.clone(), shape: PhantomData }
    }
}

impl<A, E, G> DeadLetters<A, E, G> {
    pub(crate) fn new(name: String, dead: G) -> Self {
        DeadLetters { name, dead: Arc::new(dead), shape: PhantomData }
    }
}

impl<A: ToOwnedItem, E: Item, G> DeadLetters<A, E, G> {
    /// The outcome of one value, whose function has returned or panicked.
    pub(crate) fn outcome<B>(&self, value: A::Ref<'_>, finished: Finished<Result<B, E>>) -> Outcome<A, B, E> {
        match Fault::of(finished) {
            Ok(output) => Either::Right(output),
            Err(fault) => Either::Left(Box::new(FailedItem { input: A::to_owned_item(value), fault })),
        }
    }

    /// The receiver of the stage that has this name in the plan, if it is there: another name may have been set over
    /// the one here, or an earlier stage may have it.
    #[must_use]
    pub fn of_planned(&self, name: Option<&str>) -> Self {
        DeadLetters { name: name.unwrap_or(&self.name).to_owned(), ..self.clone() }
    }

    /// Passes a failure to its receiver.
    pub fn deliver(&self, number: SequenceNumber, FailedItem { input, fault }: &FailedItem<A::Owned, E>)
    where
        G: for<'a> Fn(DeadLetter<'a, A::Owned, E>),
    {
        (self.dead)(DeadLetter { stage: &self.name, number, input, fault });
    }
}

impl<A, F, B, E, G> Clone for TryMapOrDeadLetter<A, F, B, E, G> {
    fn clone(&self) -> Self {
        TryMapOrDeadLetter { f: self.f.clone(), letters: self.letters.clone(), output: PhantomData }
    }
}

impl<A, F, B, E, G> TryMapOrDeadLetter<A, F, B, E, G> {
    pub(crate) fn new(f: F, letters: DeadLetters<A, E, G>) -> Self {
        TryMapOrDeadLetter { f: Arc::new(f), letters, output: PhantomData }
    }
}

impl<A: ToOwnedItem, F, B: Item, E: Cause + Item, G> TryMapOrDeadLetter<A, F, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E>,
{
    /// The outcome of one value.
    pub fn judge(&self, value: A::Ref<'_>) -> Outcome<A, B, E> {
        self.letters.outcome(value, caught(|| (self.f)(value)))
    }
}

impl<A: ToOwnedItem, F, B: Item, E: Cause + Item, G> Arrow for TryMapOrDeadLetter<A, F, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    type In = A;
    type Out = SuccessLane<A, B, E>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense, fills) = (Self::Out::BYTES, A::Density::DENSE, input.filled());
        let kind = StageKind { name: "try_map_or_dead_letter", state: None, slot_bytes, dense, fills };
        plan.named(&self.letters.name, |plan| plan.stage(&input, kind))
    }
}
