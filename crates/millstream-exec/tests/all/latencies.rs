//! Latencies of values that are published many at a time.

use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobRefExt, Observer, Rings, Runner, StagesOn, source};
use millstream_testkit::within;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Asks for a marker, publishes values, and waits until the sink has passed the marker.
fn marked(observer: &Observer, publish: impl FnOnce()) {
    let (sink, marker) = (observer.plan().stages.len(), observer.noted());
    observer.note();
    publish();
    while observer.passed(sink) <= marker {
        std::thread::yield_now();
    }
    assert!(observer.passed_at(sink, marker).is_some());
}

fn observed(on: StagesOn) -> Rings {
    Rings::new().ring(256).workers(1).observe(true).stages_on(on)
}

#[test]
fn values_that_are_sent_together_have_latencies() {
    within(LONG, || {
        let p = pipeline::<u64>().map(|x| x + 1);
        let (sender, receiver) = source::channel(64);
        let run = observed(StagesOn::Workers).start((&p).from(receiver).to_each(|_, _| ())).unwrap();
        let observer = run.observer();
        for _ in 0..10 {
            marked(&observer, || sender.send_all(0..100).unwrap());
            marked(&observer, || sender.send_vec((0..10).collect()).unwrap());
        }
        drop(sender);
        run.wait().unwrap();
    })
    .unwrap();
}

#[test]
fn batches_have_latencies() {
    within(LONG, || {
        for on in [StagesOn::Source, StagesOn::Workers] {
            let p = pipeline::<u64>().map(|x| x + 1);
            let (sender, receiver) = source::channel(64);
            let run = observed(on).start((&p).from(receiver).to_each(|_, _| ())).unwrap();
            let (observer, mut batches) = (run.observer(), run.batches(sender));
            for _ in 0..10 {
                marked(&observer, || _ = batches.send((0..20).collect()).and_then(|mark| batches.passed(mark)));
            }
            drop(batches);
            run.wait().unwrap();
        }
    })
    .unwrap();
}

#[test]
fn gathered_values_have_latencies() {
    within(LONG, || {
        let own: Arc<OnceLock<Observer>> = Arc::default();
        let asks = own.clone();
        // Its thread runs the stages long before it asks for markers.
        let source = (0..20_000_u64).inspect(move |x| {
            if x % 1000 == 999 {
                asks.wait().note();
            }
        });
        let p = pipeline::<u64>().map(|x| x + 1);
        let run = observed(StagesOn::Source).start((&p).from(source).to_each(|_, _| ())).unwrap();
        let observer = own.get_or_init(|| run.observer());
        run.wait().unwrap();
        // One is asked for at the beginning, and the last one with the last value.
        assert_eq!((observer.noted(), observer.passed(observer.plan().stages.len())), (21, 21));
    })
    .unwrap();
}
