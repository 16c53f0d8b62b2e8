use super::gate::Gate;
use super::lane::Lane;
use super::producer::{Member, Ring};
use crate::handle::Outside;
use crate::sender::JoinError;
use crate::shared::Shared;
use millstream_core::Event;
use millstream_ring::{SharedGiver, SharedTaker, moving_ring, shared_ring};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where producers come and go.
pub(crate) struct Desk<T: Event> {
    pub(super) shared: Arc<Shared>,
    slots: usize,
    at_most: usize,
    /// Where all have one ring: another giver is made of this one.
    several: Option<SharedGiver<T>>,
    /// How many have come.
    version: AtomicU64,
    state: Mutex<State<T>>,
}

struct State<T: Event> {
    /// Of the senders that are there.
    gates: Vec<(u32, Arc<Gate<Ring<T>>>)>,
    /// Those that whoever merges has not seen yet.
    arrived: Vec<Lane<T>>,
    /// How many producers there have been.
    begun: u32,
    /// How many rings there are, with those whose producer has gone and that are not empty.
    held: usize,
    /// Nobody comes any more.
    closed: bool,
}

impl<T: Event> Desk<T> {
    /// A desk, and the end of the shared ring if there is one.
    pub(crate) fn new(
        shared: Arc<Shared>,
        slots: usize,
        at_most: usize,
        several: bool,
    ) -> (Arc<Self>, Option<SharedTaker<T>>) {
        let ends = several.then(|| shared_ring(slots).expect("the options were checked"));
        let (several, taker) = ends.unzip();
        let state = State { gates: Vec::new(), arrived: Vec::new(), begun: 0, held: 0, closed: false };
        let state = Mutex::new(state);
        (Arc::new(Desk { shared, slots, at_most, several, version: AtomicU64::new(0), state }), taker)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more producer.
    pub(crate) fn join(self: &Arc<Self>) -> Result<Member<T>, JoinError> {
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
            Some(giver) => Arc::new(Gate::new(Ring::several(giver.another(id)))),
            None => {
                let (giver, taker) = moving_ring(self.slots).expect("the options were checked");
                let gate = Arc::new(Gate::new(Ring::own(giver)));
                state.arrived.push(Lane::new(id, taker, gate.clone(), watermark.clone()));
                gate
            }
        };
        state.begun += 1;
        state.held += 1;
        state.gates.push((id, gate.clone()));
        // Behind the list: whoever sees the version locks the list.
        self.version.fetch_add(1, Ordering::Release);
        drop(state);
        Ok(Member::new(id, gate, watermark, self.clone()))
    }

    /// A producer goes. Its ring has ended.
    pub(super) fn leave(&self, id: u32) {
        let mut state = self.lock();
        state.gates.retain(|(gate, _)| *gate != id);
        if self.several.is_some() {
            state.held -= 1;
        }
        if state.gates.is_empty() {
            state.closed = true;
            self.close_shared();
        }
    }

    fn close_shared(&self) {
        if let Some(giver) = &self.several {
            giver.close();
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

impl<T: Event> Outside for Desk<T> {
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
}
