//! Many producers, one consumer: entries of three `u64`.

use crate::work::entry;
use crossbeam_channel::{Receiver, TryRecvError, bounded};
use crossbeam_queue::ArrayQueue;
use disruptor::wait_strategies::WaitStrategy;
use disruptor::{Producer, build_multi_producer};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{scope, yield_now};

/// The numbers of each producer.
pub(crate) fn parts(producers: u64, items: u64) -> impl Iterator<Item = Range<u64>> {
    (0..producers).map(move |p| items / producers * p..items / producers * (p + 1))
}

pub(crate) fn add(sum: u64, [a, b, c]: [u64; 3]) -> u64 {
    sum.wrapping_add(a).wrapping_add(b).wrapping_add(c)
}

pub(crate) fn crossbeam(producers: u64, items: u64, size: usize) -> u64 {
    let (sender, receiver) = bounded(size);
    scope(|scope| {
        for part in parts(producers, items) {
            let sender = sender.clone();
            scope.spawn(move || part.for_each(|x| sender.send(entry(x)).expect("the receiver lives")));
        }
        drop(sender);
        received(&receiver, add)
    })
}

/// The entries of one `Vec`.
const CHUNK: u64 = 1024;

/// The same in `Vec`s of many entries, in a channel for as many entries.
pub(crate) fn crossbeam_vecs(producers: u64, items: u64, size: usize) -> u64 {
    let (sender, receiver) = bounded(size / CHUNK as usize);
    scope(|scope| {
        for part in parts(producers, items) {
            let sender = sender.clone();
            scope.spawn(move || {
                for from in part.clone().step_by(CHUNK as usize) {
                    let chunk: Vec<_> = (from..part.end.min(from + CHUNK)).map(entry).collect();
                    sender.send(chunk).expect("the receiver lives");
                }
            });
        }
        drop(sender);
        received(&receiver, |sum, chunk| chunk.into_iter().fold(sum, add))
    })
}

/// Adds up what is sent. Takes all that is there before it yields.
fn received<T>(receiver: &Receiver<T>, add: impl Fn(u64, T) -> u64) -> u64 {
    let mut sum = 0;
    loop {
        sum = receiver.try_iter().fold(sum, &add);
        match receiver.try_recv() {
            Ok(sent) => sum = add(sum, sent),
            Err(TryRecvError::Empty) => yield_now(),
            Err(TryRecvError::Disconnected) => return sum,
        }
    }
}

pub(crate) fn array_queue(producers: u64, items: u64, size: usize) -> u64 {
    let queue = ArrayQueue::new(size);
    scope(|scope| {
        for part in parts(producers, items) {
            let queue = &queue;
            scope.spawn(move || {
                for x in part {
                    let mut entry = entry(x);
                    while let Err(full) = queue.push(entry) {
                        entry = full;
                        yield_now();
                    }
                }
            });
        }
        let (mut sum, mut left) = (0, items / producers * producers);
        while left > 0 {
            match queue.pop() {
                Some(entry) => (sum, left) = (add(sum, entry), left - 1),
                None => yield_now(),
            }
        }
        sum
    })
}

#[derive(Clone, Copy)]
struct Yielding;

impl WaitStrategy for Yielding {
    #[inline]
    fn wait_for(&self, _: i64) {
        yield_now();
    }
}

/// A ring that all producers claim in batches of this size.
pub(crate) fn disruptor(producers: u64, items: u64, batch: usize) -> u64 {
    let answer = Arc::new(AtomicU64::new(0));
    let (out, mut sum, last) = (answer.clone(), 0_u64, (items / producers * producers) as i64 - 1);
    let producer = build_multi_producer(65_536, || [0_u64; 3], Yielding)
        .handle_events_with(move |entry: &[u64; 3], sequence: i64, _: bool| {
            sum = add(sum, *entry);
            if sequence == last {
                out.store(sum, Relaxed);
            }
        })
        .build();
    scope(|scope| {
        for part in parts(producers, items) {
            let mut producer = producer.clone();
            scope.spawn(move || publish(&mut producer, part, batch));
        }
    });
    drop(producer);
    answer.load(Relaxed)
}

fn publish(producer: &mut impl Producer<[u64; 3]>, part: Range<u64>, batch: usize) {
    let mut next = part.start;
    while next < part.end {
        let len = (batch as u64).min(part.end - next);
        if len == 1 {
            while producer.try_publish(|slot| *slot = entry(next)).is_err() {
                yield_now();
            }
        } else {
            while producer
                .try_batch_publish(len as usize, |slots| slots.zip(next..).for_each(|(slot, x)| *slot = entry(x)))
                .is_err()
            {
                yield_now();
            }
        }
        next += len;
    }
}
