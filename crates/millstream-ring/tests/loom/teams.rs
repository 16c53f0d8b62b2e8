//! Teams under loom: their readers, their inputs and END. Mates share nothing that they read and then write.

use super::{Alive, Value, boxed, end, look, plain, publish, read, try_publish};
use loom::thread::spawn;
use millstream_core::keys::Seat;
use millstream_core::{Event, Full, Holed, Val};
use millstream_ring::{Mate, Producer, Reader, ring, team};

/// Two mates, each with every other number.
fn two<T: Event, S: Event>(
    numbers: usize,
    capacity: usize,
    make: impl Fn(u64) -> T,
) -> (Producer<T>, Vec<Mate<Val<T>, S>>, Reader<Val<S>>) {
    let (mut producer, input) = ring::<T, Full>(2).unwrap();
    let (mut seats, seated) = ring::<Seat, Holed>(4).unwrap();
    for _ in 0..numbers {
        publish(&mut producer, &make);
        publish(&mut seats, |n| Some(Seat { place: 0, lane: (n % 2) as u16, fresh: false }));
    }
    end(&mut seats);
    let (mates, output) = team::<_, S, Full>(input, seated, 2, capacity).unwrap();
    (producer, mates, output)
}

fn work<T: Event, S: Event>(mate: &mut Mate<Val<T>, S>, times: usize, make: impl Fn(&T) -> S) {
    for _ in 0..times {
        if mate.fill(2, |_, value, _| make(value.unwrap())) == 0 {
            mate.end(|_, _, _| None);
        }
    }
}

#[test]
fn a_team_of_two_and_its_reader() {
    loom::model(|| {
        let (_producer, mut mates, mut output) = two::<u64, u64>(2, 2, |n| n);
        let (mut b, mut a) = (mates.pop().unwrap(), mates.pop().unwrap());
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
fn a_team_releases_its_input() {
    loom::model(|| {
        let alive = Alive::new();
        let (first, more) = (alive.clone(), alive.clone());
        let (mut producer, mut mates, mut output) = two::<Value, u64>(2, 4, move |n| first.value(n));
        let (mut b, mut a) = (mates.pop().unwrap(), mates.pop().unwrap());
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
fn a_teams_values_are_dropped_behind_their_reader() {
    loom::model(|| {
        let alive = Alive::new();
        let (_producer, mut mates, mut output) = two::<u64, Value>(2, 1, |n| n);
        let (mut b, mut a) = (mates.pop().unwrap(), mates.pop().unwrap());
        let (one, other) = (alive.clone(), alive.clone());
        work(&mut a, 1, |n| one.value(*n));
        work(&mut b, 1, |n| other.value(*n));
        let reading = spawn(move || {
            look(&mut output, 1, boxed);
            output
        });
        // Number 1 goes where number 0 was, once the reader has released that, and b sees it.
        work(&mut b, 1, |n| other.value(*n));
        let output = reading.join().unwrap();
        drop((a, b, output));
        alive.none();
    });
}
