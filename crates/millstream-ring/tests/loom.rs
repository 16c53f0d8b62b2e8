//! Every interleaving of small programs, up to the preemptions that `LOOM_MAX_PREEMPTIONS` allows.
//!
//! Loom detects a value that is read while it is written, a value that is dropped while it is read, and a program that
//! hangs. The programs detect a number that is repeated, out of order or missing. They have a binary of their own,
//! since it is built with `--cfg loom`.
#![cfg(loom)]

#[path = "loom/groups.rs"]
mod groups;
#[path = "loom/keyed.rs"]
mod keyed;
#[path = "loom/lanes.rs"]
mod lanes;
#[path = "loom/moving.rs"]
mod moving;
#[path = "loom/views.rs"]
mod views;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread::{spawn, yield_now};
use millstream_core::{Dense, SequenceNumber, Sparse, Val};
use millstream_ring::{
    Batch, IdleStrategy, Mark, MarkKind, Producer, Reader, RingLayout, WaitError, Wiring, ring, run_writers,
};

/// The values alive, counted by an atomic of loom's.
#[derive(Clone)]
struct Alive(Arc<AtomicUsize>);

struct Value {
    number: Box<u64>,
    alive: Alive,
}

impl Alive {
    fn new() -> Self {
        Alive(Arc::new(AtomicUsize::new(0)))
    }

    fn value(&self, number: u64) -> Value {
        self.0.fetch_add(1, Ordering::Relaxed);
        Value { number: Box::new(number), alive: self.clone() }
    }

    fn none(&self) {
        assert_eq!(self.0.load(Ordering::Relaxed), 0, "values are left");
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.alive.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Publishes `make` of the next number, when there is room.
fn publish<S: Send + Sync + 'static>(producer: &mut Producer<S>, make: impl Fn(u64) -> S) {
    loop {
        let n = producer.next().0;
        if let Some(mut claim) = producer.try_claim(1).unwrap() {
            claim.write(make(n));
            return claim.publish();
        }
        yield_now();
    }
}

fn end<S: Send + Sync + 'static>(producer: &mut Producer<S>) {
    assert!(producer.try_end(None).is_ok());
}

fn numbers<F: RingLayout>(batch: &Batch<'_, F>, show: impl Fn(F::Ref<'_>) -> u64) {
    for (n, value) in (batch.first().0..).zip(batch.iter()) {
        assert_eq!(value.map(&show), Some(n));
    }
}

/// Reads until it needs `upto`.
fn read<F: RingLayout>(reader: &mut Reader<F>, upto: u64, show: impl Fn(F::Ref<'_>) -> u64 + Copy) {
    while reader.position().0 < upto {
        let max = (upto - reader.position().0) as usize;
        match reader.batch(max) {
            Some(batch) => numbers(&batch, show),
            None => yield_now(),
        }
    }
}

/// Reads to END, which must be number `length`.
fn read_to_end<F: RingLayout>(reader: &mut Reader<F>, length: u64, show: impl Fn(F::Ref<'_>) -> u64 + Copy) {
    read(reader, length, show);
    loop {
        assert!(reader.batch(1).is_none(), "a batch does not lend END");
        if let Some(end) = reader.end() {
            return assert_eq!(end.number().0, length);
        }
        yield_now();
    }
}

/// Looks for published slots a few times. With three threads none of them waits: loom would try every order of waiting.
fn look<F: RingLayout>(reader: &mut Reader<F>, times: usize, show: impl Fn(F::Ref<'_>) -> u64 + Copy) {
    for _ in 0..times {
        if let Some(batch) = reader.batch(2) {
            numbers(&batch, show);
        }
    }
}

/// Publishes the next number if there is room.
fn try_publish<S: Send + Sync + 'static>(producer: &mut Producer<S>, make: impl Fn(u64) -> S) {
    let n = producer.next().0;
    if let Some(mut claim) = producer.try_claim(1).unwrap() {
        claim.write(make(n));
        claim.publish();
    }
}

fn plain(value: &u64) -> u64 {
    *value
}

fn boxed(value: &Value) -> u64 {
    *value.number
}

fn a_producer_and_a_reader(capacity: usize, count: u64) {
    loom::model(move || {
        let (mut producer, mut reader) = ring::<u64, Dense>(capacity).unwrap();
        let writing = spawn(move || (0..count).for_each(|_| publish(&mut producer, |n| n)));
        read(&mut reader, count, plain);
        writing.join().unwrap();
    });
}

/// Lays a mark while a writer looks for one: what it passes is on its output. A mark that was laid between its copy and
/// its pass was passed alone, and the later stages waited for it for ever.
fn passes_what_it_has_copied(
    mut producer: Producer<u64>,
    pass: impl FnOnce() -> Option<Mark>,
    output: &mut Reader<Val<u64>>,
) {
    let laying = spawn(move || {
        producer.mark(42, MarkKind::Cut);
        producer
    });
    if pass().is_some() {
        assert!(output.mark().is_some(), "it is passed and not copied");
    }
    laying.join().unwrap();
}

#[test]
fn one_slot() {
    a_producer_and_a_reader(1, 3);
}

#[test]
fn two_slots() {
    a_producer_and_a_reader(2, 4);
}

#[test]
fn a_batch_of_two_is_published_at_once() {
    loom::model(|| {
        let (mut producer, mut reader) = ring::<u64, Dense>(2).unwrap();
        let writing = spawn(move || {
            let mut claim = producer.try_claim(2).unwrap().unwrap();
            claim.fill(2, |i| i as u64);
            claim.publish();
            publish(&mut producer, |n| n);
        });
        loop {
            if let Some(batch) = reader.batch(2) {
                assert_eq!(batch.len(), 2);
                numbers(&batch, plain);
                break;
            }
            yield_now();
        }
        read(&mut reader, 3, plain);
        writing.join().unwrap();
    });
}

#[test]
fn values_are_dropped_by_the_producer() {
    loom::model(|| {
        let alive = Alive::new();
        let (mut producer, mut reader) = ring::<Value, Dense>(1).unwrap();
        let made = alive.clone();
        let writing = spawn(move || {
            for _ in 0..2 {
                publish(&mut producer, |n| made.value(n));
            }
            producer.sweep();
        });
        read(&mut reader, 1, boxed);
        drop(reader);
        writing.join().unwrap();
        alive.none();
    });
}

#[test]
fn a_sweeper_apart_drops_them() {
    loom::model(|| {
        let alive = Alive::new();
        let (mut producer, mut reader) = ring::<Value, Dense>(1).unwrap();
        let mut sweeper = producer.sweep_apart().unwrap();
        let made = alive.clone();
        publish(&mut producer, |n| made.value(n));
        let sweeping = spawn(move || {
            sweeper.sweep();
        });
        let writing = spawn(move || try_publish(&mut producer, |n| made.value(n)));
        look(&mut reader, 2, boxed);
        sweeping.join().unwrap();
        writing.join().unwrap();
        drop(reader);
        alive.none();
    });
}

#[test]
fn two_readers_gate() {
    loom::model(|| {
        let wiring = Wiring::<u64, Dense>::new(1).unwrap();
        let (mut a, mut b) = (wiring.reader(), wiring.reader());
        let mut producer = wiring.start();
        publish(&mut producer, |n| n);
        let first = spawn(move || look(&mut a, 1, plain));
        let second = spawn(move || look(&mut b, 2, plain));
        try_publish(&mut producer, |n| n);
        first.join().unwrap();
        second.join().unwrap();
        publish(&mut producer, |n| n);
    });
}

#[test]
fn a_fork_while_the_producer_runs() {
    loom::model(|| {
        let (mut producer, mut reader) = ring::<u64, Dense>(1).unwrap();
        let writing = spawn(move || (0..3).for_each(|_| publish(&mut producer, |n| n)));
        read(&mut reader, 1, plain);
        let mut fork = reader.fork();
        read(&mut reader, 2, plain);
        drop(reader);
        read(&mut fork, 3, plain);
        writing.join().unwrap();
    });
}

#[test]
fn a_fork_of_a_fork_on_another_thread() {
    loom::model(|| {
        let alive = Alive::new();
        let (mut producer, mut reader) = ring::<Value, Dense>(1).unwrap();
        publish(&mut producer, |n| alive.value(n));
        let fork = reader.fork();
        let reading = spawn(move || look(&mut reader, 1, boxed));
        let other = spawn(move || {
            let mut again = fork.fork();
            drop(fork);
            look(&mut again, 1, boxed);
        });
        try_publish(&mut producer, |n| alive.value(n));
        reading.join().unwrap();
        other.join().unwrap();
        drop(producer);
        alive.none();
    });
}

#[test]
fn end_is_known_with_the_cursor_beyond_it() {
    loom::model(|| {
        let (mut producer, mut reader) = ring::<u64, Dense>(2).unwrap();
        let writing = spawn(move || {
            publish(&mut producer, |n| n);
            end(&mut producer);
        });
        read_to_end(&mut reader, 1, plain);
        assert!(reader.ended());
        writing.join().unwrap();
    });
}

#[test]
fn ends_value_is_seen_with_end() {
    loom::model(|| {
        let (mut producer, mut reader) = ring::<u64, Sparse>(1).unwrap();
        let writing = spawn(move || {
            publish(&mut producer, Some);
            while producer.try_end(Some(Some(7))).is_err() {
                yield_now();
            }
        });
        read(&mut reader, 1, plain);
        loop {
            if let Some(end) = reader.end() {
                assert_eq!(end.value(), Some(&7));
                break;
            }
            yield_now();
        }
        writing.join().unwrap();
    });
}

#[test]
fn a_mark_is_seen_at_its_number() {
    loom::model(|| {
        let (mut producer, mut reader) = ring::<u64, Dense>(2).unwrap();
        let writing = spawn(move || {
            publish(&mut producer, |n| n);
            producer.mark(42, MarkKind::Snapshot);
            publish(&mut producer, |n| n);
        });
        loop {
            if let Some(batch) = reader.batch(2) {
                assert_eq!(batch.len(), 1, "a batch ends at a mark");
                break;
            }
            yield_now();
        }
        read(&mut reader, 2, plain);
        writing.join().unwrap();
    });
}

#[test]
fn a_group_that_retires_claims_no_number_after_the_mark() {
    loom::model(|| {
        let (mut producer, reader) = ring::<u64, Dense>(2).unwrap();
        let (writers, _output) = run_writers::<_, u64, Dense>(reader, 2, 2).unwrap();
        let [mut one, mut other] = <[_; 2]>::try_from(writers).unwrap_or_else(|_| unreachable!("there are two"));
        let writing = spawn(move || {
            publish(&mut producer, |n| n);
            producer.mark(42, MarkKind::Retire);
            publish(&mut producer, |n| n);
        });
        let work = spawn(move || other.fill(2, |value| *value.unwrap()));
        one.fill(2, |value| *value.unwrap());
        work.join().unwrap();
        writing.join().unwrap();
        while one.fill(2, |value| *value.unwrap()) > 0 {}
        assert_eq!(one.taken().0, 1);
    });
}

#[test]
fn a_pair_of_rings() {
    loom::model(|| {
        let (mut p, a) = ring::<u64, Dense>(1).unwrap();
        let (mut q, b) = ring::<u64, Dense>(2).unwrap();
        let first = spawn(move || {
            (0..2).for_each(|_| publish(&mut p, |n| n));
            end(&mut p);
        });
        let mut pair = a.zip(b);
        (0..2).for_each(|_| publish(&mut q, |n| n));
        end(&mut q);
        read_to_end(&mut pair, 2, |(a, b)| {
            assert_eq!(a, b);
            *a
        });
        first.join().unwrap();
    });
}

#[test]
fn a_wait_ends_with_the_number_or_with_end() {
    loom::model(|| {
        let (mut producer, mut reader) = ring::<u64, Dense>(2).unwrap();
        let waiting = spawn(move || {
            let idle = IdleStrategy::Yielding;
            let mut wait = |n| reader.wait_for(SequenceNumber(n), std::time::Duration::MAX, idle);
            let position = wait(0).unwrap();
            assert_eq!(wait(3), Err(WaitError::Ended(SequenceNumber(1))));
            assert_eq!(wait(1), Ok(SequenceNumber(2)));
            assert!((1..=2).contains(&position.0));
            read_to_end(&mut reader, 1, plain);
        });
        publish(&mut producer, |n| n);
        end(&mut producer);
        waiting.join().unwrap();
    });
}
