//! The `tracing` events of a run. Alone in its test binary, since it sets the process's subscriber.
#![cfg(all(feature = "tracing", not(loom)))]

use millstream_core::{Arrow, Val, pipeline};
use millstream_exec::{Deployable, Elastic, JobExt, JobRefExt, RingShape, Rings, Runner, Upgrade, fan_in, source};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_global_default;
use tracing::{Event, Metadata, Subscriber};

/// Records every span and event as a line, with the span around it.
#[derive(Clone, Default)]
struct Keeps(Arc<Mutex<Kept>>, Asks);

/// Called at every event, to query the run.
type Asks = Arc<Mutex<Option<Box<dyn Fn() + Send>>>>;

#[derive(Default)]
struct Kept {
    lines: Vec<String>,
    within: Vec<u64>,
    spans: u64,
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {field}={value:?}");
    }
}

impl Subscriber for Keeps {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("millstream")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(format!("span {}", span.metadata().name()));
        span.record(&mut line);
        let mut kept = self.0.lock().unwrap();
        kept.lines.push(line.0);
        kept.spans += 1;
        Id::from_u64(kept.spans)
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let mut kept = self.0.lock().unwrap();
        let line = format!("{:?} {}{}", kept.within.last(), event.metadata().level(), line.0);
        kept.lines.push(line);
        drop(kept);
        if let Some(ask) = &*self.1.lock().unwrap() {
            ask();
        }
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().within.push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.0.lock().unwrap().within.pop();
    }

    fn try_close(&self, span: Id) -> bool {
        self.0.lock().unwrap().lines.push(format!("closed {}", span.into_u64()));
        true
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}
}

/// One test, since the subscriber is global to the process.
#[test]
fn start_placement_failure_and_stop_are_events_of_the_runs_span() {
    let keeps = Keeps::default();
    set_global_default(keeps.clone()).unwrap();
    let lines = || std::mem::take(&mut keeps.0.lock().unwrap().lines);
    let assert_logged = |lines: &[String], parts: &[&str]| {
        assert!(lines.iter().any(|line| parts.iter().all(|part| line.contains(part))), "no {parts:?} in {lines:#?}");
    };
    let p = pipeline::<u64>().map(|x| 100 / (50 - x)).named("divide");

    let run = Rings::new().workers(1).start((&p).from(source::ready(0..40)).to_each(|_, _| ())).unwrap();
    run.set_workers(2).unwrap();
    run.wait().unwrap();
    let seen = lines();
    assert_logged(&seen, &["span run stages=1 workers=1 ring_bytes="]);
    assert_logged(&seen, &["Some(1) INFO", "started"]);
    assert_logged(&seen, &["Some(1) INFO", "placed", "1 worker, as asked for"]);
    assert_logged(&seen, &["Some(1) INFO", "placed", "2 workers, as asked for while running"]);
    assert_logged(&seen, &["Some(1) INFO", "ended", "ending=\"end\""]);
    assert_logged(&seen, &["closed 1"]);

    let failed = Rings::new().workers(1).for_each((&p).from(source::ready(0..60)), |_, _| ());
    assert!(failed.is_err());
    let seen = lines();
    assert_logged(&seen, &["Some(2) ERROR", "failed", "stage=\"divide\"", "number=50", "divide by zero"]);
    assert_logged(&seen, &["Some(2) INFO", "ended", "ending=\"failed\""]);

    let (sender, receiver) = source::channel(4096);
    let run = Rings::new().workers(1).start((&p).from(receiver).to_each(|_, _| ())).unwrap();
    sender.send(1).unwrap();
    run.stopper().drain();
    run.wait().unwrap();
    let seen = lines();
    assert_logged(&seen, &["Some(3) INFO", "draining"]);
    assert_logged(&seen, &["Some(3) INFO", "ended", "ending=\"drained\""]);

    let never = pipeline::<u64>().fanout(|p| p, |p| p.fold(0, |n, _| *n += 1, |n| n)).named("pairs");
    assert!(Rings::new().collect(never.from(0..3)).unwrap().is_empty());
    assert_logged(&lines(), &["Some(4) WARN", "likely mistake", "`pairs` never yields a value"]);

    let panics = dying_producer(|| ());
    assert_eq!(panics, 1);
    assert_logged(&lines(), &["Some(5) WARN", "producer panicked", "producer=0", "sent=1", "thread=\"feeder\""]);

    changes();
    let seen = lines();
    assert_logged(&seen, &["Some(6) INFO", "upgraded", "version=2", "at=1", "states_moved=1", "reason=\"it is time\""]);
    assert_logged(&seen, &["Some(6) WARN message=refused", "at=1", "has a migration that panicked: no"]);
    assert_logged(&seen, &["Some(6) WARN message=refused", "no such stage to take it"]);
    assert_logged(&seen, &["Some(6) INFO message=shadow at=1"]);
    assert_logged(
        &seen,
        &["Some(6) WARN message=shadow ended", "number 1: the running version yields Some(3), and the shadow"],
    );
    assert_logged(&seen, &["Some(6) INFO message=shadow ended", "the shadow has replaced the running version"]);
    assert_logged(&seen, &["Some(6) INFO", "upgraded", "version=3", "at=2", "its output agreed"]);
    assert_logged(&seen, &["Some(6) INFO message=shadow ended", "the shadow was dropped"]);

    elastic();
    let twice = lines().into_iter().filter(|line| line.contains("placed") && line.contains("gets 2 shards")).count();
    assert_eq!(twice, 1);

    asked_and_failing(&p, &keeps);

    // A subscriber's panic is as harmless on a thread that is panicking.
    let (asks, kept) = (keeps.1.clone(), keeps.0.clone());
    let panics = dying_producer(|| *asks.lock().unwrap() = Some(Box::new(|| panic!("a subscriber that fails"))));
    assert_eq!(panics, 1);
    asks.clear_poison();
    kept.clear_poison();
}

/// How many producers have ended by panics, in a run with one that panics after its first value.
fn dying_producer(first: impl FnOnce()) -> u64 {
    let alone = fan_in(1).isolate_panics();
    let (mut senders, poller) = alone.open(&Rings::new()).unwrap();
    let run = Rings::new().start(pipeline().from(poller).to_fold(0, |n, _, _: &u64| *n += 1)).unwrap();
    let sender = senders.remove(0);
    first();
    let thread = std::thread::Builder::new().name("feeder".to_owned()).spawn(move || {
        sender.send(1).unwrap();
        std::panic::resume_unwind(Box::new("meant to panic"))
    });
    assert!(thread.unwrap().join().is_err());
    let (n, report) = run.wait().unwrap();
    assert_eq!(n, 1);
    report.producer_panics.count
}

/// Upgrades that are carried out and refused, and shadows that end in all ways.
fn changes() {
    let sums = |more: u64| {
        let add = move |sum: &mut u64, x: &u64| {
            *sum += x + more;
            *sum
        };
        pipeline::<u64>().scan(0_u64, add).named("sum")
    };
    let (sender, receiver) = source::channel(64);
    let run = Rings::new().workers(1).start(sums(0).from(receiver).to_each(|_, _| ())).unwrap();
    sender.send(1).unwrap();
    run.upgrade(Upgrade::to(sums(0)).because("it is time")).unwrap();
    run.upgrade(Upgrade::to(sums(0)).migrate("sum", |_: u64| -> u64 { panic!("no") })).unwrap_err();
    run.upgrade(pipeline::<u64>().map(|x| *x)).unwrap_err();
    let differs = run.shadow(sums(1)).unwrap();
    sender.send(2).unwrap();
    differs.wait(1).unwrap_err();
    run.shadow(sums(0)).unwrap().cut_over().unwrap();
    drop(run.shadow(sums(0)).unwrap());
    run.upgrade(sums(0)).unwrap();
    sender.send(3).unwrap();
    drop(sender);
    run.wait().unwrap();
}

/// A run with one decision about the shards of a stage.
fn elastic() {
    let naps = |k: usize| {
        let nap = |x: &u64| {
            std::thread::sleep(Duration::from_micros(500));
            *x
        };
        pipeline::<u64>().shard(k, |p| p.map_blocking(nap).named("work"))
    };
    let (sender, receiver) = source::channel(64);
    let run = Rings::new().ring(64).start(naps(1).from(receiver).to_each(|_, _| ())).unwrap();
    let elastic = run.elastic(Elastic::of("work", 1..=2).window(Duration::from_millis(20)), naps).unwrap();
    let (mut sent, since) = (0..200, std::time::Instant::now());
    // And some more, so that the workers review what was decided.
    while run.changes().is_empty() || sent.next().is_some() {
        assert!(since.elapsed() < Duration::from_secs(60), "no change");
        sender.send(1).unwrap();
    }
    elastic.finish().unwrap();
    drop(sender);
    run.wait().unwrap();
}

/// A subscriber may query the run, and may panic.
fn asked_and_failing(p: &impl Deployable<In = Val<u64>, Out: RingShape>, keeps: &Keeps) {
    millstream_testkit::within(Duration::from_secs(60), {
        let (sender, receiver) = source::channel(64);
        let (handle, asks) = (p.from(receiver).to_each(|_, _| ()).start().unwrap(), keeps.1.clone());
        let keeps = keeps.clone();
        move || {
            let handle = Arc::new(handle);
            let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
            let (of, counts) = (Arc::downgrade(&handle), asked.clone());
            *asks.lock().unwrap() = Some(Box::new(move || {
                let run = of.upgrade().expect("the run is there");
                assert!(run.workers() > 0 && !run.observer().plan().stages.is_empty());
                counts.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                if run.workers() == 1 {
                    panic!("a subscriber that fails");
                }
            }));
            handle.set_workers(2).unwrap();
            handle.set_workers(1).unwrap();
            assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 2);
            // Its own poisoned locks are the test's concern.
            asks.clear_poison();
            *asks.lock().unwrap() = None;
            keeps.0.clear_poison();
            sender.send(1).unwrap();
            drop(sender);
            let handle = Arc::into_inner(handle).expect("no other reference is left");
            handle.wait().unwrap();
        }
    })
    .unwrap();
}
