//! Requests that a caller leaves to another one.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use millstream_exec::Baton;

/// As a caller of a service: what is published is done by this thread, or by the one that holds the baton.
fn publish_and_work(baton: &Baton, published: &AtomicUsize, done: &AtomicUsize) {
    published.fetch_add(1, Ordering::Relaxed);
    if baton.take() {
        loop {
            let held = baton.held();
            // Only the holder stores it: two holders at a time would lose some.
            let seen = published.swap(0, Ordering::Relaxed);
            done.store(done.load(Ordering::Relaxed) + seen, Ordering::Relaxed);
            if baton.pass(held) {
                break;
            }
        }
    }
}

#[test]
fn a_request_that_is_left_to_the_holder_of_a_baton_is_done() {
    loom::model(|| {
        let baton = Arc::new(Baton::new());
        let [published, done] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let others = [(); 2].map(|()| {
            let (baton, published, done) = (baton.clone(), published.clone(), done.clone());
            thread::spawn(move || publish_and_work(&baton, &published, &done))
        });
        publish_and_work(&baton, &published, &done);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!((published.load(Ordering::Relaxed), done.load(Ordering::Relaxed)), (0, 3));
    });
}
