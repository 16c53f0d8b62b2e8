//! Services that survive: pipelines that answer their callers, whose requests are in a journal.

use super::offers::Stores;
use super::{JobError, Persistent, Running};
use crate::claims::{ClaimingSink, Claims, OpenError};
use crate::journal::JournalOptions;
use crate::resumable::{Behind, Groups, Recorded, journaled_in_groups};
use crate::room::Room;
use millstream_core::pipe::{Then, ToMaybe};
use millstream_core::{Arrow, Item, KeepsClock, Maybe, RunOutcome, SequenceNumber, Shape, Sink, Val, ViewExt};
use millstream_exec::{Client, Edge, Lasting, Polled, Poller, Reception, Reply, Request, Source};
use serde_json::Value;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

impl Persistent {
    /// Starts a service that survives: a pipeline whose slot n answers the request with number n, as in
    /// [`service`](millstream_exec::service). Each request is in the journal before a stage gets it, durable as the
    /// journal's [`Fsync`](crate::journal::Fsync) says, so an answer that a caller got holds after a crash too.
    /// Requests that arrive during a sync become the next commit, so all that wait for a sync share it.
    ///
    /// After a crash the run begins at the newest snapshot, and with the journal's requests after it. Their callers no
    /// longer wait: a caller without an answer does not know whether its request was accepted, and repeats it. A
    /// service that must not carry out a repeated request twice keeps the ids of requests, and their answers, in its
    /// state.
    ///
    /// The run ends when the last client is dropped, or when it is [closed](Running::close). All accepted requests are
    /// answered first. If a stage fails, requests that have no answer yet end with
    /// [`CallError::Failed`](millstream_exec::CallError), and if the run is stopped, with
    /// [`CallError::Ended`](millstream_exec::CallError), as soon as its threads have left, whether or not the program
    /// waits for the run. They are in the journal nevertheless: the next start processes them.
    ///
    /// ```
    /// use millstream::{prelude::*, state::{Persistent, StateDir}};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&directory)?;
    /// let account = || pipeline::<String>()
    ///     .scan(0_i64, |balance, line| { *balance += line.parse::<i64>().unwrap_or(0); *balance })
    ///     .named("balance");
    /// for balance in [30, 55] {
    ///     let job = Persistent::new(Rings::new(), StateDir::open("state", "account")?);
    ///     let (client, running) = job.serve(account(), Default::default())?;
    ///     let asked = if balance == 30 { "30" } else { "25" };
    ///     assert_eq!(client.call_blocking(asked.to_owned()), Ok(balance));
    ///     drop(client);
    ///     running.wait()?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](Persistent::start).
    pub fn serve<Q, A, P>(self, stages: P, journal: JournalOptions) -> Result<(Client<Q, A>, Running<()>), JobError>
    where
        Q: Recorded,
        A: Item + Clone,
        P: KeepsClock + Arrow<In = Val<Q>, Out: Edge<A>>,
        Then<P, ToMaybe<P::Out>>: Lasting + Arrow<In = Val<Q>, Out = Maybe<P::Out>>,
    {
        let (callers, running) = self.served(stages, journal, None)?;
        Ok((callers.client(&running), running))
    }

    /// The run of a service; with `behind` it is that of a follower.
    pub(super) fn served<Q, A, P>(
        self,
        stages: P,
        journal: JournalOptions,
        behind: Option<Arc<Behind>>,
    ) -> Result<(Callers<Q, A>, Running<()>), JobError>
    where
        Q: Recorded,
        A: Item + Clone,
        P: KeepsClock + Arrow<In = Val<Q>, Out: Edge<A>>,
        Then<P, ToMaybe<P::Out>>: Lasting + Arrow<In = Val<Q>, Out = Maybe<P::Out>>,
    {
        let (reception, arriving) = Reception::open(&self.rings, None)?;
        let waiting = Arc::new(Waiting::default());
        let closer = Source::closer(&arriving);
        let stores = Arc::new(Stores::of_service(behind.is_some()));
        let callers = Callers { reception, waiting: waiting.clone(), room: self.dir.room().clone() };
        let live = Requests { arriving, replies: Vec::new(), waiting: waiting.clone(), stores: stores.clone() };
        let mut requests = journaled_in_groups(&self.dir, journal, move || live);
        if let Some(behind) = behind {
            requests = requests.following(behind);
        }
        let running = self.start_as(&stages.maybe(), requests, Answers(waiting), stores)?;
        let running = running.closed_by(move || closer.iter().for_each(|closer| closer.close()));
        Ok((callers, running))
    }
}

/// The callers of a service whose run has started.
pub(super) struct Callers<Q: Item, A: Item> {
    reception: Reception<Q, A>,
    waiting: Arc<Waiting<A>>,
    /// By which the journal of the requests asks for room.
    room: Arc<Room>,
}

impl<Q: Item, A: Item> Callers<Q, A> {
    pub(super) fn client(self, running: &Running<()>) -> Client<Q, A> {
        let Callers { reception, waiting, room } = self;
        // The sink and the source of a run that has failed stay until the program waits for the run, and a caller may
        // wait in that program's only thread.
        reception.client_releasing(running.handle(), move || {
            waiting.end();
            room.end();
        })
    }
}

/// How long it may take until the source notices that the run is over.
const LOOK: Duration = Duration::from_millis(50);

/// The replies of requests, by number.
type Replies<A> = VecDeque<(u64, Reply<A>)>;

/// The replies of the requests under way; none when the run is over.
#[derive(Debug)]
struct Waiting<A> {
    replies: Mutex<Option<Replies<A>>>,
}

impl<A> Default for Waiting<A> {
    fn default() -> Self {
        Waiting { replies: Mutex::new(Some(VecDeque::new())) }
    }
}

impl<A> Waiting<A> {
    fn lock(&self) -> MutexGuard<'_, Option<Replies<A>>> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers increase. If the run is over, the replies are dropped, which tells their callers.
    fn put(&self, replies: impl Iterator<Item = (u64, Reply<A>)>) {
        if let Some(waiting) = &mut *self.lock() {
            waiting.extend(replies);
        }
    }

    /// The reply to this number. There is none if the request is of an earlier process.
    fn take(&self, number: u64) -> Option<Reply<A>> {
        let mut waiting = self.lock();
        let waiting = waiting.as_mut()?;
        waiting.pop_front_if(|(next, _)| *next == number).map(|(_, reply)| reply)
    }

    /// No answers come from now on: tells the callers that wait.
    fn end(&self) {
        *self.lock() = None;
    }

    fn is_over(&self) -> bool {
        self.lock().is_none()
    }
}

/// The requests of all clients.
struct Requests<Q: Item, A: Item> {
    arriving: Poller<Request<Q, A>>,
    /// The replies of the group that is being committed.
    replies: Vec<Reply<A>>,
    waiting: Arc<Waiting<A>>,
    stores: Arc<Stores>,
}

impl<Q: Recorded, A: Item> Groups for Requests<Q, A> {
    type Item = Q;

    fn next_group(&mut self, group: &mut VecDeque<Q>) -> bool {
        let replies = &mut self.replies;
        loop {
            let polled = self.arriving.poll_for(LOOK, |_, request| {
                let (value, reply) = request.into_parts();
                group.push_back(value);
                replies.push(reply);
            });
            match polled {
                Ok(Polled::Values(_)) => return true,
                Ok(Polled::Nothing) if !self.waiting.is_over() => {}
                Ok(Polled::Nothing | Polled::Ended) | Err(_) => return false,
            }
        }
    }

    fn committed(&mut self, first: u64) {
        self.waiting.put((first..).zip(self.replies.drain(..)));
        self.stores.begin_storing();
    }
}

/// The sink that answers. It holds nothing: an answer that its caller did not get is in the state, if it is anywhere.
struct Answers<A>(Arc<Waiting<A>>);

impl<A: Item + Clone, F: for<'a> Shape<Ref<'a> = &'a A>> ClaimingSink<Maybe<F>> for Answers<A> {
    type Open = Answering<A>;

    fn open(&self, _: Option<(SequenceNumber, &Value)>) -> Result<Answering<A>, OpenError> {
        Ok(Answering(self.0.clone()))
    }
}

/// The open sink of [`Answers`]. When it is dropped, waiting callers learn that no answer comes.
struct Answering<A>(Arc<Waiting<A>>);

impl<A> Claims for Answering<A> {
    fn claim(&mut self) -> io::Result<Value> {
        Ok(Value::Null)
    }
}

impl<A: Item + Clone, F: for<'a> Shape<Ref<'a> = &'a A>> Sink<Maybe<F>> for Answering<A> {
    type Output = ();
    type Error = Infallible;

    fn put(&mut self, number: SequenceNumber, answer: Option<&A>) -> Result<(), Infallible> {
        if let Some(reply) = self.0.take(number.0) {
            reply.send(answer.cloned());
        }
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<(), Infallible> {
        Ok(())
    }
}

impl<A> Drop for Answering<A> {
    fn drop(&mut self) {
        self.0.end();
    }
}
