//! Sinks, reports and refusals of runs whose pipeline is replaced.

use super::{AT, number};
use millstream_core::{Arrow, ClockExt, PartsExt, SequenceNumber, StreamsExt, Val, Window, pipeline};
use millstream_exec::{JobExt, Rings, RunError, RunOutcome, Runner, Sink, UpgradeError, sink, source};
use millstream_testkit::within;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a sink gathers until it pauses, and what it has written then.
type Written = Arc<Mutex<Vec<u64>>>;

macro_rules! gathers {
    ($written:expr) => {{
        let written: Written = $written;
        sink::fold(Vec::new(), |gathered: &mut Vec<u64>, _, x: &u64| gathered.push(*x))
            .on_pause(move |gathered| written.lock().unwrap().append(gathered))
    }};
}

/// What it has gathered is not held back.
#[test]
fn a_sink_that_is_replaced_pauses() {
    let [old, new, end] = std::array::from_fn(|_| Written::default());
    let version = |written: &Written| pipeline::<u64>().map(|x| *x).tee_to("rows", gathers!(written.clone()));
    let (sender, receiver) = source::channel(64);
    let job = version(&old).from(receiver).to(gathers!(end.clone()));
    let run = Rings::new().batch(4).start(job).unwrap();
    sender.send_all(0..10).unwrap();
    assert_eq!(run.upgrade(version(&new)), Ok(number(10)));
    assert_eq!(*old.lock().unwrap(), (0..10).collect::<Vec<_>>());
    assert_eq!(*end.lock().unwrap(), (0..10).collect::<Vec<_>>());
    sender.send_all(10..20).unwrap();
    drop(sender);
    run.wait().unwrap();
    assert_eq!(*new.lock().unwrap(), (10..20).collect::<Vec<_>>());
    assert_eq!(end.lock().unwrap().len(), 20);
}

/// How the sinks of all versions were finished; one that cannot be if it is to.
#[derive(Clone)]
struct Finished(Arc<Mutex<Vec<RunOutcome>>>, bool, Result<(), &'static str>);

impl Sink<Val<u64>> for Finished {
    type Output = ();
    type Error = &'static str;

    fn put(&mut self, _: SequenceNumber, _: &u64) -> Result<(), &'static str> {
        Ok(())
    }

    fn finish(self, outcome: RunOutcome) -> Result<(), &'static str> {
        self.0.lock().unwrap().push(outcome);
        self.2
    }

    fn goes_on(&self) -> bool {
        self.1
    }
}

/// A run that is changed again and again keeps none of them.
#[test]
fn a_sink_that_is_replaced_is_finished_at_the_change() {
    for goes_on in [false, true] {
        let sink = Finished(Arc::default(), goes_on, Ok(()));
        let version = || pipeline::<u64>().map(|x| *x).tee_to("rows", sink.clone());
        let (sender, receiver) = source::channel(64);
        let run = Rings::new().start(version().from(receiver).to(sink::collect())).unwrap();
        let finished = || sink.0.lock().unwrap().clone();
        for change in 1..5 {
            sender.send(change).unwrap();
            run.upgrade(version()).unwrap();
            assert_eq!(finished(), vec![RunOutcome::Drained; if goes_on { 0 } else { change as usize }]);
        }
        drop(sender);
        run.wait().unwrap();
        // Of those that go on, the last one that was replaced, and the present one.
        assert!(finished().ends_with(&[RunOutcome::End]));
        assert_eq!(finished().len(), if goes_on { 2 } else { 5 });
    }
}

#[test]
fn a_sink_that_cannot_finish_at_a_change_fails_the_run() {
    let sink = Finished(Arc::default(), false, Err("disk full"));
    let version = || pipeline::<u64>().map(|x| *x).tee_to("rows", sink.clone());
    let rings = Rings::new().batch(4).upgrade_at(AT, version());
    let failure = rings.collect(version().from(source::ready(0..100))).unwrap_err().to_string();
    assert!(failure.starts_with("stage \"rows\"") && failure.ends_with("disk full"), "{failure}");
    assert!(sink.0.lock().unwrap().starts_with(&[RunOutcome::Drained]));
}

#[test]
fn a_sink_that_cannot_pause_at_a_change_fails_the_run() {
    let version = |fails: bool| {
        let sink = sink::fold((), |_: &mut (), _, _: &u64| Ok(()))
            .on_pause(move |_: &mut ()| if fails { Err("disk full") } else { Ok(()) });
        pipeline::<u64>().map(|x| *x).tee_to("rows", sink)
    };
    let rings = Rings::new().batch(4).upgrade_at(AT, version(false));
    let failure = rings.collect(version(true).from(source::ready(0..100))).unwrap_err().to_string();
    assert!(failure.starts_with("stage \"rows\"") && failure.ends_with("disk full"), "{failure}");
}

#[test]
fn the_report_has_the_numbers_of_all_versions() {
    let version = |k| pipeline::<u64>().shard(k, |p| p.map(|x| *x).named("work")).map(|x| *x).named("then");
    let rings = Rings::new().batch(4).upgrade_at(number(40), version(1)).upgrade_at(number(70), version(2));
    let (all, report) = rings.run(version(3).from(source::ready(0..100)).to(sink::collect())).unwrap();
    assert_eq!(all, (0..100).collect::<Vec<_>>());
    let rows: Vec<_> = report.stages.iter().map(|stage| &*stage.name).collect();
    assert_eq!(rows, ["source", "work", "work", "work", "then", "sink"]);
    let moved = |name| report.stages.iter().filter(|stage| stage.name == name).map(|stage| stage.moved).sum::<u64>();
    assert_eq!([moved("source"), moved("then"), moved("sink")], [101; 3]);
    // The mates of a group share the numbers; a mate need not count END.
    assert!((100..=103).contains(&moved("work")), "{}", moved("work"));
    assert_eq!(report.tasklets, 5, "of the last version");
}

/// A state whose clone panics while this is set.
struct Unclonable(u64, Arc<AtomicBool>);

impl Clone for Unclonable {
    fn clone(&self) -> Self {
        assert!(!self.1.load(Ordering::Relaxed), "does not clone");
        Unclonable(self.0, self.1.clone())
    }
}

/// Its stages cannot begin. The old pipeline goes on.
#[test]
fn a_start_state_that_cannot_be_cloned_refuses_an_upgrade() {
    let broken: Arc<AtomicBool> = Arc::default();
    let version = |breaks_at: u64| {
        let state = Unclonable(0, broken.clone());
        let p = pipeline::<u64>().map(|x| *x).scan(state, move |sum: &mut Unclonable, x| {
            sum.1.fetch_or(*x == breaks_at, Ordering::Relaxed);
            sum.0 += x;
            sum.0
        });
        p.named("sum")
    };
    let taken: Arc<AtomicU64> = Arc::default();
    let counts = taken.clone();
    let rings = Rings::new().snapshot_every(1_000_000, move |_| _ = counts.fetch_add(1, Ordering::Relaxed));
    let (sender, receiver) = source::channel(16);
    let run = rings.start(version(1000).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    let next = [version(1000), version(1000), version(1000)];
    broken.store(true, Ordering::Relaxed);
    for next in next {
        let why = run.upgrade(next).unwrap_err();
        assert_eq!(why, UpgradeError::Panicked("panicked: does not clone".to_owned()));
    }
    assert_eq!(taken.load(Ordering::Relaxed), 0, "a snapshot without a state is none");
    broken.store(false, Ordering::Relaxed);
    assert_eq!(run.snapshot().map(|snapshot| snapshot.at()), Some(number(10)));
    assert_eq!(run.upgrade(version(1000)), Ok(number(10)));
    sender.send_all(10..20).unwrap();
    drop(sender);
    assert_eq!(run.wait().unwrap().0.last(), Some(&190));
    // Planned, it is the run's failure.
    let planned = Rings::new().batch(1).upgrade_at(number(6), version(1000));
    let failed = planned.collect(version(5).from(source::ready(0..10))).unwrap_err();
    assert!(matches!(failed, RunError::Upgrade(UpgradeError::Panicked(_))), "{failed}");
}

/// A stage that has passed the mark may not have noted it when the last one refuses.
#[test]
fn a_refused_pipeline_leaves_no_stage_behind() {
    let sums = |named| {
        let p = pipeline::<u64>().shard(3, |p| p.map(|x| *x)).map_blocking(|x| *x).shard(2, |p| p.map(|x| *x));
        let p = p.scan(0_u64, |sum, x| {
            *sum += x;
            *sum
        });
        p.named(named)
    };
    let all = move || {
        let (sender, receiver) = source::channel(64);
        let run = Rings::new().workers(2).start(sums("sum").from(receiver).to(sink::last())).unwrap();
        for x in 0..1000 {
            sender.send(x).unwrap();
            assert!(matches!(run.upgrade(sums("total")), Err(UpgradeError::Check(_))));
        }
        drop(sender);
        run.wait().unwrap().0
    };
    assert_eq!(within(Duration::from_secs(60), all), Ok(Some(999 * 500)));
}

/// A stage with a state in one version, of a name that starts a clock or has none in the other.
#[test]
fn a_state_is_never_left_behind() {
    macro_rules! refused {
        ($old:expr, $next:expr, $why:expr) => {{
            let (sender, receiver) = source::channel(16);
            let run = Rings::new().start($old.from(receiver).to(sink::collect())).unwrap();
            sender.send_all(0..4_u64).unwrap();
            let why = run.upgrade($next).unwrap_err().to_string();
            assert!(why.ends_with($why), "{why}");
        }};
    }
    let chunks = || pipeline::<u64>().chunks(3).named("x").map(|x| x.len() as u64).any_edge();
    let ones = || pipeline::<u64>().flat_map(|x| [*x]).named("x").map(|x| *x).any_edge();
    let windows = || {
        let p = pipeline::<u64>().windows_by(Window::tumbling(3), |x| *x).named("x");
        p.map(|window| window.values.len() as u64).any_edge()
    };
    refused!(chunks(), ones(), "it keeps a alloc::vec::Vec<u64> version 1, and would keep the numbers of its output");
    refused!(ones(), chunks(), "it keeps the numbers of its output, and would keep a alloc::vec::Vec<u64> version 1");
    refused!(windows(), ones(), "OpenWindows<u64> version 1, and would keep the numbers of its output");
    refused!(ones(), windows(), "OpenWindows<u64> version 1");
}

/// A run that does not begin takes nothing: a sender that waits for it gets its values back.
#[test]
fn a_run_that_is_refused_lets_its_sender_go() {
    let sums = |name: &str| pipeline::<u64>().scan(0, |sum: &mut u64, x| (*sum, *sum += x).0).named(name);
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(sums("a").from(receiver).to(sink::collect())).unwrap();
    let snapshot = run.snapshot().unwrap();
    drop((run, sender));
    let (sender, receiver) = source::channel(4);
    let waits = std::thread::spawn(move || sender.send_all(0..100).is_err());
    let refused = Rings::new().resume(snapshot).collect(sums("b").from(receiver)).unwrap_err();
    assert!(matches!(refused, RunError::Snapshot(_)), "{refused}");
    assert_eq!(within(Duration::from_secs(30), move || waits.join().unwrap()), Ok(true));
}
