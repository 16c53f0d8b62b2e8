use super::cells::Bytes;
use std::collections::VecDeque;

/// States that were taken from workers early, for the next worker without work. It gets one at once, and does not wait
/// for another worker's answer.
#[derive(Debug, Default)]
pub(super) struct Reserve {
    waiting: VecDeque<(u32, Bytes)>,
    /// The encoded states, in order.
    bytes: Vec<u8>,
    /// The number of states that workers were asked for and have not returned.
    pub(super) promised: usize,
    /// The number of times in this round that a worker had nothing to do.
    pub(super) needed: usize,
}

/// The initial capacity in bytes.
const USUAL: usize = 4 << 10;

impl Reserve {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Reserves room for this many states.
    pub(super) fn reserve(&mut self, states: usize) {
        self.waiting.reserve(states.saturating_sub(self.waiting.len()));
        self.bytes.reserve(USUAL.saturating_sub(self.bytes.len()));
    }

    pub(super) fn put(&mut self, cell: u32, state: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(state);
        self.waiting.push_back((cell, start..self.bytes.len()));
    }

    /// Takes the oldest state. Its bytes must be read by `state` before the next `put`.
    pub(super) fn take(&mut self) -> Option<(u32, Bytes)> {
        self.shrink();
        self.waiting.pop_front()
    }

    pub(super) fn state(&self, bytes: Bytes) -> &[u8] {
        &self.bytes[bytes]
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.bytes.clear();
    }

    /// Drops the bytes of taken states once they outnumber those of the states still here. On average each byte moves
    /// at most once.
    fn shrink(&mut self) {
        let gone = self.waiting.front().map_or(self.bytes.len(), |(_, state)| state.start);
        if gone * 2 >= self.bytes.len() {
            self.bytes.drain(..gone);
            for (_, state) in &mut self.waiting {
                *state = state.start - gone..state.end - gone;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_reserve_is_a_queue_of_bounded_memory(
            steps in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..50)), 0..200),
        ) {
            let (mut reserve, mut model) = (Reserve::default(), VecDeque::new());
            for (step, number) in steps.into_iter().zip(0..) {
                match step {
                    Some(state) => {
                        reserve.put(number, &state);
                        model.push_back((number, state));
                    }
                    None => {
                        let taken = reserve.take().map(|(cell, bytes)| (cell, reserve.state(bytes).to_vec()));
                        let kept: usize = model.iter().map(|(_, state)| state.len()).sum();
                        prop_assert!(reserve.bytes.len() <= 2 * kept, "{} bytes for {kept}", reserve.bytes.len());
                        prop_assert_eq!(taken, model.pop_front());
                    }
                }
                prop_assert_eq!(reserve.len(), model.len());
            }
        }
    }
}
