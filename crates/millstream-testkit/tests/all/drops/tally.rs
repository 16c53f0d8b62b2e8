use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often each value was dropped, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(Arc<Mutex<Vec<u32>>>);

/// A value that counts its drops.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) number: u64,
    id: usize,
    tally: Tally,
}

impl Tally {
    pub(crate) fn count(&self, number: u64) -> Counted {
        let mut drops = self.0.lock().unwrap();
        drops.push(0);
        Counted { number, id: drops.len() - 1, tally: self.clone() }
    }

    pub(crate) fn made(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn alive(&self) -> usize {
        self.0.lock().unwrap().iter().filter(|drops| **drops == 0).count()
    }

    /// Waits until at most `alive` values are alive. Returns false if they stay alive. The source's thread may be the
    /// last to drop its values, after the run has ended.
    pub(crate) fn falls_to(&self, alive: usize) -> bool {
        let start = Instant::now();
        while self.alive() > alive {
            if start.elapsed() > Duration::from_secs(30) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Asserts that every value was dropped exactly once.
    pub(crate) fn assert_all_dropped_once(&self, what: &str) {
        assert!(self.falls_to(0), "{what}: {} of {} values were never dropped", self.alive(), self.made());
        assert!(self.0.lock().unwrap().iter().all(|drops| *drops == 1), "{what}: a value was dropped twice");
    }
}

impl Counted {
    pub(crate) fn next(&self) -> Counted {
        self.tally.count(self.number + 1)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.tally.0.lock().unwrap()[self.id] += 1;
    }
}
