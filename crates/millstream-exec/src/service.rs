//! Pipelines that answer many callers: each answer goes back to the caller of its request.

mod answer;
mod callers;
mod client;
mod error;
mod reception;

pub use answer::{Answer, AnswerFuture, Reply, Request};
pub use client::Client;
pub use error::CallError;
pub use reception::Reception;

use crate::{
    BoxExt, BoxShape, BoxStage, Deployable, Edge, Handle, JobExt, OneClock, Rings, RunError, Runner, Stage, StagesOn,
};
use callers::Callers;
use millstream_core::pipe::Id;
use millstream_core::{AnyEdge, Arrow, Item, PartsExt, ViewExt, id, pipeline};

/// A pipeline that answers requests: each slot of its output is the answer to the request with the same number.
///
/// [`service`] makes one, and [`start`](Service::start) returns a [`Client`] and the run.
#[must_use = "it answers nothing before it is started"]
pub struct Service<Q: Item, A: Item + Clone> {
    stages: BoxStage<Q, A>,
    ring: Option<usize>,
}

/// A service whose stages answer the requests of any number of callers.
///
/// The requests of all callers are one stream, in the order of their arrival, so a state in the stages needs no lock.
/// The stages keep the clock of the requests, which the compiler checks: each request has one slot of the output, whose
/// value goes back to its caller. If the slot is empty, since a filter leaves the request out or a `try_map_or_empty`
/// fails, the caller gets [`CallError::NoAnswer`]. To tell the caller why, answer with a `Result`.
///
/// ```
/// use millstream::prelude::*;
///
/// // An account: every payment is answered with the balance after it.
/// let account = service(requests::<i64>().scan(0, |balance, x| { *balance += x; *balance }));
/// let (client, run) = account.start()?;
/// let callers: Vec<_> = (0..4).map(|_| {
///     let client = client.clone();
///     std::thread::spawn(move || client.call_blocking(25))
/// }).collect();
/// let mut balances: Vec<i64> = callers.into_iter().map(|caller| caller.join().unwrap()).collect::<Result<_, _>>()?;
/// balances.sort();
/// assert_eq!(balances, [25, 50, 75, 100]);
/// drop(client); // the last one ends the service
/// run.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Requests are never copied: the stages read a reference to each. An answer is cloned once, for its caller. A call
/// allocates once, for the return of its answer.
pub fn service<Q, A, P>(stages: P) -> Service<Q, A>
where
    Q: Item,
    A: Item + Clone,
    AnyEdge<Q>: BoxShape,
    P: Answers<Q, A>,
{
    Service { stages: stages.boxed(), ring: None }
}

/// The stages of a [`service`]: they make an `A` of each `Q`, or leave its slot empty. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "the stages of a service keep the clock of the requests, and these are not known to",
    label = "a request may have no slot of its own for its answer",
    note = "`flat_map`, `flatten`, `lines`, `compact`, `windows_by` and the like start a new clock: answer with a `Vec`, by `.map(..)`",
    note = "a function says that its stages keep the clock by `impl Stage<E, B>`"
)]
pub trait Answers<Q, A>: Stage<AnyEdge<Q>, A> {}
impl<Q: Item, A, P: Deployable + OneClock + Arrow<In = AnyEdge<Q>, Out: Edge<A>>> Answers<Q, A> for P {}

/// The beginning of a [`service`]'s stages: the edge of its requests, whatever carries them.
///
/// A function that returns a [`Stage`] for any [`Edge`](crate::Edge) can follow it with `then`, and a block begins with
/// `wires!(|request: AnyEdge<Q>| { .. })`.
pub fn requests<Q: Item>() -> Id<AnyEdge<Q>> {
    id()
}

impl<Q: Item, A: Item + Clone> Service<Q, A> {
    /// Sets the slots of the ring in which requests wait: a power of two, or [`start`](Service::start) fails. The
    /// default is that of the run's rings. A call waits while the ring is full.
    pub fn ring(mut self, slots: usize) -> Self {
        self.ring = Some(slots);
        self
    }

    /// Starts the service on default [`Rings`]: see [`start_on`](Service::start_on).
    ///
    /// Keep the handle while the service is to answer: dropping it stops the run. `let (client, _run) = ..` keeps it to
    /// the end of the block. `let (client, _) = ..` drops it at once, without a warning of the compiler:
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let (client, _) = service(requests::<u64>().map(|x| x + 1)).start()?;
    /// assert_eq!(client.call_blocking(1), Err(CallError::Ended));
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start_on`](Service::start_on).
    pub fn start(&self) -> Result<(Client<Q, A>, Handle<()>), RunError> {
        self.start_on(&Rings::new())
    }

    /// Starts the service. The run goes on until the last clone of the client is dropped, until it is drained or
    /// stopped, or until the handle is dropped, which stops it; then calls return [`CallError::Ended`]. Plans, reports
    /// and errors call the service's own fan-out `service`, and a stage without a name by its place in it.
    ///
    /// A drain answers every request that was accepted. If the run is stopped, requests that have no answer yet end
    /// with [`CallError::Ended`]. If a stage panics, they end with [`CallError::Failed`], which has the run's error:
    /// the stage, the number and the cause.
    ///
    /// # Errors
    ///
    /// If the rings' options contradict each other or take more memory than they may, or if a thread cannot be started.
    pub fn start_on(&self, rings: &Rings) -> Result<(Client<Q, A>, Handle<()>), RunError> {
        let (reception, arriving) = Reception::open(rings, self.ring)?;
        let stages = self.stages.clone();
        let answers = pipeline::<Request<Q, A>>().fanout(
            |request| request.part(|request: &Request<Q, A>| &request.value).any_edge().then(stages).maybe(),
            |request| request,
        );
        let answers = answers.named("service");
        let answer = |_, (answer, request): (Option<&A>, &Request<Q, A>)| request.answer(answer.cloned());
        let run = rings.start(answers.from(arriving).to_each(answer))?;
        let client = reception.client(&run);
        let client = match rings.which_stages_on() {
            StagesOn::Workers => client,
            StagesOn::Source | StagesOn::Faster => client.running(Callers::of(&run.started.pool)),
        };
        Ok((client, run))
    }
}

impl<Q: Item, A: Item + Clone> std::fmt::Debug for Service<Q, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("ring", &self.ring).finish_non_exhaustive()
    }
}
