//! Live sources on a disk that gets full in the middle of a job.

use crate::machine::{Machine, persistent};
use crate::simulated::Faults;
use millstream::prelude::*;
use millstream::state::journal::JournalOptions;
use millstream::state::{Cadence, JobError, again, journaled};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

fn counted() -> impl Pipeline<String, String> + Lasting {
    pipeline::<String>().scan(0_u64, |n, value| (format!("{n} {value}"), *n += 1).0).named("count").any_edge()
}

fn expected(values: &[String]) -> Vec<String> {
    counted().model(values.to_vec())
}

/// While the disk is full nothing leaves that is not in the journal; when there is room, nothing was lost.
#[test]
fn a_live_source_waits_for_room_and_loses_nothing() {
    let values: Vec<String> = (0..60).map(|n| format!("value {n}")).collect();
    for compress in [false, true] {
        let machine = Machine::new();
        let (tells, told) = mpsc::channel();
        let taken = Arc::new(AtomicU64::new(0));
        let ended = machine.ended(|machine, table| {
            let (state, disk) = (machine.open().unwrap(), machine.disk.clone());
            let rows = table.rows();
            disk.set_faults(Faults { room: Some(disk.used() + 3000), ..Faults::default() });
            let options =
                JournalOptions { segment_bytes: 500, group_bytes: 200, compress, ..JournalOptions::default() };
            let (live, taking) = (values.clone(), taken.clone());
            let live = journaled(&state, options, move || {
                live.into_iter().inspect(move |_| _ = taking.fetch_add(1, Ordering::SeqCst))
            });
            let live = live.waiting_for_room(move |why| tells.send(why.to_string()).unwrap());
            let making_room = thread::spawn(move || {
                let why = told.recv().expect("it waits");
                let rows: Vec<String> = rows.lock().unwrap().clone();
                disk.set_faults(Faults::default());
                (why, rows)
            });
            // No snapshot makes room.
            persistent(state, 1_000_000).run(&counted(), live, table).unwrap();
            let (why, then) = making_room.join().unwrap();
            assert!(why.starts_with("cannot write /state/journal/") && why.contains("no storage space"), "{why}");
            assert!(expected(&values).starts_with(&then) && then.len() < 60, "{then:?}");
        });
        assert_eq!(ended, expected(&values));
        assert_eq!(taken.load(Ordering::SeqCst), 60, "each value is taken once");
    }
}

#[test]
fn a_live_source_that_does_not_wait_ends_with_the_error_and_goes_on_later() {
    let machine = Machine::new();
    let kept = Mutex::new(Vec::new());
    for life in 0..2_u64 {
        let values: Vec<String> = (0..60).map(|n| format!("{life}/{n}")).collect();
        machine.ended(|machine, table| {
            machine.disk.set_faults(Faults::default());
            let (state, disk) = (machine.open().unwrap(), machine.disk.clone());
            let room = (life == 0).then(|| disk.used() + 3000);
            disk.set_faults(Faults { room, ..Faults::default() });
            let rows = table.rows();
            let live = journaled(&state, JournalOptions::default(), move || values);
            let ran = persistent(state, 1_000_000).run(&counted(), live, table);
            match (life, ran) {
                (0, Err(JobError::Source(error))) => assert!(error.to_string().contains("no storage space"), "{error}"),
                (1, Ok(_)) => {}
                (life, other) => panic!("life {life}: {other:?}"),
            }
            kept.lock().unwrap().push(rows.lock().unwrap().clone());
        });
    }
    let kept = kept.into_inner().unwrap();
    let before = kept[0].len() as u64;
    let all = (0..before).map(|n| format!("0/{n}")).chain((0..60).map(|n| format!("1/{n}")));
    assert!(before > 10 && before < 60, "{before}");
    assert_eq!(kept[1], expected(&all.collect::<Vec<_>>()));
}

#[test]
fn a_job_says_at_once_that_snapshots_fail_and_that_they_are_stored_again() {
    let machine = Machine::new();
    machine.ended(|machine, table| {
        let (state, disk, heard) = (machine.open().unwrap(), &machine.disk, Arc::new(Mutex::new(Vec::new())));
        let hears = heard.clone();
        let says = move |outcome: Result<u64, &str>| hears.lock().unwrap().push(outcome.map_err(str::to_owned));
        let said = || std::mem::take(&mut *heard.lock().unwrap());
        let job = persistent(state, 1).snapshot_every(Cadence::OnCall).on_storing(says);
        let values = again(|| (0..).map(|n: u64| n.to_string()).inspect(|_| thread::sleep(Duration::from_millis(1))));
        let running = job.start(&counted(), values, table).unwrap();
        for _ in 0..2 {
            running.snapshot().unwrap();
            assert!(said().is_empty());
            disk.set_faults(Faults { room: Some(0), ..Faults::default() });
            // One at the number of the snapshot before is stored already.
            let why = std::iter::repeat_with(|| running.snapshot()).find_map(Result::err).unwrap();
            assert!(why.contains("no storage space"), "{why}");
            running.snapshot().unwrap_err();
            let first = said();
            let [Err(first)] = &first[..] else { panic!("{first:?}") };
            assert!(first.starts_with("the snapshot at number ") && first.ends_with(&why), "{first}");
            disk.set_faults(Faults::default());
            let at = running.snapshot().unwrap().expect("it runs");
            assert_eq!(said(), vec![Ok(at)]);
        }
    });
}
