//! The counters that a run shows to an observer.

use millstream_core::{
    Arrow, AsyncExt, ChoiceExt, ClockExt, Either, FeedbackExt, KeysExt, Retry, TryMapExt, TryScanExt, Val, pipeline,
};
use millstream_exec::{
    Activity, Counters, Deployable, JobExt, JobRefExt, Observer, RingShape, Rings, Runner, State, TaskletCounters,
    source,
};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Lets a number of calls through.
#[derive(Default)]
struct Gate(Mutex<u64>, Condvar);

impl Gate {
    fn pass(&self) {
        let open = |left: &mut u64| *left == 0;
        let mut left = self.1.wait_while(self.0.lock().unwrap(), open).unwrap();
        *left -= 1;
    }

    fn open(&self, calls: u64) {
        *self.0.lock().unwrap() += calls;
        self.1.notify_all();
    }
}

/// Opens a gate for good when a test ends or fails; otherwise calls that wait there would wait for ever. It is made
/// after the run, so that it is dropped before it.
struct Opens(Arc<Gate>);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.open(1 << 32);
    }
}

fn read(observer: &Observer) -> Counters {
    let mut counters = Counters::default();
    observer.read(&mut counters);
    counters
}

/// Reads until the counters are as wanted, for a minute at most.
fn until(observer: &Observer, what: &str, wanted: impl Fn(&Counters) -> bool) -> Counters {
    let begun = Instant::now();
    loop {
        let counters = read(observer);
        if wanted(&counters) {
            return counters;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "never {what}: {counters:#?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn states(counters: &Counters) -> Vec<State> {
    counters.tasklets.iter().map(|tasklet| tasklet.state).collect()
}

#[test]
fn before_a_slow_stage_all_are_blocked_and_after_it_starved() {
    let gate = Arc::new(Gate::default());
    let slow = gate.clone();
    let p = pipeline::<u64>()
        .map(|x| x + 1)
        .named("before")
        .map_blocking(move |x: &u64| {
            slow.pass();
            *x
        })
        .named("slow")
        .map(|x| x + 1)
        .named("after");
    let run = Rings::new().ring(8).batch(4).start((&p).from(source::ready(0..100)).to_each(|_, _| ())).unwrap();
    let (observer, _opens) = (run.observer(), Opens(gate.clone()));
    let names: Vec<_> = observer.tasklets().map(|tasklet| (tasklet.name, tasklet.own_thread)).collect();
    assert_eq!(names, [("source", false), ("before", false), ("slow", true), ("after", false), ("sink", false)]);
    use State::{Blocked, Starved, Working};
    let all = [Blocked, Blocked, Working, Starved, Starved];
    let counters =
        until(&observer, "stuck", |counters| states(counters) == all && counters.workers[0] == Activity::Parked);
    assert_eq!(counters.source, Blocked);
    // The source fills its ring as far as it can: both rings before the slow stage are full.
    let rings: Vec<_> = counters.rings.iter().map(|ring| (ring.produced, ring.consumed[0], ring.occupied())).collect();
    assert_eq!(rings, [(16, 8, 8), (8, 0, 8), (0, 0, 0), (0, 0, 0)]);
    gate.open(3);
    let counters = until(&observer, "three further", |counters| counters.rings[3].consumed[0] == 3);
    assert_eq!(counters.rings[1].consumed[0], 3);
    gate.open(1000);
    let (_, report) = run.wait().unwrap();
    let counters = read(&observer);
    assert!(!counters.running && counters.over && counters.tasklets.iter().all(|tasklet| tasklet.done));
    // The numbers agree with the report's, ring by ring and stage by stage.
    assert!(counters.rings.iter().all(|ring| ring.produced == 101 && ring.consumed == [101]), "{:?}", counters.rings);
    let moved = |tasklet: &TaskletCounters| tasklet.moved;
    assert!(report.stages.iter().map(|stage| stage.moved).eq(counters.tasklets.iter().map(moved)));
}

#[test]
fn the_writers_of_a_group_without_a_run_are_starved() {
    let gate = Arc::new(Gate::default());
    let slow = gate.clone();
    let p = pipeline::<u64>().shard(3, move |p| {
        p.map_blocking(move |x: &u64| {
            slow.pass();
            *x
        })
    });
    let (sender, receiver) = source::channel(8);
    let run = Rings::new().ring(8).start(p.from(receiver).to_each(|_, _| ())).unwrap();
    let (observer, _opens) = (run.observer(), Opens(gate.clone()));
    let working = |counters: &Counters| {
        let writers = counters.tasklets.iter().zip(observer.tasklets()).filter(|(_, info)| info.stage == Some(0));
        writers.filter(|(tasklet, _)| tasklet.state == State::Working).count()
    };
    sender.send(1).unwrap();
    until(&observer, "one at work", |counters| working(counters) == 1);
    sender.send(2).unwrap();
    until(&observer, "two at work", |counters| working(counters) == 2);
    gate.open(2);
    until(&observer, "all starved", |counters| working(counters) == 0 && counters.rings[1].produced == 2);
    drop(sender);
    run.wait().unwrap();
}

#[test]
fn a_stage_with_futures_in_flight_is_working() {
    let p = pipeline::<u64>().map_async(4, |x| {
        let x = *x;
        std::future::poll_fn(move |_| if x == 0 { std::task::Poll::Ready(x) } else { std::task::Poll::Pending })
    });
    let (sender, receiver) = source::channel(8);
    let run = Rings::new().ring(8).start((&p).from(receiver).to_each(|_, _| ())).unwrap();
    let observer = run.observer();
    let state = |counters: &Counters| states(counters)[counters.tasklets.len() - 2];
    sender.send(0).unwrap();
    until(&observer, "done", |counters| counters.rings[1].consumed == [1] && state(counters) == State::Starved);
    sender.send(1).unwrap();
    until(&observer, "in flight", |counters| counters.rings[0].consumed == [2] && state(counters) == State::Working);
    run.stop_now().unwrap();
}

#[test]
fn rings_of_every_shape_are_read() {
    let p = pipeline::<u64>()
        .filter(|x| x % 2 == 0)
        .named("even")
        .fanout(|p| p.map(|x| x + 1).named("left"), |p| p.shard(2, |p| p.map(|x| x * 2)).named("right"))
        .map(|(x, y)| x ^ y)
        .named("join")
        .shard_by(
            |x| *x % 3,
            2,
            |p| {
                p.scan(0, |sum, x| {
                    *sum += x;
                    *sum
                })
            },
        )
        .feedback(0_u64, |p| p.map(|(x, s)| (*x, s + 1)))
        .compact()
        .named("dense")
        .flat_map(|x| [*x, *x])
        .named("twice");
    let run = Rings::new().ring(8).workers(2).start(p.from(source::ready(0..1000)).to_each(|_, _| ())).unwrap();
    let observer = run.observer();
    let (_, report) = run.wait().unwrap();
    let counters = read(&observer);
    let plan = observer.plan();
    for (index, (ring, planned)) in counters.rings.iter().zip(&plan.rings).enumerate() {
        // Half of the numbers are empty; END counts.
        let clock = [1001, 501, 1001][planned.clock];
        assert_eq!(ring.produced, clock, "ring {index} of\n{plan}");
        assert!(ring.consumed.iter().all(|consumed| *consumed == clock), "{ring:?}");
        assert_eq!(ring.consumed.len(), observer.readers(index).count(), "ring {index} of\n{plan}");
    }
    assert_eq!(observer.readers(0).collect::<Vec<_>>(), ["even", "left", "right.map-1"]);
    assert_eq!(report.numbers.0, 1000);
}

#[test]
fn batches_and_latencies_are_recorded_only_while_a_run_is_observed() {
    let p = pipeline::<u64>().map(|x| x + 1).flat_map(|x| vec![*x; (*x % 3) as usize]).shard(2, |p| p.map(|x| x + 1));
    let (sender, receiver) = source::channel(8);
    let run = Rings::new().ring(8).workers(1).start(p.from(receiver).to_each(|_, _| ())).unwrap();
    let observer = run.observer();
    let sink = observer.plan().stages.len();
    let batches = |counters: &Counters| counters.tasklets.iter().flat_map(|tasklet| tasklet.batches).sum::<u64>();
    observer.note();
    for x in 0..4 {
        sender.send(x).unwrap();
    }
    let sent = until(&observer, "at the sink", |counters| counters.rings[3].consumed == [4]);
    assert_eq!((batches(&sent), observer.noted(), observer.passed(sink)), (0, 0, 0));

    run.observe(true);
    let mut in_order = 0;
    for marker in 0..300 {
        observer.note();
        sender.send(marker).unwrap();
        let begun = Instant::now();
        while [0, 1, 2, sink].iter().any(|stage| observer.passed(*stage) <= marker) {
            assert!(begun.elapsed() < Duration::from_secs(60), "marker {marker} is not passed");
            std::thread::yield_now();
        }
        let passed = |stage| observer.passed_at(stage, marker).expect("it is passed");
        let times = [0, 1, 2, sink].map(|stage| passed(stage).since_source);
        // A worker can move a number before its sender has written the marker, and the stages after it see the marker
        // first.
        in_order += usize::from(times.is_sorted());
        let start = |stage| passed(stage).at - passed(stage).since_source;
        assert_eq!(start(0), start(sink), "all are relative to the source's publication");
    }
    assert!(in_order > 100, "{in_order} of 300 passed the stages one after the other");
    assert_eq!((observer.noted(), observer.passed(0)), (300, 300));
    // Overwritten markers are gone, and are not taken for others.
    assert_eq!((observer.passed_at(0, 20), observer.passed_at(sink, 20)), (None, None));
    run.observe(false);
    let before = batches(&until(&observer, "all at the sink", |counters| {
        counters.rings[2].produced == counters.rings[2].consumed[0]
    }));
    assert!(before >= 300, "{before}");
    for x in 0..4 {
        sender.send(x).unwrap();
    }
    drop(sender);
    run.wait().unwrap();
    assert_eq!((batches(&read(&observer)), observer.noted()), (before, 300));
}

#[test]
fn a_stage_that_is_slow_to_pass_markers_loses_overwritten_ones() {
    let gate = Arc::new(Gate::default());
    let slow = gate.clone();
    let p = pipeline::<u64>().map_blocking(move |x: &u64| {
        slow.pass();
        *x
    });
    let (sender, receiver) = source::channel(512);
    let run = Rings::new().ring(512).observe(true).start((&p).from(receiver).to_each(|_, _| ())).unwrap();
    let (observer, _opens) = (run.observer(), Opens(gate.clone()));
    for x in 0..400 {
        observer.note();
        sender.send(x).unwrap();
    }
    assert_eq!(observer.noted(), 400);
    gate.open(400);
    drop(sender);
    run.wait().unwrap();
    assert_eq!(observer.passed(1), 400);
    assert!(observer.passed_at(1, 143).is_none() && observer.passed_at(1, 145).is_some());
}

#[test]
fn failures_and_retries_are_counted_where_they_happen() {
    let p = pipeline::<u64>().try_map_or_empty(|x| if x % 2 == 0 { Err("even") } else { Ok(*x) }).try_map_retry(
        Retry::times(3),
        |x| {
            static CALLS: Mutex<u64> = Mutex::new(0);
            let mut calls = CALLS.lock().unwrap();
            *calls += 1;
            if calls.is_multiple_of(3) { Ok(*x) } else { Err("not yet") }
        },
    );
    let run = Rings::new().start((&p).from(source::ready(0..10)).to_each(|_, _| ())).unwrap();
    let observer = run.observer();
    run.wait().unwrap();
    let counted: Vec<_> = read(&observer).tasklets.iter().map(|tasklet| (tasklet.failures, tasklet.retries)).collect();
    assert_eq!(counted, [(0, 0), (5, 0), (10, 10), (0, 0)]);
}

#[test]
fn panics_and_values_that_a_scan_leaves_out_are_failures() {
    let odd_panics =
        |x: &u64| if x.is_multiple_of(2) { Ok::<_, &str>(*x) } else { std::panic::resume_unwind(Box::new("odd")) };
    let spend = |left: &mut u64, cost: &u64| {
        *left = left.checked_sub(*cost).ok_or("not enough")?;
        Ok::<_, &str>(*left)
    };
    let p = pipeline::<u64>().try_map_or_empty(odd_panics).try_scan_or_empty(10, spend).shard_by(
        |left| *left % 2,
        2,
        move |p| p.try_scan_or_empty(3, spend),
    );
    let (_, report) = p.from(source::ready(0..10)).to_each(|_, _| ()).run().unwrap();
    let failures = |from: usize, to: usize| report.stages[from..to].iter().map(|stage| stage.failures).max();
    // 0, 2 and 4 leave 10, 8 and 4; 6 and 8 are too much. None of what is left is at most 3.
    assert_eq!((failures(1, 2), failures(2, 3), failures(3, 5)), (Some(5), Some(2), Some(3)));
}

#[test]
fn empty_slots_are_counted_where_they_are_written() {
    let p = pipeline::<u64>()
        .map(|x| x + 1)
        .named("plain")
        .filter(|x| x % 3 == 0)
        .named("third")
        .map(|x| *x)
        .named("after")
        .shard(2, |p| p.filter_map(|x| (x % 2 == 0).then_some(*x)).named("sixth"))
        .shard_by(|x| x % 5, 2, |p| p.scan(0, |sum: &mut u64, x| *sum + x).named("keyed"))
        .fold(0, |sum: &mut u64, x| *sum += x, |sum| sum)
        .named("sum");
    // One worker fills its batches as far as possible, so most of them are among the first, which are all examined.
    let rings = Rings::new().workers(1).ring(2048).batch(1024).observe(true);
    let (_, report) = rings.start(p.from(source::ready(0..6000)).to_each(|_, _| ())).unwrap().wait().unwrap();
    let of = |name: &str| {
        let stage = report.stages.iter().find(|stage| stage.name == name).unwrap();
        (stage.looked_at, stage.empties)
    };
    // A ring without empty slots reports the published slots, END included.
    assert_eq!([of("source"), of("plain")], [(6001, 0); 2]);
    // The first steps move few numbers, and so does each that comes after one which took long by chance. The writers of
    // a group divide the input into ever smaller runs. So not all batches need be examined. Of the keyed writers the
    // first fills all empty numbers, and the batches of the other that are examined may be of more or of fewer numbers.
    let sixths = [("third", 4.0, 0.01), ("after", 4.0, 0.01), ("sixth", 5.0, 0.01), ("keyed", 5.0, 0.15)];
    for (name, sixths, bound) in sixths {
        let (looked_at, empty) = of(name);
        let distance = (empty as f64 / looked_at as f64 - sixths / 6.0).abs();
        assert!(looked_at > 1000 && distance < bound, "{name}: {empty} of {looked_at}");
    }
    assert_eq!(of("sum"), (6000, 6000));
    assert_eq!(of("sink"), (0, 0));
    assert_eq!(report.stages.last().and_then(millstream_exec::StageReport::empty_share), None);
}

#[test]
fn the_other_lanes_slots_are_empty_in_a_lane_in_every_layout() {
    let either = |x: &u64| if x.is_multiple_of(3) { Either::Left(*x) } else { Either::Right(*x) };
    // Two maps fill one ring; a scan has a ring of its own.
    let one =
        pipeline::<u64>().map(either).merge(|p| p.map(|x| x + 1).named("left"), |p| p.map(|x| x + 2).named("right"));
    let two = pipeline::<u64>()
        .map(either)
        .merge(|p| p.map(|x| x + 1).named("left"), |p| p.scan(0, |sum: &mut u64, x| *sum + x).named("right"));
    for [left, right] in [lanes(&one), lanes(&two)] {
        assert!((left - 4.0 / 6.0).abs() < 0.01 && (right - 2.0 / 6.0).abs() < 0.01, "{left} and {right}");
    }
}

/// The share of empty slots in two lanes.
fn lanes(p: &impl Deployable<In = Val<u64>, Out: RingShape>) -> [f64; 2] {
    let rings = Rings::new().workers(1).ring(2048).batch(1024).observe(true);
    let (_, report) = rings.start(p.from(source::ready(0..6000)).to_each(|_, _| ())).unwrap().wait().unwrap();
    ["left", "right"].map(|name| report.stages.iter().find(|stage| stage.name == name).unwrap().empty_share().unwrap())
}

#[test]
fn empty_slots_are_counted_only_while_the_run_is_observed() {
    let p = pipeline::<u64>().filter(|x| x % 3 == 0).named("third");
    let run = Rings::new().start((&p).from(source::ready(0..6000)).to_each(|_, _| ())).unwrap();
    let observer = run.observer();
    let (_, report) = run.wait().unwrap();
    assert_eq!((report.stages[1].looked_at, report.stages[1].empty_share()), (0, None));
    assert_eq!(read(&observer).tasklets[1].empty_share(), None);
}

#[test]
fn failures_of_futures_and_parked_values_are_counted() {
    let odd = |x: &u64| std::future::ready(if x % 2 == 1 { Ok(*x) } else { Err("even") });
    // Of 1, 3, 5, ..., 19 two keys fail, at 7 and at 9; 17 and 19 come after them.
    let keyed = |x: &u64| if *x == 7 || *x == 9 { Err("fails") } else { Ok(*x) };
    let p = pipeline::<u64>().try_map_async_or_empty(4, odd).try_map_or_park("book", |x| x % 10, keyed, |_| ());
    let run = Rings::new().start((&p).from(source::ready(0..20)).to_each(|_, _| ())).unwrap();
    let observer = run.observer();
    run.wait().unwrap();
    let tasklets = observer.tasklets().zip(read(&observer).tasklets);
    let counted: Vec<_> =
        tasklets.map(|(info, counted)| (info.side_output, counted.failures, counted.parked, counted.moved)).collect();
    let letters = (true, 0, 0, 21);
    let rest = [(false, 0, 0, 21), (false, 10, 0, 21), (false, 2, 2, 21), letters, (false, 0, 0, 21)];
    assert_eq!(counted, rest);
}

#[test]
fn a_report_does_not_count_the_time_until_it_is_asked_for() {
    let run = Rings::new().start(pipeline::<u64>().from(source::ready(0..10)).to_each(|_, _| ())).unwrap();
    let observer = run.observer();
    while !run.is_finished() {
        std::thread::yield_now();
    }
    let ended = loop {
        let (before, after) = (observer.elapsed(), observer.elapsed());
        // The last thread may need a moment after the last step.
        if before == after {
            break before;
        }
    };
    let (_, report) = run.wait().unwrap();
    assert_eq!(report.elapsed, ended);
}
