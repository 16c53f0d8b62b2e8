//! How often the tasklets after the source have moved something, for a source that is asked last: on the calling thread
//! a source that waits would keep from the sink what the others still have.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A source that is asked last takes this many steps without a value, if other tasklets had work and moved nothing.
const PATIENCE: u32 = 64;

/// The counts of a run. One thread stores them.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    wanted: AtomicBool,
    moved: AtomicU64,
    worked: AtomicU64,
}

impl Moves {
    /// A source asks for the counts from now on.
    pub(crate) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// A tasklet other than the source has moved something, or had other work.
    #[inline]
    pub(crate) fn note(&self, moved: bool) {
        if self.wanted.load(Ordering::Relaxed) {
            let count = if moved { &self.moved } else { &self.worked };
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}

/// What a source that is asked last has seen of them.
#[derive(Debug)]
pub(crate) struct SeenMoves {
    moved: u64,
    worked: u64,
    patience: u32,
}

impl SeenMoves {
    pub(crate) fn new() -> Self {
        SeenMoves { moved: 0, worked: 0, patience: PATIENCE }
    }

    /// Whether the others have done something since the last look, and so may have more to do.
    pub(crate) fn changed(&mut self, moves: &Moves) -> bool {
        let (moved, worked) = (moves.moved.load(Ordering::Relaxed), moves.worked.load(Ordering::Relaxed));
        let (before, worked_before) = (self.moved, self.worked);
        (self.moved, self.worked) = (moved, worked);
        if moved != before {
            self.patience = PATIENCE;
            return true;
        }
        if worked == worked_before || self.patience == 0 {
            return false;
        }
        self.patience -= 1;
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn work_that_moves_nothing_is_awaited_for_some_time() {
        let (moves, mut seen) = (Moves::default(), SeenMoves::new());
        moves.note(true);
        assert!(!seen.changed(&moves), "no source asks");
        moves.want();
        for _ in 0..2 {
            moves.note(true);
            assert!(seen.changed(&moves) && !seen.changed(&moves));
            for _ in 0..PATIENCE {
                moves.note(false);
                assert!(seen.changed(&moves));
            }
            moves.note(false);
            assert!(!seen.changed(&moves));
        }
    }
}
