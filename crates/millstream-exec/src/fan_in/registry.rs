use super::gate::Gate;
use super::lane::Lane;
use super::panics::{ProducerPanic, ProducerPanics};
use super::producer::{ProducerEnd, Ring};
use super::table::{Entries, Table};
use crate::handle::ExternalSource;
use crate::sender::JoinError;
use crate::shared::Shared;
use millstream_core::Item;
use millstream_ring::{mpsc, spsc};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where producers come and go.
pub(crate) struct Registry<T: Item> {
    pub(super) shared: Arc<Shared>,
    slots: usize,
    at_most: usize,
    /// Whether a producer that panics ends alone.
    isolated: bool,
    /// Where all have one ring: another sender is made of this one.
    several: Option<mpsc::Sender<T>>,
    /// How often producers have come, and gone from a shared ring.
    version: AtomicU64,
    state: Mutex<State<T>>,
}

struct State<T: Item> {
    /// Of the senders that are there.
    gates: Vec<(u32, Arc<Gate<Ring<T>>>)>,
    /// Those that whoever merges has not seen yet.
    arrived: Vec<Lane<T>>,
    /// Of a shared ring: whose values there are in it.
    entries: Entries,
    /// How many producers there have been.
    begun: u32,
    /// How many rings there are, with those whose producer has gone and that are not empty.
    held: usize,
    /// Nobody comes any more.
    closed: bool,
    /// Who ended by a panic, where that ends nobody else.
    panics: ProducerPanics,
}

impl<T: Item> Registry<T> {
    /// A registry, and the end of the shared ring if there is one.
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
            panics: ProducerPanics::default(),
        };
        let state = Mutex::new(state);
        (Arc::new(Registry { shared, slots, at_most, isolated, several, version: AtomicU64::new(0), state }), receiver)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more producer.
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
        // Behind the list: whoever sees the version locks the list.
        self.version.fetch_add(1, Ordering::Release);
        drop(state);
        Ok(ProducerEnd::new(id, gate, watermark, self.clone()))
    }

    /// A producer's thread panics, and what it has sent is not the whole.
    pub(super) fn panicked(&self, panic: ProducerPanic) {
        if self.isolated {
            self.shared.trace.producer_panicked(&panic);
            self.lock().panics.note(panic);
        } else {
            self.shared.fail_with(panic.into_failure());
        }
    }

    /// A producer goes. Its ring has ended.
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

    /// Those who have come since `known` was the version.
    pub(super) fn meet(&self, known: &mut u64, lanes: &mut Vec<Lane<T>>) {
        let version = self.version.load(Ordering::Acquire);
        if version != *known {
            *known = version;
            lanes.append(&mut self.lock().arrived);
        }
    }

    /// As [`meet`](Registry::meet), of those who come to a shared ring and go.
    pub(super) fn hear(&self, known: &mut u64, table: &mut Table) {
        // Who has sent something had come before; so whoever sees the value sees this.
        let version = self.version.load(Ordering::Acquire);
        if version != *known {
            *known = version;
            table.hear(&mut self.lock().entries);
        }
    }

    /// Everything was taken of one who has gone.
    pub(super) fn is_over(&self, entry: u32) {
        self.lock().entries.is_over(entry);
    }

    /// How many values wait of those who have come since `known` was the version.
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

    /// Whether nobody will come that has not been met.
    pub(super) fn over(&self) -> bool {
        let state = self.lock();
        state.closed && state.arrived.is_empty()
    }

    /// Whether this producer has been there.
    pub(super) fn has_begun(&self, producer: u32) -> bool {
        producer < self.lock().begun
    }
}

impl<T: Item> ExternalSource for Registry<T> {
    /// Ends every ring where it is, whatever a sender is in the middle of.
    fn end(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.close_shared();
        state.gates.iter().for_each(|(_, gate)| gate.close());
    }

    fn accepted(&self) -> Option<u64> {
        // The merge is a tasklet, and says so itself.
        None
    }

    fn panics(&self) -> ProducerPanics {
        self.lock().panics.clone()
    }
}
