//! How long the output was silent.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

pub(super) struct Watch {
    ends: Arc<AtomicBool>,
    begun: Instant,
    longest: JoinHandle<Duration>,
}

impl Watch {
    /// Watches a file grow, from its first byte on.
    pub(super) fn start(file: PathBuf) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let longest = {
            let ends = ends.clone();
            thread::spawn(move || {
                let (mut grown, mut size, mut longest) = (Instant::now(), 0, Duration::ZERO);
                while !ends.load(Ordering::Relaxed) {
                    let now = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
                    if now > size {
                        if size > 0 {
                            longest = longest.max(grown.elapsed());
                        }
                        (grown, size) = (Instant::now(), now);
                    }
                    sleep(Duration::from_millis(10));
                }
                longest
            })
        };
        Watch { ends, begun: Instant::now(), longest }
    }

    /// How long it took, and the longest time in which the file did not grow, in seconds.
    pub(super) fn end(self) -> (f64, f64) {
        let took = self.begun.elapsed();
        self.ends.store(true, Ordering::Relaxed);
        let longest = self.longest.join().unwrap_or_default();
        (took.as_secs_f64(), longest.as_secs_f64())
    }
}
