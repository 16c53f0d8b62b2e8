//! disruptor-rs: one ring of events, a thread for each handler, no copies.

use crate::cores::{on_core, processor_of};
use crate::work;
use disruptor::wait_strategies::WaitStrategy;
use disruptor::{BusySpin, ProcessorSettings, Producer, build_single_producer};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

/// The wait strategy that a careful user writes if threads outnumber cores: the crate's own strategies spin or sleep.
#[derive(Clone, Copy)]
struct Yielding;

impl WaitStrategy for Yielding {
    #[inline]
    fn wait_for(&self, _: i64) {
        thread::yield_now();
    }
}

/// Two threads on a core each, so spinning delays no other thread. A batch is a sixteenth of the ring, as rtrb's chunks
/// are, or 64 if that is more.
pub(crate) fn hop(items: u64, size: usize) -> u64 {
    let answer = Arc::new(AtomicU64::new(0));
    let (out, mut sum) = (answer.clone(), 0_u64);
    let mut producer = build_single_producer(size, || 0_u64, BusySpin)
        .pin_at_core(processor_of(1).map_or(1, |processor| processor.id))
        .handle_events_with(move |x: &u64, sequence: i64, _: bool| {
            sum = sum.wrapping_add(*x);
            if sequence as u64 == items - 1 {
                out.store(sum, Relaxed);
            }
        })
        .build();
    let batch = (size as u64 / 16).max(64);
    on_core(0, move || publish(&mut producer, items, batch, false, |slot, x| *slot = x));
    answer.load(Relaxed)
}

struct Parity {
    x: u64,
    even: AtomicBool,
}

pub(crate) fn zip2(items: u64, size: usize) -> u64 {
    let answer = Arc::new(AtomicU64::new(0));
    let (out, mut sum) = (answer.clone(), 0_u64);
    let mut producer = build_single_producer(size, || Parity { x: 0, even: AtomicBool::new(false) }, Yielding)
        .handle_events_with(|event: &Parity, _, _| {
            black_box(event.x);
        })
        .handle_events_with(|event: &Parity, _, _| event.even.store(work::is_even(event.x), Relaxed))
        .and_then()
        .handle_events_with(move |event: &Parity, sequence: i64, _| {
            sum = sum.wrapping_add(work::if_even(event.x, event.even.load(Relaxed)));
            if sequence as u64 == items - 1 {
                out.store(sum, Relaxed);
            }
        })
        .build();
    publish(&mut producer, items, 1024, true, |event, x| event.x = x);
    drop(producer);
    answer.load(Relaxed)
}

/// Adds ten handlers, each with its own index.
macro_rules! ten {
    ($builder:expr, $handle:expr) => {
        ten!($builder, $handle, 0 1 2 3 4 5 6 7 8 9)
    };
    ($builder:expr, $handle:expr, $($i:literal)*) => {
        $builder$(.handle_events_with(move |event, _, _| $handle($i, event)))*
    };
}

/// Every handler reads the number, and so does the sink.
pub(crate) fn zip10(items: u64, size: usize) -> u64 {
    let answer = Arc::new(AtomicU64::new(0));
    let (out, mut seen) = (answer.clone(), work::Seen::default());
    let look = |_: usize, x: &u64| {
        black_box(*x);
    };
    let mut producer = ten!(build_single_producer(size, || 0_u64, Yielding), look)
        .and_then()
        .handle_events_with(move |x: &u64, sequence: i64, _| {
            seen.look(sequence as u64, [*x; 10]);
            if sequence as u64 == items - 1 {
                out.store(seen.checksum(), Relaxed);
            }
        })
        .build();
    publish(&mut producer, items, 1024, true, |slot, x| *slot = x);
    drop(producer);
    answer.load(Relaxed)
}

struct Halves {
    x: u64,
    halves: [AtomicU64; 10],
}

/// Every handler writes its own half of the event.
pub(crate) fn zip10_write(items: u64, size: usize) -> u64 {
    let answer = Arc::new(AtomicU64::new(0));
    let (out, mut sum) = (answer.clone(), 0_u64);
    let write = |i: usize, event: &Halves| event.halves[i].store(work::branch(i, event.x), Relaxed);
    let mut producer =
        ten!(build_single_producer(size, || Halves { x: 0, halves: Default::default() }, Yielding), write)
            .and_then()
            .handle_events_with(move |event: &Halves, sequence: i64, _| {
                sum = sum.wrapping_add(work::mix(std::array::from_fn(|i| event.halves[i].load(Relaxed))));
                if sequence as u64 == items - 1 {
                    out.store(sum, Relaxed);
                }
            })
            .build();
    publish(&mut producer, items, 1024, true, |event, x| event.x = x);
    drop(producer);
    answer.load(Relaxed)
}

/// Publishes the numbers below `items`, in batches. If the ring is full, it yields the core or spins.
fn publish<E>(producer: &mut impl Producer<E>, items: u64, batch: u64, yields: bool, set: impl Fn(&mut E, u64)) {
    let mut next = 0;
    while next < items {
        let len = batch.min(items - next);
        if yields {
            while producer.try_batch_publish(len as usize, |events| fill(events, next, &set)).is_err() {
                thread::yield_now();
            }
        } else {
            producer.batch_publish(len as usize, |events| fill(events, next, &set));
        }
        next += len;
    }
}

#[inline(always)]
fn fill<'a, E: 'a>(events: impl Iterator<Item = &'a mut E>, from: u64, set: impl Fn(&mut E, u64)) {
    events.zip(from..).for_each(|(event, x)| set(event, x));
}
