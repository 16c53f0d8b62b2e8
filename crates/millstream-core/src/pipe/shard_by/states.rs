//! The states of keys by place.

use super::States;
use crate::keys::{KeyMove, KeySlot, PlaceTable, SharedState};

impl<S: Clone> States<S> {
    /// No states yet. The state of a key is `start` before its first value.
    #[must_use]
    pub fn new(start: S) -> Self {
        States { start, at: PlaceTable::new() }
    }

    /// Goes on in the place of `start`: a key that is new begins as there.
    pub fn adopt(&mut self, start: &Self) {
        self.start = start.start.clone();
    }

    /// Takes the states of `old`, and leaves its own there. A key that is new begins as here.
    pub fn take_over(&mut self, old: &mut Self) {
        std::mem::swap(&mut self.at, &mut old.at);
    }

    /// The lanes of `old` go on in other lanes, every key's state at its new place.
    ///
    /// # Panics
    ///
    /// If a move is between lanes that are not there.
    pub fn spread(old: &mut [&mut Self], new: &mut [&mut Self], moves: &[KeyMove]) {
        let mut states: Vec<_> = old.iter_mut().map(|lane| std::mem::take(&mut lane.at).into_taken()).collect();
        new.iter_mut().for_each(|lane| lane.at.clear());
        for KeyMove { from: (lane, place), to: (to_lane, to_place) } in moves {
            let state = states[usize::from(*lane)].take(*place as usize);
            let (lane, place) = (&mut *new[usize::from(*to_lane)], *to_place as usize);
            // A key that has had no value here begins.
            let state = state.unwrap_or_else(|| lane.start.clone());
            if place == lane.at.len() {
                // Places are given in order, so this is the rule: the state moves once.
                lane.at.push(state);
            } else {
                *lane.of(KeySlot { place: *to_place, lane: *to_lane, fresh: false }) = state;
            }
        }
    }

    /// Each state of `old` as `migrate` makes it. A key that is new begins as here.
    #[must_use]
    pub fn migrated<T: Clone>(&self, old: &States<T>, migrate: impl FnMut(T) -> S) -> Self {
        States { start: self.start.clone(), at: old.at.iter().cloned().map(migrate).collect() }
    }

    /// The state of the key in this key slot. Call this at every number with a key, even if the stage has no value
    /// there: a key may start at any number.
    #[inline]
    pub fn of(&mut self, key_slot: KeySlot) -> &mut S {
        let place = key_slot.place as usize;
        if key_slot.fresh || self.at.len() <= place {
            self.begin(place);
        }
        self.at.get_mut(place).expect("it has begun")
    }

    /// The state at this place begins.
    #[cold]
    fn begin(&mut self, place: usize) {
        match self.at.get_mut(place) {
            Some(state) => *state = self.start.clone(),
            None => {
                let more = place + 1 - self.at.len();
                self.at.extend(std::iter::repeat_n(self.start.clone(), more));
            }
        }
    }
}

impl<S: Clone> SharedState for States<S> {
    type Value = S;
    /// The state of a key before its first value.
    type Plain = S;

    fn share(&mut self) -> Self {
        States { start: self.start.clone(), at: self.at.share() }
    }

    fn tables(&self) -> Vec<&PlaceTable<S>> {
        vec![&self.at]
    }

    fn tables_mut(&mut self) -> Vec<&mut PlaceTable<S>> {
        vec![&mut self.at]
    }

    fn plain(&self) -> S {
        self.start.clone()
    }

    fn set_plain(&mut self, start: S) -> Result<(), String> {
        self.start = start;
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.at.bytes()
    }
}

/// The states of all lanes of a loop, in one stage.
impl<S: Clone> SharedState for Vec<States<S>> {
    type Value = S;
    type Plain = Vec<S>;

    fn share(&mut self) -> Self {
        self.iter_mut().map(SharedState::share).collect()
    }

    fn tables(&self) -> Vec<&PlaceTable<S>> {
        self.iter().map(|states| &states.at).collect()
    }

    fn tables_mut(&mut self) -> Vec<&mut PlaceTable<S>> {
        self.iter_mut().map(|states| &mut states.at).collect()
    }

    fn plain(&self) -> Vec<S> {
        self.iter().map(SharedState::plain).collect()
    }

    fn set_plain(&mut self, starts: Vec<S>) -> Result<(), String> {
        if starts.len() != self.len() {
            return Err(format!("{} lanes instead of {}", starts.len(), self.len()));
        }
        self.iter_mut().zip(starts).for_each(|(states, start)| states.start = start);
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.iter().map(|states| states.at.bytes()).sum()
    }
}
