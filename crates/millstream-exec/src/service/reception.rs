//! Receives the requests of clients, for a service that a program runs by itself.

use super::answer::Request;
use super::client::Client;
use crate::keeps::RingRunner;
use crate::shared::Shared;
use crate::{Handle, Poller, Rings, RunError, Sender, fan_in};
use millstream_core::Item;
use std::fmt;
use std::sync::Arc;

/// Receives the requests of a service that [`Service::start`](crate::Service::start) does not run: one that first
/// writes them to a journal, for example.
///
/// [`open`](Reception::open) returns the reception, and a poller of the requests. Each request carries the return
/// channel of its answer. When the run that answers them has started, [`client`](Reception::client) returns the client.
///
/// ```
/// use millstream::prelude::*;
/// use millstream::exec::Reception;
///
/// let (reception, mut arriving) = Reception::<u64, u64>::open(&Rings::new(), None)?;
/// let (numbers, source) = source::channel(8);
/// // A run of any kind: this one passes the requests' numbers on.
/// let run = Rings::new().start(pipeline::<u64>().from(source).to_each(|_, _| ()))?;
/// let client = reception.client(&run);
/// let caller = std::thread::spawn(move || client.call_blocking(20));
/// arriving.for_each(|_, request| {
///     let (value, reply) = request.into_parts();
///     numbers.send(value).unwrap();
///     reply.send(Some(value + 1));
/// })?;
/// assert_eq!(caller.join().unwrap(), Ok(21));
/// # Ok::<(), RunError>(())
/// ```
pub struct Reception<Q: Item, A: Item> {
    sender: Sender<Request<Q, A>>,
    /// The state at which the poller waits.
    arriving: Arc<Shared>,
}

impl<Q: Item, A: Item> Reception<Q, A> {
    /// A reception, and a poller of its requests, in the order of their arrival. Requests wait in a ring with this
    /// number of slots; by default with as many as the rings of `rings`.
    ///
    /// # Errors
    ///
    /// If the options contradict each other or take more memory than they may.
    pub fn open(rings: &Rings, slots: Option<usize>) -> Result<(Self, Poller<Request<Q, A>>), RunError> {
        let requests = fan_in(1).shared().isolate_panics();
        let requests = match slots {
            Some(slots) => requests.ring(slots),
            None => requests,
        };
        let (senders, arriving) = requests.open(rings)?;
        let [sender] = <[_; 1]>::try_from(senders).expect("a fan-in of one producer has one sender");
        let reception = Reception { sender, arriving: arriving.closer().shared };
        Ok((reception, arriving))
    }

    /// The client whose requests this run answers. When the run fails or is stopped, its values are dropped at once,
    /// so that no caller waits for an answer that cannot come.
    pub fn client<O, R: RingRunner>(self, run: &Handle<O, R>) -> Client<Q, A> {
        // Callers whose requests are in the rings wait until these are dropped.
        Client::new(self.sender, run.started.release_at_end(None))
    }

    /// As [`client`](Reception::client), for a program that keeps the return channels of requests outside the run.
    /// `release` is called once, on any thread, when the run has failed or was stopped and its threads have left. It
    /// drops the return channels, so that their callers get the run's error. A panic of it is dropped.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use millstream::exec::Reception;
    /// use std::sync::{Arc, Mutex};
    ///
    /// let (reception, mut arriving) = Reception::<u64, u64>::open(&Rings::new(), None)?;
    /// let (numbers, source) = source::channel(8);
    /// let divide = pipeline::<u64>().map(|x| 12 / x).named("divide");
    /// let run = Rings::new().start(divide.from(source).to_each(|_, _| ()))?;
    /// let replies = Arc::new(Mutex::new(Vec::new()));
    /// let kept = replies.clone();
    /// let client = reception.client_releasing(&run, move || kept.lock().unwrap().clear());
    /// let answer = client.send(0)?;
    /// arriving.poll(|_, request| {
    ///     let (value, reply) = request.into_parts();
    ///     replies.lock().unwrap().push(reply);
    ///     numbers.send(value).unwrap();
    /// })?;
    /// assert!(matches!(answer.wait(), Err(CallError::Failed(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn client_releasing<O, R: RingRunner>(
        self,
        run: &Handle<O, R>,
        release: impl FnOnce() + Send + 'static,
    ) -> Client<Q, A> {
        Client::new(self.sender, run.started.release_at_end(Some(Box::new(release))))
    }

    /// The client of a source that answers its requests itself, before it passes their values on, as a source with a
    /// journal does. No run need exist yet. A request that waits when the poller is dropped gets no answer.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use millstream::exec::Reception;
    ///
    /// let (reception, mut arriving) = Reception::<u64, ()>::open(&Rings::new(), None)?;
    /// let client = reception.client_of_source();
    /// let (first, second) = (client.send(1)?, client.send(2)?);
    /// let mut taken = Vec::new();
    /// arriving.poll(|_, request| {
    ///     let (value, reply) = request.into_parts();
    ///     if value == 1 {
    ///         taken.push(value);
    ///         reply.send(Some(()));
    ///     }
    /// })?;
    /// drop(arriving);
    /// assert_eq!((first.wait(), second.wait(), taken), (Ok(()), Err(CallError::Ended), vec![1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn client_of_source(self) -> Client<Q, A> {
        Client::new(self.sender, self.arriving)
    }
}

impl<Q: Item, A: Item> fmt::Debug for Reception<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reception").finish_non_exhaustive()
    }
}
