//! Journals whose commits are not synced: a crash of the machine takes the last of them, and the job goes on with the
//! rest.

use crate::following::{PATIENCE, Paid, add, end, follow, home, job, own, pay, serve};
use crate::machine::{Machine, persistent};
use crate::simulated::Simulated;
use millstream::prelude::*;
use millstream_state::dead_letters::KeptLetters;
use millstream_state::journal::{Fsync, JournalOptions};
use millstream_state::{Running, StateDir, again};
use std::time::Duration;

fn begin(disk: &Simulated, journal: JournalOptions) -> (Client<Paid, u64>, Running<()>) {
    let state = StateDir::open_on(disk.disk(), "/state", "sum").unwrap();
    job(state).serve(pipeline::<Paid>().map(|paid| paid.0).scan(0, add).named("sum"), journal).unwrap()
}

#[test]
fn a_service_starts_after_every_crash_and_has_what_its_snapshots_have() {
    for fsync in [Fsync::Never, Fsync::Interval(Duration::from_secs(3600))] {
        let journal = JournalOptions { fsync, segment_bytes: 150, ..JournalOptions::default() };
        let disk = Simulated::recording();
        let (client, running) = begin(&disk, journal);
        for _ in 0..3 {
            (0..2).for_each(|_| _ = pay(&client, 1));
            let stored = running.snapshot().unwrap().unwrap();
            disk.note("stored", stored);
        }
        pay(&client, 1);
        end((client, running));
        let (mut starts, mut lost) = (0, 0);
        for (world, seed) in disk.history().into_iter().zip(0..) {
            let stored = world.notes.iter().map(|(_, number)| *number).max().unwrap_or(0);
            let present = begin(&Simulated::of(world.crash(seed)), journal);
            let balance = pay(&present.0, 0);
            assert!(balance >= stored, "{fsync:?}, after {}: {balance}, and {stored} was stored", world.last);
            (starts, lost) = (starts + 1, lost + u64::from(balance < 7));
            end(present);
        }
        assert!(starts > 50 && lost > 0, "{starts} starts, {lost} of them without a payment");
    }
}

#[test]
fn a_snapshot_that_survives_a_crash_has_all_letters_before_it() {
    for fsync in [Fsync::Never, Fsync::Interval(Duration::from_secs(3600))] {
        let options = JournalOptions { fsync, ..JournalOptions::default() };
        let even = |x: &u64| if x.is_multiple_of(2) { Ok(format!("{x}\n")) } else { Err("odd") };
        let machine = Machine::new();
        machine.ended(|machine, table| {
            let state = machine.state();
            let letters = KeptLetters::open(&state, options).unwrap();
            let lines = pipeline::<u64>().try_map_or_dead_letter("even", even, letters.taking()).any_edge();
            persistent(state, 5).letters(&letters).run(&lines, again(|| 0..60), table).unwrap();
        });
        let mut passed = 0;
        for (world, seed) in machine.disk.history().into_iter().zip(0..) {
            let after = world.last.clone();
            let disk = Simulated::of(world.crash(seed));
            let Ok(state) = StateDir::open_on(disk.disk(), "/state", "lines") else { continue };
            let at = state.newest().unwrap().map_or(0, |newest| newest.at);
            let letters = KeptLetters::open(&state, options).unwrap().list();
            let before: Vec<u64> = letters.iter().map(|letter| letter.number).filter(|number| *number < at).collect();
            assert_eq!(before, (0..at).filter(|x| x % 2 == 1).collect::<Vec<_>>(), "{fsync:?}, after {after}");
            passed += u64::from(at > 1);
        }
        assert!(passed > 0, "{fsync:?}: no snapshot passed a letter");
    }
}

#[test]
fn a_follower_reads_up_to_the_newest_snapshot_however_seldom_commits_are_synced() {
    for fsync in [Fsync::Never, Fsync::Every] {
        let options = JournalOptions { fsync, ..JournalOptions::default() };
        let (_home, dir) = home();
        let present = serve(&dir, options);
        let mut following = follow(&dir, options);
        for round in 1..=3 {
            (0..20).for_each(|_| _ = pay(&present.0, 1));
            assert_eq!(present.1.snapshot(), Ok(Some(20 * round + round - 1)));
            assert!(following.catches_up(PATIENCE));
            assert_eq!(following.reached(), 20 * round + round - 1, "{fsync:?}");
            pay(&present.0, 1);
        }
        end(present);
        let present = own(following, &dir);
        assert_eq!(pay(&present.0, 1), 64);
        end(present);
    }
}
