//! Values that a source's thread keeps while it runs the stages.

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use millstream_exec::Lead;
use millstream_ring::spsc::{Receiver, Sent, ring};

/// Takes what is kept, and counts it.
fn look(kept: &Mutex<Receiver<u64>>, seen: &AtomicUsize) {
    let taken = kept.lock().unwrap().take(1).count();
    seen.fetch_add(taken, Ordering::Relaxed);
}

#[test]
fn a_value_that_is_kept_is_seen_by_the_thread_or_by_the_worker_that_ends_its_lead() {
    loom::model(|| {
        let (mut sender, receiver) = ring(1).unwrap();
        let (lead, kept, seen) = (Arc::new(Lead::new()), Arc::new(Mutex::new(receiver)), Arc::new(AtomicUsize::new(0)));
        lead.take();
        let source = {
            let (lead, kept, seen) = (lead.clone(), kept.clone(), seen.clone());
            thread::spawn(move || {
                assert_eq!(sender.give(&mut [7].into_iter(), 1), Sent::Some(1));
                if !lead.is_still_taken() {
                    look(&kept, &seen);
                }
                sender
            })
        };
        lead.end();
        look(&kept, &seen);
        drop(source.join().unwrap());
        assert_eq!(seen.load(Ordering::Relaxed), 1);
    });
}
