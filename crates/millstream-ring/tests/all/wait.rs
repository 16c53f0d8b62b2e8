//! Waiting for a number: `Reader::wait_for`.

use millstream_core::{Dense, SequenceNumber as N, Val};
use millstream_ring::{IdleStrategy, Reader, WaitError, ring, run_writers};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const STRATEGIES: [IdleStrategy; 3] = [IdleStrategy::BusySpin, IdleStrategy::Yielding, IdleStrategy::Sleeping];
/// Never passes: a number that is never published makes the test hang, and the watchdog ends it.
const FOREVER: Duration = Duration::MAX;

/// Runs `f`, or panics if it has not ended in a minute.
fn watched<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = mpsc::channel();
    let running = thread::spawn(move || {
        let result = f();
        let _ = done.send(());
        result
    });
    if ended.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("it waits for ever");
    }
    running.join().unwrap()
}

fn next<F: millstream_ring::RingLayout>(reader: &mut Reader<F>, idle: IdleStrategy) -> Result<N, WaitError> {
    reader.wait_for(reader.position(), FOREVER, idle)
}

#[test]
fn the_producers_position_is_returned_if_it_is_ahead() {
    for idle in STRATEGIES {
        let (mut producer, mut reader) = ring::<u64, Dense>(8).unwrap();
        producer.fill(5, |i| i as u64).unwrap();
        for n in 0..5 {
            assert_eq!(reader.wait_for(N(n), Duration::ZERO, idle), Ok(N(5)), "no time is needed");
        }
        assert_eq!(reader.position(), N(0), "it keeps its position");
        assert_eq!(reader.batch(9).unwrap().len(), 5);
        assert_eq!(reader.wait_for(N(2), Duration::ZERO, idle), Ok(N(5)), "a number that was read is published, too");
        assert_eq!(reader.wait_for(N(5), Duration::ZERO, idle), Err(WaitError::TimedOut));
    }
}

#[test]
fn a_wait_ends_with_its_time() {
    for idle in STRATEGIES {
        let (_producer, mut reader) = ring::<u64, Dense>(8).unwrap();
        let timed_out = watched(move || reader.wait_for(N(0), Duration::from_millis(5), idle));
        assert_eq!(timed_out, Err(WaitError::TimedOut));
    }
    assert_eq!(WaitError::TimedOut.to_string(), "the number was not published in time");
}

#[test]
fn a_reader_that_waits_sees_every_number_and_end() {
    for idle in STRATEGIES {
        let (mut producer, mut reader) = ring::<u64, Dense>(2).unwrap();
        let writing = thread::spawn(move || {
            for n in 0..300 {
                while producer.fill(1, |_| n) == Ok(0) {
                    thread::yield_now();
                }
            }
            while producer.try_end(None).is_err() {}
        });
        let read = watched(move || {
            let mut read = Vec::new();
            loop {
                let position = next(&mut reader, idle).expect("END is waited for like the others");
                assert!(position > reader.position());
                if let Some(end) = reader.end() {
                    break assert_eq!(end.number(), N(300));
                }
                read.extend(reader.batch(9).expect("it was published").iter().flatten().copied());
            }
            assert_eq!(reader.wait_for(N(301), FOREVER, idle), Err(WaitError::Ended(N(300))));
            read
        });
        assert_eq!(read, (0..300).collect::<Vec<_>>());
        writing.join().unwrap();
    }
}

#[test]
fn a_wait_for_a_number_after_end_ends_with_it() {
    let (mut producer, mut reader) = ring::<u64, Dense>(4).unwrap();
    let (started, ready) = mpsc::channel();
    let waiting = thread::spawn(move || {
        started.send(()).unwrap();
        (reader.wait_for(N(7), FOREVER, IdleStrategy::default()), reader)
    });
    ready.recv().unwrap();
    producer.fill(2, |i| i as u64).unwrap();
    producer.try_end(None).unwrap();
    let (ended, mut reader) = watched(move || waiting.join().unwrap());
    assert_eq!(ended, Err(WaitError::Ended(N(2))));
    assert_eq!(reader.wait_for(N(2), Duration::ZERO, IdleStrategy::default()), Ok(N(3)), "END is a number");
    assert_eq!(WaitError::Ended(N(2)).to_string(), "the stream ends at number 2");
}

#[test]
fn a_join_waits_for_its_slower_ring_and_a_group_for_its_run_writers() {
    let (mut first, one) = ring::<u64, Dense>(4).unwrap();
    let (mut second, other) = ring::<u64, Dense>(4).unwrap();
    let mut both = one.zip(other);
    first.fill(3, |i| i as u64).unwrap();
    second.fill(1, |i| i as u64).unwrap();
    let now = |reader: &mut Reader<_>, n| reader.wait_for(N(n), Duration::ZERO, IdleStrategy::BusySpin);
    assert_eq!([now(&mut both, 0), now(&mut both, 1)], [Ok(N(1)), Err(WaitError::TimedOut)]);

    let (mut writers, mut output): (Vec<_>, Reader<Val<u64>>) = run_writers::<_, u64, Dense>(both, 2, 4).unwrap();
    assert_eq!(output.wait_for(N(0), Duration::ZERO, IdleStrategy::Yielding), Err(WaitError::TimedOut));
    writers[0].fill(4, |pair| pair.map_or(0, |(a, b)| a + b));
    assert_eq!(output.wait_for(N(0), Duration::ZERO, IdleStrategy::Yielding), Ok(N(1)));
}
