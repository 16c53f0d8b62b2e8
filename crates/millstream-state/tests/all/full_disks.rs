//! Live sources on a disk that gets full in the middle of a job.

use crate::machine::{Machine, persistent};
use crate::simulated::Faults;
use millstream::prelude::*;
use millstream::state::journal::JournalOptions;
use millstream::state::{JobError, journaled};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

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
