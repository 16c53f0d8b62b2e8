//! A run's pipeline is replaced at a number: before the run starts, or while it goes on.

use millstream_core::{Arrow, AsyncExt, KeysExt, ModelExt, PartsExt, SequenceNumber, StreamsExt, TextExt, pipeline};
use millstream_exec::{
    Inline, JobExt, Rings, RunError, RunOutcome, Runner, Stepped, UpgradeError, fan_in, sink, source,
};
use millstream_testkit::within;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const AT: SequenceNumber = SequenceNumber(37);

fn number(n: u64) -> SequenceNumber {
    SequenceNumber(n)
}

macro_rules! sums {
    ($add:expr) => {
        pipeline::<u64>()
            .map(move |x| x + $add)
            .scan(0_u64, |sum, x| {
                *sum += x;
                *sum
            })
            .named("sum")
    };
}

// Behind the macro that it uses.
mod behind;
mod check;
mod close;
mod edges;
mod ends;
mod kept;
mod loaded;
#[cfg(feature = "durable")]
mod nested;
mod over;
#[cfg(target_os = "linux")]
mod own_threads;
mod refused;
mod reorder;
mod report;
mod rescale;
mod shadow;
mod shadow_fails;
mod shadow_over;
mod sinks;
mod smaller;
mod states;
mod tried;

/// The sums of the numbers below `n`, of which those from `at` on are one greater.
fn sums_from(at: u64, n: u64) -> Vec<u64> {
    let each = (0..n).map(|x| x + u64::from(x >= at));
    each.scan(0, |sum, x| {
        *sum += x;
        Some(*sum)
    })
    .collect()
}

#[test]
fn the_new_pipeline_begins_at_its_number_with_the_states_of_the_old_one() {
    for batch in [1, 5, 64] {
        for ring in [1, 16, 256] {
            let rings = Rings::new().ring(ring).batch(batch).upgrade_at(AT, sums!(1));
            let expected = sums_from(AT.0, 100);
            assert_eq!(rings.collect(sums!(0).from(source::ready(0..100))), Ok(expected.clone()));
            assert_eq!(rings.collect(sums!(0).from(0..100)), Ok(expected.clone()));
            assert_eq!(Inline::new(rings.clone()).collect(sums!(0).from(0..100)), Ok(expected.clone()));
            for seed in 0..20 {
                let stepped = Stepped::new(rings.clone(), seed);
                assert_eq!(stepped.collect(sums!(0).from(source::ready(0..100))), Ok(expected.clone()), "seed {seed}");
            }
        }
    }
}

#[test]
fn upgrades_follow_one_another_and_snapshots_do() {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let keep = taken.clone();
    let rings = Rings::new()
        .batch(8)
        .upgrade_at(number(60), sums!(3))
        .upgrade_at(number(20), sums!(1))
        .upgrade_at(number(40), sums!(2).map(|x: &u64| *x))
        .snapshot_every(30, move |snapshot| keep.lock().unwrap().push(snapshot));
    let added = |x: u64| x / 20;
    let expected = |n: u64| (0..n).map(|x| x + added(x)).sum::<u64>();
    let (all, report) = rings.run(sums!(0).from(source::ready(0..80)).to(sink::collect())).unwrap();
    assert_eq!(all, (1..=80).map(expected).collect::<Vec<_>>());
    // Once a name, in the order of the last pipeline; what has gone comes before the sink.
    let rows: Vec<_> = report.stages.iter().map(|stage| (&*stage.name, stage.moved)).collect();
    assert_eq!(rows, [("source", 81), ("map-1", 81), ("sum", 81), ("map-2", 20), ("sink", 81)]);
    let taken = taken.lock().unwrap();
    assert!(!taken.is_empty());
    for snapshot in taken.iter().filter(|snapshot| snapshot.at().0 > 60) {
        let at = snapshot.at().0;
        let rest = Rings::new().resume(snapshot.clone()).collect(sums!(3).from(source::ready(at..80)));
        assert_eq!(rest.unwrap(), all[at as usize..]);
    }
}

/// Every number goes through the closures of exactly one version, in every kind of stage that calls some.
#[test]
fn no_number_goes_through_both_versions() {
    let seen: [Arc<Mutex<Vec<u64>>>; 2] = Default::default();
    macro_rules! version {
        ($which:expr) => {{
            let (here, there, async_seen) = (seen[$which].clone(), seen[$which].clone(), seen[$which].clone());
            let (blocking, first) = (seen[$which].clone(), seen[$which].clone());
            pipeline::<u64>()
                .map(move |x| {
                    first.lock().unwrap().push(*x);
                    *x
                })
                .shard(3, |p| {
                    p.map(move |x| {
                        here.lock().unwrap().push(*x);
                        *x
                    })
                })
                .shard(2, move |p| {
                    p.map_blocking(move |x| {
                        blocking.lock().unwrap().push(*x);
                        *x
                    })
                })
                .map_async(4, move |x| {
                    async_seen.lock().unwrap().push(*x);
                    std::future::ready(*x)
                })
                .tee(|p| p.map(move |x| there.lock().unwrap().push(*x)))
        }};
    }
    for at in [0, 1, 37, 99] {
        let rings = Rings::new().ring(16).batch(4).workers(2).upgrade_at(number(at), version!(1));
        assert_eq!(rings.collect(version!(0).from(source::ready(0..100))), Ok((0..100).collect()));
        for (seen, range) in seen.iter().zip([0..at, at..100]) {
            let mut seen = std::mem::take(&mut *seen.lock().unwrap());
            seen.sort_unstable();
            let expected: Vec<_> = range.flat_map(|x| [x; 5]).collect();
            assert_eq!(seen, expected, "at {at}");
        }
    }
}

#[test]
fn a_run_that_goes_on_is_upgraded() {
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
    assert_eq!(run.upgrade(sums!(0)), Ok(number(0)), "nothing was sent");
    sender.send_all(0..10).unwrap();
    assert_eq!(run.upgrade(sums!(1)), Ok(number(10)));
    assert_eq!(run.snapshot().unwrap().at(), number(10));
    sender.send_all(10..20).unwrap();
    // Other stages and threads, and observed.
    let before = run.observer();
    run.observe(true);
    let next = pipeline::<u64>().map_blocking(|x| x + 1).shard(3, |p| p.map(|x| *x));
    let next = next.scan(0_u64, |sum, x| {
        *sum += x;
        *sum
    });
    assert_eq!(run.upgrade(next.named("sum")), Ok(number(20)));
    assert_eq!(before.plan().stages.len(), 2);
    assert_eq!(run.observer().plan().stages.len(), 3);
    sender.send_all(20..30).unwrap();
    drop(sender);
    let observer = run.observer();
    let (all, report) = run.wait().unwrap();
    assert_eq!(all, sums_from(10, 30));
    assert_eq!((report.outcome, report.numbers, report.values), (RunOutcome::End, number(30), 30));
    assert_eq!(observer.noted(), observer.passed(0));
    assert_eq!(report.stages.iter().find(|stage| stage.name == "sum").map(|stage| stage.moved), Some(31));
}

#[test]
fn several_states_that_do_not_fit_are_a_line_each_below_what_to_do() {
    let (sender, receiver) = source::channel(16);
    let lengths = |names: [&str; 2]| {
        let p = pipeline::<u64>().scan(0_u64, |sum, x| *sum + x).named(names[0]);
        p.scan(0_u64, |sum, x| *sum + x).named(names[1])
    };
    let run = Rings::new().start(lengths(["a", "b"]).from(receiver).to(sink::collect())).unwrap();
    let refused = run.upgrade(lengths(["c", "d"])).unwrap_err();
    let text = "the pipeline was not replaced: 2 parts of the new one do not fit; \
                `Upgrade::to(next).dropping(stage)` lets a state be lost:\n  \
                stage \"a\": it keeps a u64 version 1, and the new pipeline has no such stage to take it\n  \
                stage \"b\": it keeps a u64 version 1, and the new pipeline has no such stage to take it";
    assert_eq!(refused.to_string(), text);
    drop(sender);
    run.wait().unwrap();
}

#[test]
fn a_pipeline_that_does_not_fit_is_refused_and_the_old_one_goes_on() {
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    let refused = |error: UpgradeError| {
        assert!(matches!(error, UpgradeError::Check(_)), "{error}");
        error.to_string()
    };
    let lost = "the pipeline was not replaced: stage \"sum\": it keeps a u64 version 1, and the new pipeline has no such \
                stage to take it (`Upgrade::to(next).dropping(stage)` lets a state be lost)";
    assert_eq!(refused(run.upgrade(pipeline::<u64>().map(|x| x + 1)).unwrap_err()), lost);
    let other = pipeline::<u64>().map(|x| *x as u32).scan(0_u32, |sum, x| *sum + x).named("sum").map(|x| u64::from(*x));
    let why = refused(run.upgrade(other).unwrap_err());
    assert!(why.ends_with("stage \"sum\": its state is a u64 version 1, and would be u32 version 1"), "{why}");
    let ends = run.upgrade(pipeline::<u32>().map(|x| u64::from(*x))).unwrap_err();
    assert!(matches!(ends, UpgradeError::OtherEnds { .. }), "{ends}");
    let ends = run.upgrade(sums!(0).map(|x: &u64| x.to_string())).unwrap_err().to_string();
    assert!(ends.contains("yields `millstream_core::shape::Val<alloc::string::String"), "{ends}");
    sender.send_all(10..20).unwrap();
    assert_eq!(run.upgrade(sums!(1)), Ok(number(20)), "it can be replaced all the same");
    sender.send_all(20..30).unwrap();
    drop(sender);
    assert_eq!(run.wait().unwrap().0, sums_from(20, 30));
}

/// A state whose clone panics once.
#[derive(Default)]
struct Fragile(u64, Arc<AtomicU64>);

impl Clone for Fragile {
    fn clone(&self) -> Self {
        if self.1.swap(0, Ordering::Relaxed) == 1 {
            panic!("does not clone");
        }
        Fragile(self.0, self.1.clone())
    }
}

#[test]
fn a_panic_while_the_new_pipeline_is_wired_leaves_the_old_one() {
    let panics = Arc::new(AtomicU64::new(0));
    let p = || {
        let state = Fragile(0, panics.clone());
        let p = pipeline::<u64>().shard(2, |p| p.map(|x| *x));
        p.scan(state, |sum: &mut Fragile, x| {
            sum.0 += x;
            sum.0
        })
        .named("sum")
    };
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(p().from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    // The state with which a stage would begin is a clone.
    panics.store(1, Ordering::Relaxed);
    let refused = run.upgrade(p()).unwrap_err().to_string();
    assert!(refused.ends_with("user code panicked: does not clone while the new one was wired"), "{refused}");
    sender.send_all(10..20).unwrap();
    assert_eq!(run.upgrade(p()), Ok(number(20)));
    sender.send_all(20..30).unwrap();
    drop(sender);
    assert_eq!(run.wait().unwrap().0, sums_from(30, 30));
}

#[test]
fn a_planned_upgrade_that_does_not_fit_fails_the_run() {
    let plain = || pipeline::<u64>().map(|x| x + 1);
    let fails = |rings: &Rings| rings.collect(sums!(0).from(source::ready(0..100))).unwrap_err();
    let other = Rings::new().upgrade_at(AT, pipeline::<u32>().map(|x| u64::from(*x)));
    assert!(matches!(fails(&other), RunError::Upgrade(UpgradeError::OtherEnds { .. })));
    let stateless = Rings::new().upgrade_at(AT, plain());
    assert!(matches!(fails(&stateless), RunError::Upgrade(UpgradeError::Check(_))));
    let itself = stateless.iter(plain().from(source::ready(0..100))).map(drop).unwrap_err();
    assert_eq!(itself, RunError::Upgrade(UpgradeError::OutputTaken));
    // Behind END there is none.
    let late = Rings::new().upgrade_at(number(101), plain());
    assert_eq!(late.collect(sums!(0).from(source::ready(0..100))), Ok(sums_from(100, 100)));
}

/// What the source brings goes on to come while stages are replaced, whatever the source is.
#[test]
fn every_source_goes_on() {
    let ends = within(Duration::from_secs(60), || {
        let (senders, poller) = fan_in::<u64>(2).open(&Rings::new()).unwrap();
        let run = Rings::new().start(sums!(0).from(poller).to(sink::last())).unwrap();
        let senders = senders.into_iter().map(|sender| {
            std::thread::spawn(move || {
                for x in 0..5000 {
                    sender.send(x).unwrap();
                }
            })
        });
        let threads: Vec<_> = senders.collect();
        for _ in 0..20 {
            // The producers may have ended.
            let _ = run.upgrade(sums!(0));
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        run.wait().unwrap().0
    });
    assert_eq!(ends.unwrap(), Some(4999 * 5000));
}

#[test]
fn a_stage_that_ends_the_stream_ends_it_in_the_new_version() {
    let both = |upto| pipeline::<u64>().map(|x| *x).take(upto).named("take");
    let rings = Rings::new().batch(4).upgrade_at(AT, both(50));
    let (all, report) = rings.run(both(50).from(0..).to(sink::collect())).unwrap();
    assert_eq!((all, report.numbers), ((0..50).collect(), number(50)));
    // It was over before.
    assert_eq!(rings.collect(both(20).from(0..)), Ok((0..20).collect()));
}

#[test]
fn a_failure_in_the_new_version_names_its_stage() {
    let p = pipeline::<u64>().map(|x| 100 / (60 - x)).named("divide");
    let rings = Rings::new().batch(4).upgrade_at(AT, p);
    let ended = rings.start(pipeline::<u64>().map(|x| x + 1).from(source::ready(0..100)).to(sink::collect()));
    let ended = ended.unwrap().join();
    let failure = ended.failure.unwrap().to_string();
    assert!(failure.starts_with("stage \"divide\", number 60: panicked"), "{failure}");
    assert!(
        (0..60)
            .map(|x| if x < AT.0 { x + 1 } else { 100 / (60 - x) })
            .collect::<Vec<_>>()
            .starts_with(&ended.output.unwrap())
    );
}

#[test]
fn text_and_keys_go_on() {
    let counts = |k| {
        pipeline::<u64>()
            .map_str(|x, out| write!(out, "{}", x % 5).unwrap())
            .shard(k, |p| p.map(|text| text.parse::<u64>().unwrap()))
            .shard_by_within(
                millstream_core::Bound::forget(8),
                |x| *x,
                2,
                |p| {
                    p.scan(0_u64, |n, _| {
                        *n += 1;
                        *n
                    })
                    .named("count")
                },
            )
            .named("keys")
            .fold(0, |sum, n| *sum += n, |sum| sum)
            .named("total")
    };
    let model = counts(1).model(0..1000);
    for k in [1, 2, 4] {
        let rings = Rings::new().batch(16).upgrade_at(number(500), counts(k)).workers(2);
        assert_eq!(rings.collect(counts(2).from(source::ready(0..1000))), Ok(model.clone()));
    }
}

#[test]
fn named_sinks_of_both_versions_are_finished() {
    let keeping = || sink::with_output(sink::fold(Vec::new(), |got: &mut Vec<u64>, _, x: &u64| got.push(*x)));
    let ((old, old_rows), (new, new_rows)) = (keeping(), keeping());
    let version = |sink| pipeline::<u64>().map(|x| *x).tee_to("rows", sink);
    let rings = Rings::new().batch(8).upgrade_at(AT, version(new));
    assert_eq!(rings.collect(version(old).from(source::ready(0..100))), Ok((0..100).collect()));
    assert_eq!(old_rows.take(), Some((0..37).collect()));
    assert_eq!(new_rows.take(), Some((37..100).collect()));
}
