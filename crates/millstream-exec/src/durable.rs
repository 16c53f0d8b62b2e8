//! Rings whose states can be written down.

use crate::fusion::JobEnds;
use crate::in_place::HandOver;
use crate::keeper::{Keeper, StateKeepers, adopt_start, adopt_starts};
use crate::keeps::{Keeps, RingBackend, RingRunner, keeps_by, sealed};
use crate::start::{Threads, wire};
use crate::upgrade::Next;
use crate::{Edge, Handle, IntoUpgrade, RingShape, Rings, RunError, Runner, RunsOn, Sink, Source};
use millstream_core::pipe::{Key, KeyRouter, Parked, States};
use millstream_core::{Arrow, Deploy, Item, Plan, SequenceNumber, Val};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The deployment on [`Rings`] whose stages' states can leave the process: a [`Snapshot`](crate::Snapshot) of such a
/// run can be written [as bytes](crate::Snapshot::to_bytes).
///
/// Pipelines are the same as on `Rings`. Their states, keys among them, implement `serde::Serialize` and
/// `serde::Deserialize`; for one that does not, the compiler reports an error with the state and its stage. Each stage
/// with a state has a name of its own ([`named`](Arrow::named)), or the run does not start: an ordinal in a name can
/// mean another stage in the next version of the program. Also name the stages that start a clock (`flat_map`, `lines`,
/// and so on): a snapshot has their next number, and no check asks for their names. A box hides what is in it, so a
/// [`BoxPipeline`](crate::BoxPipeline) runs here only if its kind is [`OnDurable`](crate::OnDurable), and a function's
/// `impl Pipeline<A, B>` only if it says `+ Lasting`.
///
/// At a mark each state is cloned, as on `Rings`; it is written when `to_bytes` is called.
///
/// ```
/// use millstream::prelude::*;
/// let sums = pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum });
/// let durable = Durable::new(Rings::new());
/// assert_eq!(durable.collect((&sums).from([1, 2])).unwrap_err().to_string(), "\
/// 1 stage keeps a state and has no name of its own:
///   scan-1 keeps u64: add `.named(\"scan\")` after its `scan`");
/// assert_eq!(durable.collect(sums.named("sum").from([1, 2]))?, [1, 3]);
/// # Ok::<(), RunError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    rings: Rings,
}

/// A pipeline that [`Durable`] rings can run as well, since the states of every stage can be written. Nothing to
/// implement.
///
/// ```
/// use millstream::prelude::*;
///
/// fn sums() -> impl Pipeline<u64, u64> + Lasting {
///     pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum }).named("sums")
/// }
/// let durable = Durable::new(Rings::new());
/// assert_eq!(durable.collect(sums().map(|x| x * 10).from([1, 2]))?, [10, 30]);
/// # Ok::<(), RunError>(())
/// ```
pub trait Lasting: Deploy<RingBackend<Durable>> + Arrow<Out: RingShape<Durable>> {}
impl<P: Deploy<RingBackend<Durable>> + Arrow<Out: RingShape<Durable>>> Lasting for P {}

/// An [`Edge`] of `T`s on [`Durable`] rings as well: a stage that is [`Lasting`] reads one. Nothing to implement.
///
/// ```
/// use millstream::prelude::*;
///
/// fn sums<E: LastingEdge<u64>>() -> impl Stage<E, u64> + Lasting {
///     id::<E>().scan(0, |sum, x| { *sum += x; *sum }).named("sums")
/// }
/// fn parity<E: LastingEdge<u64>>() -> impl Stage<E, (u64, bool)> + Lasting {
///     wires!(|x: E| {
///         let sum = x.scan(0, |sum, x| { *sum += x; *sum }).named("sum");
///         let is_even = |x, sum| (*x, sum % 2 == 0);
///         is_even
///     })
/// }
/// let even = pipeline::<u64>().filter(|x| x % 2 == 0);
/// assert_eq!(Durable::new(Rings::new()).collect(even.then(sums()).from(0..5))?, [0, 2, 6]);
/// # Ok::<(), RunError>(())
/// ```
pub trait LastingEdge<T>: Edge<T> + RingShape<Durable> {}
#[diagnostic::do_not_recommend]
impl<T, E: Edge<T> + RingShape<Durable>> LastingEdge<T> for E {}

impl Durable {
    /// With these options; `Durable::new(Rings::new().resume(snapshot))` goes on from a snapshot. Upgrades that they
    /// plan are refused when a run starts, since those are for `Rings`: plan them [here](Durable::upgrade_at).
    #[must_use]
    pub fn new(rings: Rings) -> Self {
        Durable { rings }
    }

    /// As [`Rings::upgrade_at`].
    #[must_use]
    pub fn upgrade_at<T: Item, U: IntoUpgrade>(mut self, at: SequenceNumber, next: U) -> Self
    where
        U::Next: Deploy<RingBackend<Durable>> + Arrow<In = Val<T>, Out: RingShape<Durable>> + Send + Sync,
    {
        self.rings.plan_upgrade(at, Next::new::<Durable, _, _>(next.into_upgrade()));
        self
    }
}

impl sealed::Sealed for Durable {}

impl RingRunner for Durable {
    fn check_names(plan: &Plan) -> Result<(), RunError> {
        plan.check_durable().map_err(RunError::NotDurable)
    }
}

#[diagnostic::do_not_recommend]
impl<S: Item + Clone + Serialize + DeserializeOwned> Keeps<S> for Durable {
    keeps_by!(writes, writes_shared);
}

impl Runner for Durable {
    type Handle<O: Send + 'static> = Handle<O, Durable>;
}

impl<T: Item, P: Deploy<RingBackend<Durable>> + Arrow<In = Val<T>, Out: RingShape<Durable>>> RunsOn<Durable> for P {
    type Item = T;

    fn start_on<X, K>(&self, on: &Durable, source: X, sink: K) -> Result<Handle<K::Output, Durable>, RunError>
    where
        X: Source<T>,
        K: Sink<P::Out>,
    {
        wire::<Durable, JobEnds<X::Values, K>, _, _, _, false>(self, &on.rings, source, Threads::Workers)?
            .start_into(&on.rings, sink)
    }
}
