//! Threads that park and are woken, again and again: a lost wake-up makes a run hang, and the watchdog reports it.

use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, Signal, Wait, source};
use millstream_testkit::within;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(500);

/// How many numbers a run has; at each, threads park several times.
fn numbers() -> u64 {
    cycles() / 10
}

/// How often a thread parks: a million times in a full run.
fn cycles() -> u64 {
    if std::env::var_os("MILLSTREAM_FULL").is_some() { 1_000_000 } else { 100_000 }
}

/// Two threads that alternate turns.
#[derive(Default)]
struct Turns {
    signal: Signal,
    turn: AtomicU64,
    parks: AtomicU64,
}

impl Turns {
    /// Waits, as a worker does, until the turn is at least this one.
    fn wait_for(&self, turn: u64) {
        let mine = || self.turn.load(Ordering::Acquire) >= turn;
        while !mine() {
            let ticket = self.signal.announce();
            if mine() {
                self.signal.withdraw(ticket);
            } else {
                self.parks.fetch_add(1, Ordering::Relaxed);
                self.signal.park(ticket);
            }
        }
    }

    /// Takes every other turn until there were enough parks.
    fn play(&self, mut turn: u64, enough: u64) {
        while self.parks.load(Ordering::Relaxed) < enough {
            self.wait_for(turn);
            self.turn.store(turn + 1, Ordering::Release);
            self.signal.notify();
            turn += 2;
        }
        // The other thread must not wait for one that has returned.
        self.turn.store(u64::MAX, Ordering::Release);
        self.signal.notify();
    }
}

#[test]
fn no_wake_up_is_lost_between_two_threads() {
    let enough = cycles();
    let parks = within(LONG, move || {
        let turns = Arc::new(Turns::default());
        let threads = [0, 1].map(|first| {
            let turns = turns.clone();
            std::thread::spawn(move || turns.play(first, enough))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        turns.parks.load(Ordering::Relaxed)
    });
    assert!(parks.expect("a wake-up was lost") >= enough);
}

/// Rings of one slot and threads that park at once: workers, the source's thread and the threads of blocking stages
/// wait for nearly every number.
#[test]
fn no_wake_up_is_lost_in_a_run() {
    let n = numbers();
    for workers in 1..4 {
        let count = within(LONG, move || {
            let p = pipeline::<u64>().map(|x| x + 1).shard(2, |p| p.map_blocking(|x| x * 2)).map(|x| x / 2);
            let rings = Rings::new().ring(1).batch(1).workers(workers).wait(Wait::Blocking);
            let sink = |(count, sum): &mut (u64, u64), _, x: &u64| {
                *count += 1;
                *sum += x;
            };
            let ready = rings.run((&p).from(source::ready(0..n)).to_fold((0, 0), sink)).unwrap().0;
            let waiting = rings.run((&p).from(0..n).to_fold((0, 0), sink)).unwrap().0;
            [ready, waiting]
        });
        assert_eq!(count.expect("a wake-up was lost"), [(n, n * (n + 1) / 2); 2], "{workers} workers");
    }
}
