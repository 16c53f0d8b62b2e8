//! Values that arrive from outside, as a source with or without a journal.
//!
//! The listeners of this crate pass values to a [`Client`](millstream_exec::Client) whose answer is `()`: the value is
//! taken. The source decides what *taken* means: with a [journal](journaled) the value is durable; without one it
//! [is in the pipeline](taken), and lost if the process dies.
//!
//! ```
//! use millstream::{net::arrivals, prelude::*, exec::Reception};
//!
//! let (reception, arriving) = Reception::<String, ()>::open(&Rings::new(), None)?;
//! let lengths = pipeline::<String>().map(|line| line.len());
//! let run = Rings::new()
//!     .start(lengths.from(arrivals::taken(arriving)).to_fold(0, |sum, _, n| *sum += n))?;
//! let client = reception.client(&run);
//! client.call_blocking("four".to_owned())?;
//! client.call_blocking("three".to_owned())?;
//! drop(client); // the last one ends the source
//! assert_eq!(run.wait()?.0, 9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use millstream_core::Item;
use millstream_exec::{Polled, Poller, Reply, Request};
use millstream_state::journal::JournalOptions;
use millstream_state::resumable::{Groups, Journaled, Recorded};
use millstream_state::{StateDir, journaled_in_groups};
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// A source of values as they arrive. It acknowledges a value when that is in the pipeline's first ring. A value that
/// comes too late, since the run is drained or has failed, is not acknowledged. The source ends when the last client is
/// dropped.
pub fn taken<T: Item>(arriving: Poller<Request<T, ()>>) -> Taken<T> {
    Taken { arriving, next: VecDeque::new(), last: None }
}

/// A restorable source of values as they arrive. It writes each value to the journal of the state directory, durable as
/// the journal's `Fsync` says, before it acknowledges the value and passes it on.
///
/// ```
/// use millstream::{io::FileSink, net::arrivals, prelude::*};
/// use millstream::{exec::Reception, state::{Persistent, StateDir}};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// let state = StateDir::open("state", "lines")?;
/// let (reception, arriving) = Reception::<String, ()>::open(&Rings::new(), None)?;
/// let live = arrivals::journaled(&state, Default::default(), arriving);
/// let lines = pipeline::<String>();
/// let running = Persistent::new(Rings::new(), state).start(&lines, live, FileSink::append("out"))?;
/// let client = reception.client(running.handle());
/// client.call_blocking("a line\n".to_owned())?; // durable when this returns
/// drop(client);
/// running.wait()?;
/// assert_eq!(std::fs::read_to_string("out")?, "a line\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn journaled<T: Recorded>(
    state: &StateDir,
    options: JournalOptions,
    arriving: Poller<Request<T, ()>>,
) -> Journaled<impl FnOnce() -> Arriving<T> + Send + 'static> {
    journaled_in_groups(state, options, move || Arriving::of(arriving))
}

/// The source that [`taken`] makes.
pub struct Taken<T: Item> {
    arriving: Poller<Request<T, ()>>,
    next: VecDeque<Request<T, ()>>,
    /// The reply to the last value. A run asks for the next value once it has taken that one, or drops the source.
    last: Option<Reply<()>>,
}

impl<T: Item> Iterator for Taken<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if let Some(last) = self.last.take() {
            last.send(Some(()));
        }
        while self.next.is_empty() {
            let next = &mut self.next;
            match self.arriving.poll_for(Duration::MAX, |_, request| next.push_back(request)) {
                Ok(Polled::Values(_) | Polled::Nothing) => {}
                Ok(Polled::Ended) | Err(_) => return None,
            }
        }
        let (value, reply) = self.next.pop_front()?.into_parts();
        self.last = Some(reply);
        Some(value)
    }
}

impl<T: Item> fmt::Debug for Taken<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taken").field("next", &self.next.len()).finish_non_exhaustive()
    }
}

/// The live values of [`journaled`]: each is acknowledged once its group is committed.
pub struct Arriving<T: Item> {
    arriving: Poller<Request<T, ()>>,
    replies: Vec<Reply<()>>,
}

impl<T: Item> Arriving<T> {
    /// The values that arrive, for a journal that may have other live values instead: see [`journaled_in_groups`].
    pub fn of(arriving: Poller<Request<T, ()>>) -> Self {
        Arriving { arriving, replies: Vec::new() }
    }
}

impl<T: Recorded> Groups for Arriving<T> {
    type Item = T;

    fn next_group(&mut self, group: &mut VecDeque<T>) -> bool {
        let replies = &mut self.replies;
        loop {
            let polled = self.arriving.poll_for(Duration::MAX, |_, request| {
                let (value, reply) = request.into_parts();
                group.push_back(value);
                replies.push(reply);
            });
            match polled {
                Ok(Polled::Values(_)) => return true,
                Ok(Polled::Nothing) => {}
                Ok(Polled::Ended) | Err(_) => return false,
            }
        }
    }

    fn committed(&mut self, _: u64) {
        self.replies.drain(..).for_each(|reply| reply.send(Some(())));
    }
}

impl<T: Item> fmt::Debug for Arriving<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arriving").finish_non_exhaustive()
    }
}
