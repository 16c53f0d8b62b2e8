//! Keyed writers under loom: their readers, their inputs and END. They share nothing that one reads and then writes.

use super::{Alive, Value, boxed, end, look, passes_what_it_has_copied, plain, publish, read, try_publish};
use loom::thread::spawn;
use millstream_core::keys::KeySlot;
use millstream_core::{Dense, Item, Sparse, Val};
use millstream_ring::{KeyedWriter, Producer, Reader, keyed_writers, ring};

/// Two writers, each with every other number.
fn two<T: Item, S: Item>(
    numbers: usize,
    capacity: usize,
    make: impl Fn(u64) -> T,
) -> (Producer<T>, Vec<KeyedWriter<Val<T>, S>>, Reader<Val<S>>) {
    let (mut producer, input) = ring::<T, Dense>(2).unwrap();
    let (mut key_slots, keys) = ring::<KeySlot, Sparse>(4).unwrap();
    for _ in 0..numbers {
        publish(&mut producer, &make);
        publish(&mut key_slots, |n| Some(KeySlot { place: 0, lane: (n % 2) as u16, fresh: false }));
    }
    end(&mut key_slots);
    let (writers, output) = keyed_writers::<_, S, Dense>(input, keys, 2, capacity).unwrap();
    (producer, writers, output)
}

fn work<T: Item, S: Item>(writer: &mut KeyedWriter<Val<T>, S>, times: usize, make: impl Fn(&T) -> S) {
    for _ in 0..times {
        if writer.fill(2, |_, value, _| make(value.unwrap())) == 0 {
            writer.end(|_, _, _| None);
        }
    }
}

#[test]
fn two_keyed_writers_and_their_reader() {
    loom::model(|| {
        let (_producer, mut writers, mut output) = two::<u64, u64>(2, 2, |n| n);
        let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
        let one = spawn(move || work(&mut a, 1, |n| *n));
        let reading = spawn(move || {
            look(&mut output, 1, plain);
            output
        });
        work(&mut b, 1, |n| *n);
        one.join().unwrap();
        read(&mut reading.join().unwrap(), 2, plain);
    });
}

#[test]
fn keyed_writers_release_their_input() {
    loom::model(|| {
        let alive = Alive::new();
        let (first, more) = (alive.clone(), alive.clone());
        let (mut producer, mut writers, mut output) = two::<Value, u64>(2, 4, move |n| first.value(n));
        let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
        let one = spawn(move || work(&mut a, 1, boxed));
        let publishing = spawn(move || {
            try_publish(&mut producer, |n| more.value(n));
            producer
        });
        work(&mut b, 1, boxed);
        one.join().unwrap();
        let mut producer = publishing.join().unwrap();
        assert!(producer.free() > 0);
        read(&mut output, 2, plain);
        drop((producer, output, b));
        alive.none();
    });
}

#[test]
fn keyed_writers_values_are_dropped_after_their_reader() {
    loom::model(|| {
        let alive = Alive::new();
        let (_producer, mut writers, mut output) = two::<u64, Value>(2, 1, |n| n);
        let (mut b, mut a) = (writers.pop().unwrap(), writers.pop().unwrap());
        let (one, other) = (alive.clone(), alive.clone());
        work(&mut a, 1, |n| one.value(*n));
        work(&mut b, 1, |n| other.value(*n));
        let reading = spawn(move || {
            look(&mut output, 1, boxed);
            output
        });
        // Number 1 goes into the cell of number 0, once the reader has released that, and b sees it.
        work(&mut b, 1, |n| other.value(*n));
        let output = reading.join().unwrap();
        drop((a, b, output));
        alive.none();
    });
}

#[test]
fn a_mark_that_a_writer_of_keys_passes_is_on_its_output() {
    loom::model(|| {
        let (producer, reader) = ring::<u64, Dense>(2).unwrap();
        let (_keys, key_slots) = ring::<KeySlot, Sparse>(2).unwrap();
        let (mut writers, mut output) = keyed_writers::<_, u64, Dense>(reader, key_slots, 1, 2).unwrap();
        passes_what_it_has_copied(producer, || writers[0].pass_mark(), &mut output);
    });
}
