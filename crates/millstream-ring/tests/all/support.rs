//! The common part of the ring's tests: values that count their drops, and one body for each oracle, run by proptest
//! (`oracle.rs`) and by miri (`miri.rs`).

pub(crate) mod composite;
pub(crate) mod groups;
pub(crate) mod keyed;
pub(crate) mod lanes;
pub(crate) mod moving;
pub(crate) mod one_ring;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// One operation: what, with which, how much. Every body interprets it in its own way, so that any bytes are a program.
pub(crate) type Op = [u8; 3];

/// The values that are alive: their numbers, in the order of their creation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    alive: Arc<Mutex<(usize, BTreeMap<usize, u64>)>>,
}

impl Tally {
    pub(crate) fn value(&self, number: u64) -> Counted {
        let mut alive = self.alive.lock().unwrap();
        alive.0 += 1;
        let id = alive.0;
        alive.1.insert(id, number);
        Counted { number, id, tally: self.clone() }
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.alive.lock().unwrap().1.values().copied().collect()
    }
}

/// A value that detects a second drop; [`Tally`] detects a missing one.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) number: u64,
    id: usize,
    tally: Tally,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let number = self.tally.alive.lock().unwrap().1.remove(&self.id);
        assert_eq!(number, Some(self.number), "dropped twice, or never a value");
    }
}

/// Runs `f`, which must panic.
pub(crate) fn must_panic<R>(f: impl FnOnce() -> R) {
    struct Meant;
    let ended = catch_unwind(AssertUnwindSafe(|| {
        drop(f());
        std::panic::resume_unwind(Box::new(Meant));
    }));
    assert!(!ended.unwrap_err().is::<Meant>(), "it did not panic");
}

/// A panic that prints nothing.
pub(crate) fn quietly_panic() -> ! {
    std::panic::resume_unwind(Box::new("meant to panic"))
}
