//! The ends of a run held by a program: in threads, async tasks, struct fields.

use futures_executor::block_on;
use futures_util::future::{Either, select};
use futures_util::{FutureExt, Stream, StreamExt, TryStreamExt};
use millstream_core::{Arrow, ModelExt, Val, pipeline};
use millstream_exec::{
    Handle, JobExt, JobRefExt, Rings, RunError, Runner, Sender, Through, ThroughExt, ThroughStream, source,
};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The fields that a program keeps.
struct Service {
    sender: Sender<u64>,
    run: Handle<Vec<u64>>,
    iterator: Through<Val<u64>>,
    stream: ThroughStream<Val<u64>>,
}

#[test]
fn struct_fields_can_hold_every_end() {
    let increment = || pipeline::<u64>().map(|x| x + 1);
    let push = |all: &mut Vec<u64>, _, x: &u64| all.push(*x);
    let (sender, receiver) = source::channel(4096);
    let run = Rings::new().start(increment().from(receiver).to_fold(Vec::new(), push)).unwrap();
    let (iterator, stream) = ((0..3).through(increment()), (0..3).through(increment()).stream());
    let Service { sender, run, iterator, stream } = Service { sender, run, iterator, stream };
    sender.send(6).unwrap();
    drop(sender);
    assert_eq!(run.wait().unwrap().0, [7]);
    assert_eq!(iterator.collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(block_on(stream.try_collect::<Vec<_>>()).unwrap(), [1, 2, 3]);
}

/// Feeder and reader are tasks of an executor unaware of the run, on rings of one slot: each waits for the other all
/// the time.
#[test]
fn tasks_feed_and_read_on_any_executor() {
    let p = pipeline::<u64>().map(|x| x * 3).shard(2, |p| p.filter_map(|x| (x % 2 == 0).then_some(*x)));
    for (round, workers) in (0..20).zip([1, 2, 3].into_iter().cycle()) {
        let (sender, receiver) = source::channel(1);
        let output = Rings::new().ring(1).workers(workers).iter((&p).from(receiver)).unwrap();
        let feed = async move {
            for x in 0..500 {
                sender.send_async(x).await.unwrap();
            }
        };
        let feeding = std::thread::spawn(|| block_on(feed));
        let read: Vec<u64> = block_on(output.stream().try_collect()).unwrap();
        assert_eq!(read, p.model(0..500), "round {round}");
        feeding.join().unwrap();
    }
}

#[test]
fn a_cancelled_send_loses_no_value() {
    let (sender, receiver) = source::channel(2);
    let output = Rings::new().ring(2).iter(pipeline::<u64>().from(receiver)).unwrap();
    (0..2).for_each(|x| sender.try_send(x).unwrap());
    let mut stuck = sender.send_async(2);
    let Either::Right(((), _)) = block_on(select(&mut stuck, std::future::ready(()))) else {
        panic!("there was room in a full ring");
    };
    assert_eq!(stuck.take(), Some(2));
    assert_eq!(stuck.take(), None);
    drop(stuck);
    assert_eq!(sender.room().now_or_never(), None);
    let reading = std::thread::spawn(move || output.collect::<Vec<_>>());
    block_on(async {
        sender.room().await.unwrap();
        sender.try_send(3).unwrap();
        sender.send_async(4).await.unwrap();
    });
    drop(sender);
    assert_eq!(reading.join().unwrap(), [0, 1, 3, 4]);
}

#[test]
fn a_send_to_an_ended_run_returns_the_value() {
    let (sender, receiver) = source::channel(1);
    let output = Rings::new().ring(1).iter(pipeline::<u64>().from(receiver)).unwrap();
    sender.try_send(0).unwrap();
    let waiting = std::thread::spawn(move || {
        let sent = block_on(sender.send_async(1)).map_err(|error| error.0);
        (sent, block_on(sender.room()).is_err())
    });
    drop(output);
    assert_eq!(waiting.join().unwrap(), (Err(1), true));
}

#[test]
fn a_failure_comes_out_of_the_stream_once() {
    let mut stream = pin!((0..).through(pipeline::<u64>().map(|x| 10 / (5 - x))).stream());
    block_on(async {
        let mut before = 0;
        let error = loop {
            match stream.next().await.expect("the error comes first") {
                Ok(_) => before += 1,
                Err(error) => break error,
            }
        };
        assert!(before <= 5);
        let RunError::Stage { number, .. } = error else { panic!("{error}") };
        assert_eq!(number.map(|n| n.0), Some(5));
        assert_eq!(stream.next().await, None);
    });
}

/// The reader is gone: the endless source ends, and its thread with it.
#[test]
fn a_stream_that_is_dropped_ends_its_run() {
    for round in 0..20 {
        let (alive, ended) = std::sync::mpsc::channel::<()>();
        let source = std::iter::repeat_with(move || u64::from(alive.send(()).is_err()));
        let mut stream = source.through_on(Rings::new().ring(4), pipeline::<u64>().map(|x| x + 1)).stream();
        if round % 2 == 0 {
            assert_eq!(block_on(stream.next()), Some(Ok(1)));
        } else {
            // Pending, most probably, and its waker stays registered.
            let _ = stream.poll_next_unpin(&mut Context::from_waker(Waker::noop()));
        }
        drop(stream);
        // Returns an error only once the source, and the sender with it, was dropped.
        while ended.recv().is_ok() {}
    }
}

/// The waker of the last poll is woken, even if the stream has moved to another task meanwhile.
#[test]
fn a_stream_wakes_the_task_that_polled_it_last() {
    let (sender, receiver) = source::channel(4096);
    let output = Rings::new().iter(pipeline::<u64>().from(receiver)).unwrap();
    let mut stream = output.stream();
    assert_eq!(pin!(&mut stream).poll_next(&mut Context::from_waker(Waker::noop())), Poll::Pending);
    let reading = std::thread::spawn(move || block_on(stream.next()));
    sender.send(7).unwrap();
    assert_eq!(reading.join().unwrap(), Some(Ok(7)));
}
