//! rtrb: a ring of one producer and one consumer, read and written in chunks.

use crate::cores::{on_core, start_on_core};
use rtrb::{Consumer, Producer, RingBuffer};
use std::hint::spin_loop;

/// The most numbers that are moved at once in a ring of `size` slots: the best of the sizes that were tried (1024 to
/// 65,536).
fn chunk_of(size: usize) -> usize {
    (size / 16).max(1024)
}

pub(crate) fn hop(items: u64, size: usize) -> u64 {
    let (producer, consumer) = RingBuffer::new(size);
    let chunk = chunk_of(size);
    let writer = start_on_core(0, move || write(producer, items, chunk));
    let sum = on_core(1, move || read(consumer, items, chunk));
    writer.join().map_or(0, |()| sum)
}

fn write(mut producer: Producer<u64>, items: u64, most: usize) {
    let mut values = 0..items;
    while !values.is_empty() {
        let want = most.min((values.end - values.start) as usize);
        let free = producer.slots().min(want);
        match producer.write_chunk_uninit(free) {
            Ok(chunk) if free > 0 => {
                chunk.fill_from_iter(&mut values);
            }
            _ => spin_loop(),
        }
    }
}

fn read(mut consumer: Consumer<u64>, items: u64, most: usize) -> u64 {
    let (mut sum, mut left) = (0_u64, items as usize);
    while left > 0 {
        let there = consumer.slots().min(most).min(left);
        match consumer.read_chunk(there) {
            Ok(chunk) if there > 0 => {
                let (head, tail) = chunk.as_slices();
                sum = head.iter().chain(tail).fold(sum, |sum, x| sum.wrapping_add(*x));
                chunk.commit_all();
                left -= there;
            }
            _ => spin_loop(),
        }
    }
    sum
}
