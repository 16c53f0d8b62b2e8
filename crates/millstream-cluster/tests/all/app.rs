//! Applications on a log in memory: plans, places, feeders and workers.

use millstream::prelude::*;
use millstream_cluster::{
    Adversary, App, Applied, Batch, FeedError, FeedWait, Feeder, Log, MemoryLog, News, OnRings, Place, PlaceState,
    Text, Worked, work,
};
use std::cell::Cell;
use std::thread;

fn app(replicas: u32) -> App {
    let stages = vec!["length map".to_owned()];
    App { program: "lengths".to_owned(), stages, replicas, copies: 1, capacity: 1000, snapshot_every: 4 }
}

/// Lengths of pieces of text, and at the end how many there were.
fn lengths() -> impl Pipeline<Text, u64> + Lasting {
    pipeline::<Text>()
        .map(|text: &Text| text.0.len() as u64)
        .scan(0, |sum, length| {
            *sum += length;
            *sum
        })
        .named("sum")
}

fn goes_on(_: &FeedWait) -> bool {
    true
}

fn fed(log: &MemoryLog, texts: &[&'static str]) {
    let mut feeder = Feeder::new(log.clone(), false, &mut goes_on).unwrap();
    texts.iter().for_each(|text| feeder.append(text.as_bytes().into(), &mut goes_on).unwrap());
}

#[test]
fn a_plan_is_made_once_changed_and_not_replaced() {
    let log = MemoryLog::default();
    assert_eq!(App::read(&log), Ok(None));
    assert_eq!(app(2).apply(&log), Ok(Applied::Made));
    assert_eq!(app(2).apply(&log), Ok(Applied::Same));
    assert_eq!(app(3).apply(&log), Ok(Applied::Changed));
    assert_eq!(App::read(&log), Ok(Some(app(3))));
    let other = App { stages: vec!["length map".to_owned(), "sum scan".to_owned()], ..app(2) };
    let refusal = other.apply(&log).unwrap_err().to_string();
    assert_eq!(
        refusal,
        "the application runs a different pipeline: its stage is none, where this program has \"sum scan\""
    );
    assert_eq!(App::read(&log), Ok(Some(app(3))));
    // Said to compute the same.
    assert_eq!(other.replace(&log), Ok(Applied::Changed));
    assert_eq!(App::read(&log), Ok(Some(other)));
}

#[test]
fn workers_take_places_and_end_with_the_output() {
    let log = MemoryLog::default();
    fed(&log, &["to be", " or", " not to be"]);
    let segment = OnRings::new(lengths(), Rings::new().workers(1));
    let ended = thread::scope(|scope| {
        let worker = |_| scope.spawn(|| work(&segment, &log, &app(2), || false, |_| ()).unwrap());
        let workers: Vec<_> = (0..2).map(worker).collect();
        Feeder::new(log.clone(), false, &mut goes_on).unwrap().end(&mut goes_on).unwrap();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(ended, [Worked::Ended; 2]);
    let out = log.read_from("out", 1, 99).unwrap().into_iter();
    let out: Vec<u64> =
        out.flat_map(|entry| Batch::<u64>::from_bytes(&entry.bytes).unwrap().values).map(|(_, sum)| sum).collect();
    assert_eq!(out, [5, 8, 18]);
    let places = Place::all(&log, 2).unwrap();
    assert!(places.iter().all(|(_, (place, _))| place.state == PlaceState::Ended && place.durable == 4), "{places:?}");
}

#[test]
fn a_worker_too_many_waits_for_a_place_and_one_that_leaves_frees_its_own() {
    let log = MemoryLog::default();
    let segment = OnRings::new(lengths(), Rings::new().workers(1));
    let (taken, waited) = (Cell::new(false), Cell::new(false));
    let first = work(&segment, &log, &app(1), || taken.get(), |news| taken.set(news == News::Took(0))).unwrap();
    assert_eq!(first, Worked::Stopped);
    assert_eq!(Place::all(&log, 1).unwrap()[&0].0.state, PlaceState::Left);

    thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let holder = scope.spawn({
            let (segment, log) = (&segment, &log);
            move || work(segment, log, &app(1), || receiver.try_recv().is_ok(), |_| ()).unwrap()
        });
        while Place::all(&log, 1).unwrap()[&0].0.state != PlaceState::Works {}
        let waits = work(&segment, &log, &app(1), || waited.get(), |news| waited.set(news == News::Waits)).unwrap();
        assert_eq!((waits, waited.get()), (Worked::Stopped, true));
        sender.send(()).unwrap();
        assert_eq!(holder.join().unwrap(), Worked::Stopped);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn the_alarm_of_a_machine_stands_until_another_machine_or_an_operator_ends_it() {
    let log = MemoryLog::default();
    let segment = OnRings::new(lengths(), Rings::new().workers(1));
    let takes = || {
        let (told, took) = (Cell::new(false), Cell::new(false));
        let tell = |news| {
            told.set(true);
            took.set(news == News::Took(0));
        };
        assert_eq!(work(&segment, &log, &app(1), || told.get(), tell).unwrap(), Worked::Stopped);
        took.get()
    };
    let differs = PlaceState::Diverged("batch 7".to_owned());
    let differs_on = |host: Option<&str>| {
        let (place, revision) = Place::all(&log, 1).unwrap().remove(&0).unwrap();
        let host = host.map_or(place.host.clone(), str::to_owned);
        let alarm = Place { host, state: differs.clone(), ..place };
        log.compare_and_set("place.0", revision, &serde_json::to_vec(&alarm).unwrap()).unwrap();
    };
    assert!(takes());
    differs_on(None);
    assert!(!takes());
    assert_eq!(Place::all(&log, 1).unwrap()[&0].0.state, differs);
    assert_eq!(Place::end_alarms(&log, 1), Ok(vec![0]));
    assert!(takes());
    assert_eq!(Place::end_alarms(&log, 1), Ok(vec![]));
    differs_on(Some("another"));
    assert!(takes());
}

#[test]
fn feeders_append_each_text_once_over_a_bad_network() {
    for seed in 0..300 {
        let behind = MemoryLog::with_capacity(if seed % 2 == 0 { usize::MAX } else { 6 });
        let log = Adversary::new(behind.clone(), seed, seed % 60);
        let mut text = String::new();
        let mut feeders: Vec<_> = (0..2).map(|_| Feeder::new(log.clone(), false, &mut goes_on).unwrap()).collect();
        for number in 0..20_usize {
            let word = format!("{number} ");
            let mut waits = |wait: &FeedWait| {
                if *wait == FeedWait::Full {
                    text.push_str(&drained(&behind));
                }
                true
            };
            feeders[number % 2].append(word.into(), &mut waits).unwrap();
        }
        text.push_str(&drained(&behind));
        let expected: String = (0..20).map(|number| format!("{number} ")).collect();
        assert_eq!(text, expected, "seed {seed}");
    }
}

/// Reads what is not read, and keeps the last entry there.
fn drained(log: &MemoryLog) -> String {
    let entries = log.read_from("in", 1, 99).unwrap();
    let last = entries.last().map_or(0, |entry| entry.number);
    let mut text = String::new();
    for entry in entries {
        let batch = Batch::<Text>::from_bytes(&entry.bytes).unwrap();
        if log.get(&format!("read.{}", entry.number)).unwrap().is_none() {
            _ = log.compare_and_set(&format!("read.{}", entry.number), 0, b"");
            batch.values.iter().for_each(|(_, value)| text.push_str(std::str::from_utf8(&value.0).unwrap()));
        }
    }
    log.trim("in", last).unwrap();
    text
}

#[test]
fn the_same_input_again_goes_on_where_the_edge_ends() {
    let log = MemoryLog::default();
    fed(&log, &["one\n", "two\n"]);
    let mut again = Feeder::new(log.clone(), true, &mut goes_on).unwrap();
    assert_eq!(again.position(), 8);
    again.append("three\n".as_bytes().into(), &mut goes_on).unwrap();
    again.end(&mut goes_on).unwrap();
    again.end(&mut goes_on).unwrap();
    assert_eq!(again.append("four\n".as_bytes().into(), &mut goes_on), Err(FeedError::Ended(14)));
    assert_eq!(log.last("in"), Ok(4));
    assert_eq!(Feeder::new(log, true, &mut goes_on).unwrap_err(), FeedError::Ended(14));
}
