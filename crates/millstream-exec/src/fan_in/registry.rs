use super::cuts::{Cuts, WantedCut};
use super::gate::Gate;
use super::lane::Lane;
use super::panics::{ProducerPanic, ProducerPanics};
use super::producer::{ProducerEnd, Ring};
use super::table::{Entries, Table};
use crate::external_source::{Accepted, ExternalSource};
use crate::sender::JoinError;
use crate::shared::Shared;
use millstream_core::Item;
use millstream_ring::{mpsc, spsc};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The producers of a fan-in, as they come and go.
pub(crate) struct Registry<T: Item> {
    pub(super) shared: Arc<Shared>,
    slots: usize,
    at_most: usize,
    /// Whether a producer's panic ends only that producer.
    isolated: bool,
    /// The sender of a shared ring, from which further ones are made.
    several: Option<mpsc::Sender<T>>,
    /// Incremented when a producer comes, or leaves a shared ring.
    version: AtomicU64,
    state: Mutex<State<T>>,
    pub(super) cuts: Cuts,
}

struct State<T: Item> {
    /// The gates of the current senders.
    gates: Vec<(u32, Arc<Gate<Ring<T>>>)>,
    /// Lanes that the merge has not seen yet.
    arrived: Vec<Lane<T>>,
    /// For a shared ring: the producers with values in it.
    entries: Entries,
    /// How many producers there have been.
    begun: u32,
    /// How many rings there are, including those of producers that are gone until they are empty.
    held: usize,
    /// No further producer is accepted.
    closed: bool,
    /// The run has ended all rings: it drains, or a stage has ended the stream.
    ended: bool,
    /// The producers that ended by a panic, if that ends only the producer.
    panics: ProducerPanics,
}

impl<T: Item> Registry<T> {
    /// A registry, and the receiver of the shared ring if there is one.
    pub(crate) fn new(
        shared: Arc<Shared>,
        slots: usize,
        at_most: usize,
        (several, isolated): (bool, bool),
    ) -> (Arc<Self>, Option<mpsc::Receiver<T>>) {
        let ends = several.then(|| mpsc::ring(slots).expect("the options were checked"));
        let (several, receiver) = ends.unzip();
        let state = State {
            gates: Vec::new(),
            arrived: Vec::new(),
            entries: Entries::default(),
            begun: 0,
            held: 0,
            closed: false,
            ended: false,
            panics: ProducerPanics::default(),
        };
        let (state, version, cuts) = (Mutex::new(state), AtomicU64::new(0), Cuts::default());
        (Arc::new(Registry { shared, slots, at_most, isolated, several, version, state, cuts }), receiver)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a producer.
    pub(crate) fn join(self: &Arc<Self>) -> Result<ProducerEnd<T>, JoinError> {
        let mut state = self.lock();
        if state.closed || self.shared.stopped() {
            return Err(JoinError::Ended);
        }
        if state.held == self.at_most {
            return Err(JoinError::Full(self.at_most));
        }
        let id = state.begun;
        let watermark = Arc::new(AtomicU64::new(0));
        let gate = match &self.several {
            Some(sender) => Arc::new(Gate::new(Ring::several(sender, state.entries.enter(id)))),
            None => {
                let (sender, receiver) = spsc::ring(self.slots).expect("the options were checked");
                let gate = Arc::new(Gate::new(Ring::own(sender)));
                state.arrived.push(Lane::new(id, receiver, gate.clone(), watermark.clone()));
                gate
            }
        };
        state.begun += 1;
        state.held += 1;
        state.gates.push((id, gate.clone()));
        // After the list: a reader that sees the version then locks the list.
        self.version.fetch_add(1, Ordering::Release);
        drop(state);
        Ok(ProducerEnd::new(id, gate, watermark, self.clone()))
    }

    /// Wants a mark behind the first `sent` values of this producer.
    pub(super) fn want_cut(&self, producer: u32, sent: u64) -> WantedCut {
        let cut = self.cuts.want(producer, sent);
        self.shared.wake();
        cut
    }

    /// A producer's thread panics before it has sent its whole input.
    pub(super) fn panicked(&self, panic: ProducerPanic) {
        if self.isolated {
            self.shared.trace.producer_panicked(&panic);
            self.lock().panics.note(panic);
        } else {
            self.shared.fail_with(panic.into_failure());
        }
    }

    /// A producer leaves. Its ring has ended.
    pub(super) fn leave(&self, id: u32, entry: Option<u32>, sent: u64) {
        let mut state = self.lock();
        state.gates.retain(|(gate, _)| *gate != id);
        if let Some(entry) = entry {
            state.held -= 1;
            state.entries.leave(entry, sent);
            self.version.fetch_add(1, Ordering::Release);
        }
        if state.gates.is_empty() {
            state.closed = true;
            self.close_shared();
        }
    }

    fn close_shared(&self) {
        if let Some(sender) = &self.several {
            sender.close();
        }
    }

    /// Appends the lanes that have come since version `known`.
    pub(super) fn meet(&self, known: &mut u64, lanes: &mut Vec<Lane<T>>) {
        let version = self.version.load(Ordering::Acquire);
        if version != *known {
            *known = version;
            lanes.append(&mut self.lock().arrived);
        }
    }

    /// As [`meet`](Registry::meet), for producers that come to a shared ring and leave it.
    pub(super) fn update(&self, known: &mut u64, table: &mut Table) {
        // A producer comes before it sends; a reader that sees its value therefore sees this version.
        let version = self.version.load(Ordering::Acquire);
        if version != *known {
            *known = version;
            table.update(&mut self.lock().entries);
        }
    }

    /// All values of a producer that is gone were taken.
    pub(super) fn is_over(&self, entry: u32) {
        self.lock().entries.is_over(entry);
    }

    /// How many values wait in lanes that have come since version `known`.
    pub(super) fn not_met(&self, known: u64) -> u64 {
        if self.version.load(Ordering::Acquire) == known {
            return 0;
        }
        self.lock().arrived.iter().map(|lane| lane.receiver.backlog()).sum()
    }

    /// A ring that has ended is empty.
    pub(super) fn emptied(&self) {
        self.lock().held -= 1;
    }

    /// Whether no further producer comes, and all were met.
    pub(super) fn over(&self) -> bool {
        let state = self.lock();
        state.closed && state.arrived.is_empty()
    }

    /// Whether the run has ended all rings, and all were met: producers may have had more values.
    pub(super) fn is_ended(&self) -> bool {
        let state = self.lock();
        state.ended && state.arrived.is_empty()
    }

    /// Whether this producer has begun.
    pub(super) fn has_begun(&self, producer: u32) -> bool {
        producer < self.lock().begun
    }
}

impl<T: Item> ExternalSource for Registry<T> {
    /// Ends every ring at once, even during a send.
    fn end(&self) {
        let mut state = self.lock();
        (state.closed, state.ended) = (true, true);
        self.close_shared();
        state.gates.iter().for_each(|(_, gate)| gate.close());
    }

    fn accepted(&self) -> Option<Accepted> {
        // The merge is a tasklet and counts by itself.
        None
    }

    fn panics(&self) -> ProducerPanics {
        self.lock().panics.clone()
    }
}
