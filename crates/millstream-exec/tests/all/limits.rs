//! The limits of a run on its machine, and its reports of them: cores, threads, memory.

use millstream_core::plan::Stage;
use millstream_core::text::Block;
use millstream_core::{Arrow, FeedbackExt, ModelExt, PartsExt, Retry, TryMapExt, pipeline};
use millstream_exec::{
    Feed, Inline, JobExt, JobRefExt, LimitedBy, OptionsError, Poller, Queues, Report, Rings, RunError, RunOutcome,
    Runner, Wait, fan_in, sink, source,
};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn spinning_is_refused(report: &Report) -> Vec<&str> {
    report.decisions.iter().filter_map(|decision| decision.strip_prefix("no busy-spin: there are ")).collect()
}

#[test]
fn spinning_is_refused_if_threads_outnumber_cores_and_the_report_says_why() {
    let (cores, spin) = (cores(), Rings::new().wait(Wait::BusySpin));
    // With the sink there is one tasklet more than there are cores; with the source's thread, two.
    let p = pipeline::<u64>().shard(cores, |p| p.map(|x| x + 1));
    let report = spin.clone().workers(1000).for_each(p.from(0..5), |_, _| ()).unwrap();
    let reason = format!("{} threads for {cores} usable cores; they wait phased instead", cores + 2);
    assert_eq!(spinning_is_refused(&report), [reason]);
    assert_eq!(report.cores.usable, cores);
    // The number of threads counts, not the number of workers asked for.
    let p = pipeline::<u64>();
    let report = spin.clone().workers(1000).for_each(p.from(source::ready(0..5)), |_, _| ()).unwrap();
    assert_eq!(spinning_is_refused(&report).len(), usize::from(cores < 2));
}

#[test]
fn threads_of_stages_that_block_count_as_well() {
    let (cores, spin) = (cores(), Rings::new().wait(Wait::BusySpin).workers(1));
    let reason = format!("{} threads for {cores} usable cores; they wait phased instead", cores + 1);
    let blocking = pipeline::<u64>().shard(cores, |p| p.map_blocking(|x| x + 1));
    let report = spin.for_each((&blocking).from(source::ready(0..5)), |_, _| ()).unwrap();
    assert_eq!(spinning_is_refused(&report), [&*reason]);
    let retrying = pipeline::<u64>().shard(cores, |p| p.try_map_retry(Retry::times(1), |x| Ok::<_, String>(*x)));
    let report = spin.for_each((&retrying).from(source::ready(0..5)), |_, _| ()).unwrap();
    assert_eq!(spinning_is_refused(&report), [&*reason]);
}

#[test]
fn workers_that_come_later_count_as_well() {
    let cores = cores();
    let p = pipeline::<u64>().shard(cores, |p| p.map(|x| x + 1));
    let run =
        Rings::new().wait(Wait::BusySpin).workers(1).start(p.from(source::ready(0..)).to_each(|_, _| ())).unwrap();
    run.set_workers(cores + 1).unwrap();
    run.set_workers(1).unwrap();
    run.set_workers(cores + 1).unwrap();
    let ((), report) = run.drain(Duration::from_secs(60)).unwrap();
    let reason = format!("{} threads for {cores} usable cores; they wait phased instead", cores + 1);
    assert_eq!(spinning_is_refused(&report), [reason]);
}

#[test]
fn threads_of_another_version_count_as_well() {
    let cores = cores();
    let (sender, receiver) = source::channel(64);
    let spin = Rings::new().wait(Wait::BusySpin).workers(1);
    let run = spin.start(pipeline::<u64>().map(|x| x + 1).from(receiver).to_each(|_, _| ())).unwrap();
    run.upgrade(pipeline::<u64>().shard(cores, |p| p.map_blocking(|x| x + 1))).unwrap();
    drop(sender);
    let ((), report) = run.wait().unwrap();
    // A worker, the sender's thread, and the shards'; on a single core, the first two are too many.
    let threads = if cores > 1 { cores + 2 } else { 2 };
    let reason = format!("{threads} threads for {cores} usable cores; they wait phased instead");
    assert_eq!(spinning_is_refused(&report), [reason]);
}

/// Sinks beside the pipeline have threads of their own.
#[test]
fn sinks_beside_the_pipeline_are_explained_as_well() {
    let p = pipeline::<u64>()
        .tee_to("log", sink::last())
        .try_map_or_dead_letter("risky", |x| if *x == 3 { Err("three") } else { Ok(*x) }, |_| ())
        .map_blocking(|x| x + 1)
        .named("slow");
    let rings = Rings::new().wait(Wait::BusySpin).workers(1);
    let ready = source::ready(0..9_u64);
    let explained = rings.explain(&p.plan(), feed_of(&ready));
    let report = rings.for_each((&p).from(ready), |_, _| ()).unwrap();
    let mut own: Vec<_> = report.stages.iter().filter(|stage| stage.blocking).map(|stage| (&*stage.name, 1)).collect();
    let mut blocking: Vec<_> = explained.blocking.iter().map(|b| (&*b.stage, b.threads)).collect();
    assert_eq!(blocking, [("slow", 1), ("risky.dead-letters", 1), ("log", 1)]);
    own.sort_unstable();
    blocking.sort_unstable();
    assert_eq!((own, explained.tasklets.own_thread), (blocking, 3));
    assert_eq!(explained.tasklets.shared + 3, report.tasklets);
}

/// A stage with the name of an end is a stage.
#[test]
fn a_stage_named_source_is_in_the_report() {
    let p = pipeline::<u64>().map(|x| x + 1).named("source");
    let report = Rings::new().for_each((&p).from((0..9).map(|x: u64| x)), |_, _| ()).unwrap();
    let rows: Vec<_> = report.stages.iter().map(|stage| (&*stage.name, stage.blocking, stage.moved)).collect();
    assert_eq!(rows, [("source", true, 10), ("source", false, 10), ("sink", false, 10)]);
    // So it is where a tasklet drops the values of the source.
    let p = pipeline::<Box<u64>>().map(|x| **x).named("source");
    let report = Rings::new().for_each((&p).from((0..9).map(Box::new)), |_, _| ()).unwrap();
    let rows: Vec<_> = report.stages.iter().map(|stage| (&*stage.name, stage.blocking)).collect();
    assert_eq!(rows, [("source", true), ("source", false), ("sink", false)]);
}

/// A run matches its explanation.
#[test]
fn a_run_is_as_it_was_explained() {
    let p = pipeline::<u64>()
        .shard(2, |p| p.map_blocking(|x| x + 1).named("slow"))
        .fanout(
            |p| p.filter(|x| x % 2 == 0),
            |p| p.try_map_retry(Retry::times(2), |x| Ok::<_, String>(*x)).named("again"),
        )
        .map(|(a, b)| a + b);
    let rings = Rings::new().ring(64).workers(99);
    let waits = (0..9_u64).chain([9]);
    let waiting = (rings.explain(&p.plan(), feed_of(&waits)), rings.for_each((&p).from(waits), |_, _| ()).unwrap());
    let range = (
        rings.explain(&p.plan(), Feed::source::<u64, Range<u64>>()),
        rings.for_each((&p).from(0..9), |_, _| ()).unwrap(),
    );
    let ready = source::ready(0..9_u64);
    let never = (rings.explain(&p.plan(), feed_of(&ready)), rings.for_each(p.from(ready), |_, _| ()).unwrap());
    assert_eq!([&waiting, &range, &never].map(|(explained, _)| explained.tasklets.shared), [3, 4, 4]);
    for (explained, report) in [waiting, range, never] {
        let own = report.stages[1..].iter().filter(|stage| stage.blocking).count();
        assert_eq!(explained.tasklets.own_thread, own);
        assert_eq!(explained.tasklets.shared, report.tasklets - own);
        assert_eq!(explained.workers.most, report.workers);
        assert_eq!(explained.rings.bytes, report.ring_bytes);
        assert_eq!(explained.cores, report.cores);
        let blocking: Vec<_> = explained.blocking.iter().map(|b| (&*b.stage, b.threads)).collect();
        assert_eq!(blocking, [("slow", 2), ("again", 1)]);
    }
}

/// One worker runs all of a loop, also of one around another.
#[test]
fn workers_of_loops_are_as_explained() {
    let p = pipeline::<u64>()
        .feedback(1, |p| p.map(|(x, s)| (x + s, s + 1)).feedback(2, |p| p.map(|(x, t)| (*x, t + 1))))
        .feedback(3, |p| p.map(|(x, s)| (x ^ s, s + 1)))
        .map(|x| x + 1);
    for workers in [99, 4] {
        let (rings, ready) = (Rings::new().workers(workers), source::ready(0..9_u64));
        let explained = rings.explain(&p.plan(), Feed::of(&ready));
        let report = rings.for_each((&p).from(ready), |_, _| ()).unwrap();
        let most = format!("{} workers, as asked for", workers.min(5));
        assert!(report.decisions[0].starts_with(&most), "{:?}", report.decisions);
        assert_eq!(explained.workers.most, workers.min(5), "{explained}");
        assert_eq!(explained.tasklets.shared, report.tasklets);
    }
}

/// The name of a thread has no NUL, but that of a stage may.
#[test]
fn a_stage_with_a_nul_in_its_name_has_a_thread() {
    let p = pipeline::<u64>().map_blocking(|x| x + 1).named("a\0b");
    assert_eq!(Rings::new().collect((&p).from(0..3)).unwrap(), [1, 2, 3]);
    assert_eq!(Queues::new().collect(p.from(0..3)).unwrap(), [1, 2, 3]);
}

/// What fills the ring of a run by itself is explained as the run takes it.
#[test]
fn a_run_of_senders_is_as_it_was_explained() {
    fn compare(rings: &Rings, source: impl source::Source<String>) {
        let p = pipeline::<String>().map(|x| x.len());
        let explained = rings.explain(&p.plan(), Feed::of(&source));
        let run = rings.start(p.from(source).to_each(|_, _| ())).unwrap();
        run.begin_drain();
        let ((), report) = run.wait().unwrap();
        assert_eq!(explained.rings.bytes, report.ring_bytes, "{explained}");
        assert_eq!(explained.tasklets.shared, report.tasklets);
    }
    let rings = Rings::new().ring(64);
    compare(&rings, source::channel(16).1);
    compare(&rings, source::few::<4, _>(source::channel(16).1));
    let poller = || -> Poller<String> { fan_in(4).open(&rings).unwrap().1 };
    compare(&rings, poller());
    compare(&rings, source::few::<4, _>(poller()));
}

fn feed_of<X: source::Source<u64>>(_: &X) -> Feed {
    Feed::source::<u64, X>()
}

#[test]
fn rings_beyond_the_limit_are_refused_before_anything_runs() {
    let p = pipeline::<u64>().map(|x| (*x, *x));
    let rings = Rings::new().ring(1024).memory_limit(24 * 1024 - 1);
    let source = std::iter::from_fn(|| -> Option<u64> { panic!("a refused run takes no value") });
    let refused = rings.for_each((&p).from(source), |_, _| ()).unwrap_err();
    let RunError::Options(OptionsError::Memory { slots, bytes, limit, fit }) = refused else { panic!("{refused}") };
    assert_eq!((slots, bytes, limit.bytes, limit.by, fit), (1024, 24 * 1024, 24 * 1024 - 1, LimitedBy::Options, 512));
    assert_eq!(rings.clone().ring(512).collect((&p).from(0..3)).unwrap(), p.model(0..3));
    assert!(Inline::new(rings.clone()).run((&p).from(0..3).to_each(|_, _| ())).is_err());
    let (sender, receiver) = source::channel(1024);
    assert!(rings.start((&p).from(receiver).to_each(|_, _| ())).is_err());
    assert!(sender.send(1).is_err());
    let none = rings.memory_limit(23).collect((&p).from(0..3)).unwrap_err();
    assert!(none.to_string().ends_with("no ring is small enough; fewer stages, or smaller values"), "{none}");
}

/// Far more than any machine has; nothing is allocated.
#[test]
#[cfg(target_os = "linux")]
fn the_machines_memory_is_a_limit() {
    let p = pipeline::<u64>().map(|x| *x);
    for slots in [1 << 50, 1 << 62] {
        let refused = Rings::new().ring(slots).collect((&p).from(0..3)).unwrap_err().to_string();
        let by = ["and the machine has", "and the control group allows"];
        assert!(by.iter().any(|by| refused.contains(by)), "{refused}");
        assert!(refused.contains("rings of at most"), "{refused}");
    }
}

#[test]
fn a_failed_run_reports_what_it_did() {
    let p = pipeline::<u64>().map(|x| 10_000 / (1000 - x)).named("divide");
    for workers in 1..4 {
        let rings = Rings::new().ring(16).workers(workers);
        let run = rings.start((&p).from(source::ready(0..)).to_fold(Vec::new(), |all, _, x| all.push(*x))).unwrap();
        let ended = run.join();
        let state = ended.output.expect("the sink did not fail");
        assert!(ended.failure.unwrap().to_string().starts_with("stage \"divide\", number 1000"));
        assert_eq!((ended.report.outcome, ended.report.values), (RunOutcome::Failed, state.len() as u64));
        assert_eq!(ended.report.numbers.0, state.len() as u64);
        assert!(ended.report.stages[1].moved <= 1000);
        assert!(state.iter().copied().eq((0..state.len() as u64).map(|x| 10_000 / (1000 - x))));
    }
}

/// The values that a failing sink has seen count; the one at which it failed does not.
#[test]
fn a_sink_that_fails_has_its_state_and_its_count() {
    let sink = |n: &mut u64, number: millstream_core::SequenceNumber, _: &u64| {
        assert!(number.0 < 77, "boom");
        *n += 1;
    };
    let ended =
        Rings::new().start(pipeline::<u64>().map(|x| *x).from(source::ready(0..1000)).to_fold(0, sink)).unwrap().join();
    assert_eq!((ended.output, ended.report.values, ended.report.numbers.0), (Some(77), 77, 77));
    assert_eq!(ended.failure.unwrap().to_string(), "stage \"sink\", number 77: panicked: boom");
}

/// The plan knows the stages that may wait as well as the deployment does.
#[test]
fn plans_know_which_stages_have_threads() {
    let p = pipeline::<u64>().map_blocking(|x| *x).map(|x| *x).try_map(|x| Ok::<_, String>(*x));
    let report = Rings::new().for_each((&p).from(source::ready(0..3)), |_, _| ()).unwrap();
    let planned: Vec<_> = p.plan().stages.into_iter().map(|Stage { name, blocking, .. }| (name, blocking)).collect();
    let ran = &report.stages[1..report.stages.len() - 1];
    assert_eq!(planned, ran.iter().map(|stage| (stage.name.clone(), stage.blocking)).collect::<Vec<_>>());
}

/// The most values that a run with rings or queues of the usual size takes from a source of `n` values while its first
/// stage holds the first one for as long as more of them come.
fn taken<T>(start: impl FnOnce(Counted<T>, Arc<AtomicUsize>) -> usize, values: Vec<T>) -> usize {
    let taken = Arc::new(AtomicUsize::new(0));
    start(Counted { values: values.into_iter(), taken: taken.clone() }, taken)
}

/// Counts the values taken from it.
struct Counted<T> {
    values: std::vec::IntoIter<T>,
    taken: Arc<AtomicUsize>,
}

impl<T> Iterator for Counted<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.values.next()
    }
}

/// How many values have been taken, once no more are taken for a while.
fn settled(taken: &AtomicUsize) -> usize {
    let mut last = usize::MAX;
    loop {
        let now = taken.load(Ordering::Relaxed);
        if now == last {
            return now;
        }
        last = now;
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Blocks own many kilobytes: a source of them has few slots by itself. `few` applies to queues as well.
#[test]
fn large_values_are_few() {
    let blocks: Vec<Block> = (0..1000).map(|_| Block::from(vec![b'x'; 10])).collect();
    let hold = |taken: Arc<AtomicUsize>| {
        let most = Arc::new(AtomicUsize::new(0));
        let seen = most.clone();
        let stage = move |_: &Block| {
            if seen.load(Ordering::Relaxed) == 0 {
                seen.store(settled(&taken), Ordering::Relaxed);
            }
        };
        (pipeline::<Block>().map(stage), most)
    };
    let by_rings = |values: Counted<Block>, taken| {
        let (p, most) = hold(taken);
        Rings::new().for_each((&p).from(values), |_, _: &()| ()).unwrap();
        most.load(Ordering::Relaxed)
    };
    let by_queues = |values: Counted<Block>, taken| {
        let (p, most) = hold(taken);
        Queues::new().start((&p).from(values).to_each(|_, _: &()| ())).unwrap().wait().unwrap();
        most.load(Ordering::Relaxed)
    };
    let by_few_queues = |values: Counted<Block>, taken| {
        let (p, most) = hold(taken);
        Queues::new().start((&p).from(source::few::<4, _>(values)).to_each(|_, _: &()| ())).unwrap().wait().unwrap();
        most.load(Ordering::Relaxed)
    };
    // The slots, one in the source, and one in the stage.
    for (taken, slots) in [
        (taken(by_rings, blocks.clone()), 16),
        (taken(by_queues, blocks.clone()), 16),
        (taken(by_few_queues, blocks), 4),
    ] {
        assert!((1..=slots + 2).contains(&taken), "{taken} of {slots}");
    }
}
