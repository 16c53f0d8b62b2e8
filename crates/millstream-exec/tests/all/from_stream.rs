//! Async streams as sources.

use futures_util::{StreamExt, stream};
use millstream_core::{Arrow, FoldExt, Model, pipeline};
use millstream_exec::{Inline, JobExt, Queues, Rings, RunError, Runner, source};
use std::sync::mpsc::channel;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_stream_feeds_every_deployment() {
    let pages = || source::from_stream(stream::iter(0..40_u64).then(async |n| n * 2));
    let expected: Result<Vec<u64>, RunError> = Ok((0..40).map(|n| n * 2).collect());
    assert_eq!(Model.collect(pipeline().from(pages())), expected);
    assert_eq!(Inline::default().collect(pipeline().from(pages())), expected);
    assert_eq!(Queues::new().collect(pipeline().from(pages())), expected);
    for workers in 1..=3 {
        let rings = Rings::new().ring(2).workers(workers);
        assert_eq!(rings.collect(pipeline().from(pages())), expected, "{workers} workers");
    }
}

/// The stream is pending until another thread wakes it, value by value.
#[test]
fn a_stream_that_waits_is_woken_for_each_value() {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let pages = source::from_stream(stream::unfold(receiver, async |mut receiver| {
        receiver.recv().await.map(|value: u64| (value, receiver))
    }));
    let mut out = Rings::new().iter(pipeline().map(|x| x + 1).from(pages)).unwrap();
    for n in 0..50 {
        sender.blocking_send(n).unwrap();
        assert_eq!(out.next(), Some(n + 1));
    }
    drop(sender);
    assert_eq!(out.next(), None);
}

/// A stream that is pending for ever, and the receiver that notices its drop.
fn pending() -> (impl futures_core::Stream<Item = u64> + Send + 'static, std::sync::mpsc::Receiver<()>) {
    let (held, dropped) = channel::<()>();
    let values = stream::iter([7]).chain(stream::pending()).map(move |value| {
        let _ = &held;
        value
    });
    (values, dropped)
}

#[test]
fn a_run_that_ends_drops_a_stream_that_waits() {
    let (values, dropped) = pending();
    let mut out = Rings::new().iter(pipeline::<u64>().from(source::from_stream(values))).unwrap();
    assert_eq!(out.next(), Some(7));
    drop(out);
    assert!(dropped.recv().is_err());

    let (values, dropped) = pending();
    let (seen, sees) = channel();
    let job = pipeline().from(source::from_stream(values)).to_each(move |_, n: &u64| seen.send(*n).unwrap());
    let run = Queues::new().start(job).unwrap();
    assert_eq!(sees.recv(), Ok(7));
    run.drain(Duration::from_secs(60)).unwrap();
    assert!(dropped.recv().is_err());

    let (values, dropped) = pending();
    let timed = source::timeout(source::debounce(source::from_stream(values), Duration::ZERO), HOUR);
    let mut out = Rings::new().iter(pipeline().from(timed)).unwrap();
    assert_eq!(out.next(), Some(Ok(7)));
    drop(out);
    assert!(dropped.recv().is_err());
}

#[test]
fn a_stream_that_panics_fails_the_run_at_its_number() {
    let pages = source::from_stream(stream::iter(0..3_u64).inspect(|n| assert!(*n < 2, "page {n} is torn")));
    let error = pipeline::<u64>().count().from(pages);
    let error = Rings::new().collect(error).unwrap_err().to_string();
    assert_eq!(error, "stage \"source\", number 2: panicked: page 2 is torn");
}

/// Timers need a runtime, which the source finds with the feature `tokio`.
#[cfg(feature = "tokio")]
#[test]
fn a_stream_of_timers_has_a_runtime() {
    let timers = || {
        source::from_stream(stream::iter(0..5_u64).then(async |n| {
            tokio::time::sleep(Duration::from_millis(1)).await;
            n
        }))
    };
    assert_eq!(Rings::new().collect(pipeline().from(timers())), Ok(vec![0, 1, 2, 3, 4]));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let run = async { tokio::task::spawn_blocking(move || Rings::new().collect(pipeline().from(timers()))).await };
    assert_eq!(runtime.block_on(run).unwrap(), Ok(vec![0, 1, 2, 3, 4]));
}
