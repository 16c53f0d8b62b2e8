//! The report of a run whose pipeline was replaced.

use super::number;
use millstream_core::{Arrow, ClockExt, pipeline};
use millstream_exec::{Counters, JobExt, Rings, Runner, sink, source};
use millstream_testkit::within;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A buffer that was filled by the observer of an earlier version shows nothing of its rings.
#[test]
fn counters_are_those_of_the_observers_version() {
    let many = |x: &u64| vec![*x; 10];
    let (sender, receiver) = source::channel(64);
    let first = pipeline::<u64>().flat_map(many).named("many").map(|x| x + 1);
    let run = Rings::new().start(first.from(receiver).to(sink::last())).unwrap();
    let (before, mut counters) = (run.observer(), Counters::default());
    sender.send_all(0..100).unwrap();
    assert_eq!(run.upgrade(pipeline::<u64>().map(|x| x + 1).flat_map(many).named("many")), Ok(number(100)));
    before.read(&mut counters);
    assert_eq!(counters.rings[1].produced, 1000);
    let observer = run.observer();
    sender.send(100).unwrap();
    drop(sender);
    run.wait().unwrap();
    let mut new = Counters::default();
    observer.read(&mut new);
    observer.read(&mut counters);
    assert_eq!(counters.rings, new.rings);
    // And END.
    assert_eq!(counters.rings[1].produced, 102);
}

/// Nor does one that was filled by the observer of an earlier run.
#[test]
fn counters_are_those_of_the_observers_run() {
    let mut counters = Counters::default();
    for numbers in [100, 3] {
        let run = Rings::new().start(pipeline::<u64>().map(|x| x + 1).from(0..numbers).to(sink::last())).unwrap();
        let observer = run.observer();
        run.wait().unwrap();
        observer.read(&mut counters);
        // And END.
        assert_eq!(counters.rings.iter().map(|ring| ring.produced).collect::<Vec<_>>(), [numbers + 1; 2]);
    }
}

/// A stage with the name of an end has the counters of its earlier version, and the end has its own.
#[test]
fn stages_and_ends_of_the_same_name_are_apart() {
    let named = || pipeline::<u64>().map(|x| x + 1).named("source").map(|x| x + 1).named("sink");
    let rings = Rings::new().upgrade_at(number(50), named());
    let (_, report) = rings.run(named().from(source::ready(0..100)).to(sink::last())).unwrap();
    let rows: Vec<_> = report.stages.iter().map(|stage| (&*stage.name, stage.moved)).collect();
    assert_eq!(rows, [("source", 101), ("source", 101), ("sink", 101), ("sink", 101)]);
}

/// The time before the last version is not in the loads, as its work is not: that would make all stages look idle.
#[test]
fn the_loads_are_those_of_the_last_version() {
    within(Duration::from_secs(60), || {
        let nap = |x: &u64| {
            sleep(Duration::from_millis(10));
            *x
        };
        let (sender, receiver) = source::channel(64);
        let run = Rings::new().workers(1).start(pipeline::<u64>().map(|x| *x).from(receiver).to(sink::collect()));
        let run = run.unwrap();
        let first = run.observer();
        sender.send_all(0..100).unwrap();
        sleep(Duration::from_millis(500));
        let before = Instant::now();
        assert_eq!(run.upgrade(pipeline::<u64>().map_blocking(nap).named("slow")), Ok(number(100)));
        sender.send_all(100..130).unwrap();
        drop(sender);
        let observer = run.observer();
        let report = run.wait().unwrap().1;
        let since = before.elapsed().as_secs_f64();
        assert!(report.elapsed.as_secs_f64() >= 0.5 + 0.3, "{report:?}");
        // An observer has the same, and so has one that measures from before the version on.
        let (mut now, mut early) = (Counters::default(), Counters::default());
        first.read(&mut early);
        early.at = Duration::from_millis(1);
        observer.read(&mut now);
        let observed = [Counters::default(), early].map(|before| observer.loads(&before, &now, None));
        for loads in [report.loads.clone()].iter().chain(&observed) {
            assert!(loads.seconds >= 0.3 && loads.seconds <= since, "{} of {since} seconds", loads.seconds);
            let source = &loads.stages[0];
            // And END.
            assert_eq!((&*source.stage, source.numbers), ("source", 31));
            let slow = loads.stages.iter().find(|load| load.stage == "slow").unwrap();
            assert_eq!(slow.numbers, 31);
            let bottleneck = loads.bottleneck().unwrap();
            assert_eq!(bottleneck.stage, "slow", "{}", bottleneck.sentence);
        }
    })
    .unwrap();
}
