//! Stages that have the name of an end of the pipeline.

use crate::trimmed::SMALL;
use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::effects::{Effects, Unknown};
use millstream::state::{Cadence, Persistent, Retention, Running, SideSink, StateDir, journaled};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::yield_now;
use tempfile::tempdir;

/// A job with an effect of this name for each line, and with three rows for each answer.
fn start(
    home: &Path,
    name: &'static str,
    calls: &Arc<AtomicU64>,
) -> (SyncSender<String>, Effects, Running<impl Send + 'static + use<>>) {
    let (sender, lines) = sync_channel(100);
    let state = StateDir::open(home.join("state"), "orders").unwrap();
    let (effects, _) = Effects::open(&state, SMALL).unwrap();
    let calls = calls.clone();
    let charge = effects.recorded(name, Unknown::retry(), move |_, line: &String| {
        calls.fetch_add(1, Ordering::SeqCst);
        line.clone()
    });
    let orders = pipeline::<String>().enumerate().map_blocking(charge).named(name);
    let rows = orders.flat_map(|charged| vec![format!("{}\n", charged.as_ref().unwrap()); 3]).named("rows");
    let live = journaled(&state, SMALL, || lines);
    let keep = Retention { count: Some(1), ..Retention::default() };
    let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).keep(keep).recording(&effects);
    let running = job.start(&rows, live, FileSink::append(home.join("out"))).unwrap();
    (sender, effects, running)
}

#[test]
fn an_effect_of_any_name_keeps_the_answers_that_a_start_may_need() {
    for name in ["charge", "sink", "source"] {
        let (home, calls) = (tempdir().unwrap(), Arc::default());
        let (sender, effects, running) = start(home.path(), name, &calls);
        for to in [10, 15] {
            (calls.load(Ordering::SeqCst)..to).for_each(|n| sender.send(format!("line {n}")).unwrap());
            while calls.load(Ordering::SeqCst) < to {
                yield_now();
            }
            assert_eq!(running.snapshot(), Ok(Some(to)));
        }
        let state = StateDir::read(home.path().join("state")).unwrap();
        let stored: Vec<_> = state.snapshots().unwrap().iter().map(|entry| entry.manifest().unwrap().clone()).collect();
        let numbers: Vec<_> = stored.iter().map(|snapshot| (snapshot.at, snapshot.numbers[name])).collect();
        assert_eq!(numbers, [(10, 10), (15, 15)], "{name}");
        assert_eq!(effects.answers(), 5, "{name}");
        drop((sender, effects, running));

        fs::remove_file(home.path().join("state/snapshots").join(stored[1].file())).unwrap();
        let (sender, _, running) = start(home.path(), name, &calls);
        assert_eq!(running.began(), 10, "{name}");
        drop(sender);
        running.wait().unwrap();
        let expected: String = (0..15).map(|n| format!("line {n}\n").repeat(3)).collect();
        assert_eq!(fs::read_to_string(home.path().join("out")).unwrap(), expected, "{name}");
        assert_eq!(calls.load(Ordering::SeqCst), 15, "{name}: each line is charged once");
    }
}

#[test]
fn a_side_sink_with_the_name_of_the_sink_has_its_own_number() {
    let home = tempdir().unwrap();
    let (sender, lines) = sync_channel(100);
    let state = StateDir::open(home.path().join("state"), "rows").unwrap();
    let side = SideSink::new("sink", FileSink::append(home.path().join("side")));
    let rows = pipeline::<String>().any_edge().tee_to("sink", side.clone());
    let rows = rows.flat_map(|line| vec![line.clone(), line.clone()]).named("rows");
    let live = journaled(&state, SMALL, || lines);
    let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).side_sink(&side);
    let running = job.start(&rows, live, FileSink::append(home.path().join("out"))).unwrap();
    (0..10).for_each(|n| sender.send(format!("line {n}\n")).unwrap());
    while running.snapshot().unwrap().unwrap() < 10 {}
    drop(sender);
    running.wait().unwrap();
    let newest = StateDir::read(home.path().join("state")).unwrap().newest().unwrap().unwrap();
    assert_eq!((newest.at, newest.output_at, newest.numbers["sink"]), (10, Some(20), 10));
}
