//! A version that is tried beside the running one before it takes its place.

use super::{number, sums_from};
use millstream_core::{Arrow, ClockExt, FeedbackExt, PartsExt, TryMapExt, pipeline};
use millstream_exec::{
    BoxExt, BoxPipeline, Inline, JobExt, Pipeline, Rings, Runner, ShadowEnd, Stepped, Upgrade, UpgradeError, sink,
    source,
};
use millstream_testkit::within;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const NEVER: u64 = u64::MAX;

fn soon<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    within(Duration::from_secs(60), f).unwrap()
}

/// The sums of what is one greater, which fail at this number.
fn failing(at: u64) -> impl Pipeline<u64, u64> {
    let p = pipeline::<u64>().map(move |x| {
        assert!(*x != at, "no room for {x}");
        x + 1
    });
    let add = |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    };
    p.named("room").scan(0_u64, add).named("sum")
}

/// What the second version has summed since `at`, from the number on at which it took over.
fn tried_from(at: u64, over: u64, n: u64) -> Vec<u64> {
    let mut all = sums_from(NEVER, over);
    all.extend(&sums_from(at, n)[over as usize..]);
    all
}

/// The same in every run: the source waits at the number at which the trial is over. The last one is END's.
#[test]
fn a_version_that_does_not_fail_takes_over_after_its_numbers() {
    for (at, tried) in [(0, 1), (10, 1), (10, 27), (37, 62), (0, 100)] {
        let expected = tried_from(at, at + tried, 100);
        for (ring, batch) in [(1, 1), (16, 5), (256, 64)] {
            let next = Upgrade::to(failing(NEVER)).tried(tried);
            let rings = Rings::new().ring(ring).batch(batch).upgrade_at(number(at), next);
            let job = || sums!(0).from(source::ready(0..100));
            let (all, report) = rings.run(job().to(sink::collect())).unwrap();
            assert_eq!(all, expected, "{tried} from {at} on");
            let changes: Vec<_> = report.changes.iter().map(|change| (change.version, change.at)).collect();
            assert_eq!((changes, report.refused_changes), (vec![(2, number(at + tried))], Vec::new()));
            let rows: Vec<_> = report.stages.iter().map(|stage| (&*stage.name, stage.moved)).collect();
            let (new, old) = (("room", 101 - at - tried), ("map-1", at + tried));
            assert_eq!(rows, [("source", 101), new, ("sum", 101), old, ("sink", 101)]);
            assert_eq!(Inline::new(rings.clone()).collect(job()), Ok(expected.clone()));
            for seed in 0..5 {
                assert_eq!(Stepped::new(rings.clone(), seed).collect(job()), Ok(expected.clone()), "seed {seed}");
            }
        }
    }
}

#[test]
fn a_version_that_errs_within_its_numbers_leaves_the_run_at_its_own() {
    for errs in [10, 11, 36] {
        let next = || Upgrade::to(failing(errs)).tried(27).because("there is more room");
        let rings = Rings::new().batch(4).upgrade_at(number(10), next());
        let job = || sums!(0).from(source::ready(0..100));
        let (all, report) = rings.run(job().to(sink::collect())).unwrap();
        assert_eq!(all, sums_from(NEVER, 100), "no number is lost, and none is of the other version");
        assert_eq!(report.changes, []);
        let [refused] = &report.refused_changes[..] else { panic!("{:?}", report.refused_changes) };
        let said = refused.to_string();
        let begin = "at number 10: the pipeline was not replaced: stage \"room\", number";
        assert!(
            said.starts_with(&format!("{begin} {errs}: the shadow failed: panicked: no room for {errs}")),
            "{said}"
        );
        assert!(said.ends_with("there is more room)"), "{said}");
        for seed in 0..5 {
            let rings = Rings::new().batch(4).upgrade_at(number(10), next());
            assert_eq!(Stepped::new(rings, seed).collect(job()), Ok(sums_from(NEVER, 100)), "seed {seed}");
        }
    }
    // One number later it has taken over.
    let rings = Rings::new().upgrade_at(number(10), Upgrade::to(failing(37)).tried(27));
    let failed = rings.collect(sums!(0).from(source::ready(0..100))).unwrap_err().to_string();
    assert!(failed.starts_with("stage \"room\", number 37: panicked"), "{failed}");
}

#[test]
fn a_run_that_goes_on_tries_a_version() {
    soon(|| {
        let (sender, receiver) = source::channel(16);
        let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..10).unwrap();
        // By an error, at its second number, whatever that is.
        let calls = AtomicU64::new(0);
        let parse =
            move |x: &u64| if calls.fetch_add(1, Ordering::Relaxed) == 1 { Err("no second one") } else { Ok(*x) };
        let errs = pipeline::<u64>().try_map(parse).named("parse").then(sums!(1));
        let mut ones = 0;
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| run.upgrade(Upgrade::to(errs).tried(5)));
            while !waits.is_finished() {
                sender.send(1).unwrap();
                ones += 1;
            }
            let error = waits.join().unwrap().unwrap_err();
            let UpgradeError::Shadow(ShadowEnd::Failed { stage, number: Some(at), cause }) = &error else {
                panic!("{error}")
            };
            assert_eq!((&**stage, &**cause), ("parse", "no second one"));
            let refused = &run.refused_changes()[0];
            assert_eq!((&refused.why, refused.at), (&error.to_string(), Some(number(at.0 - 1))));
        });
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| run.upgrade(Upgrade::to(sums!(1)).tried(5)));
            while !waits.is_finished() {
                sender.send(0).unwrap();
            }
            assert_eq!(waits.join().unwrap().ok(), run.changes().first().map(|change| change.at));
        });
        assert_eq!(run.upgrade(sums!(0)).map(drop), Ok(()), "nothing is under way");
        drop(sender);
        let (all, report) = run.wait().unwrap();
        let (over, last) = (report.changes[0].at.0 as usize, report.changes[1].at.0 as usize);
        assert_eq!((all[over - 1], all.len()), (45 + ones, last));
        // It has summed one more for each number, from the first one that it got.
        assert_eq!(all[over..], (0..last - over).map(|n| 45 + ones + 6 + n as u64).collect::<Vec<_>>());
        assert_eq!(report.refused_changes.len(), 1);
    });
}

#[test]
fn a_version_that_is_compared_has_to_agree() {
    let step = |step: u64| pipeline::<u64>().map(move |x| x / step * step).named("step");
    let run = |next: Upgrade<_>, upto| {
        let rings = Rings::new().batch(4).upgrade_at(number(3), next);
        rings.run(step(1).from(source::ready((0..upto).map(|x| x * 2))).to(sink::collect())).unwrap()
    };
    let all: Vec<u64> = (0..20).map(|x| x * 2).collect();
    let (same, report) = run(Upgrade::to(step(2)).tried_alike(10), 20);
    assert_eq!((same, report.changes.len()), (all.clone(), 1));
    let (other, report) = run(Upgrade::to(step(4)).tried_alike(10), 20);
    assert_eq!((other, report.changes.len()), (all.clone(), 0));
    let why = "number 3: the running version yields Some(6), and the shadow Some(4)";
    assert!(report.refused_changes[0].why.ends_with(why), "{:?}", report.refused_changes);
    // Not compared: it is what it is.
    let (other, _) = run(Upgrade::to(step(4)).tried(10), 20);
    assert_eq!(other, all.iter().map(|x| if *x < 26 { *x } else { x / 4 * 4 }).collect::<Vec<_>>());
}

#[test]
fn a_version_that_cannot_be_tried_is_refused_and_the_run_goes_on() {
    type Boxed = BoxPipeline<u64, u64>;
    let refusal = |next: Upgrade<Boxed>| {
        let old: Boxed = sums!(0).boxed();
        let rings = Rings::new().batch(4).upgrade_at(number(10), next);
        let (all, report) = rings.run(old.from(source::ready(0..100)).to(sink::collect())).unwrap();
        assert_eq!((all, report.changes.len()), (sums_from(NEVER, 100), 0));
        let [refused] = &report.refused_changes[..] else { panic!("{:?}", report.refused_changes) };
        assert_eq!(refused.at, Some(number(10)));
        refused.why.clone()
    };
    let writes: Boxed = sums!(1).tee_to("rows", sink::each(|_, _: &u64| ())).boxed();
    assert!(refusal(Upgrade::to(writes).tried(5)).ends_with("its side outputs would be written twice"));
    let turns: Boxed = sums!(1).feedback(0, |p| p.map(|(x, s)| (*x, *s))).map(|x| *x).boxed();
    assert!(refusal(Upgrade::to(turns).tried(5)).contains("a `feedback`"));
    let lacks: Boxed = pipeline::<u64>().map(|x| x + 1).boxed();
    assert!(refusal(Upgrade::to(lacks).tried(5)).contains("no such stage to take it"));
    let same: Boxed = sums!(1).boxed();
    let panics = Upgrade::to(same).migrate("sum", |_: u64| -> u64 { panic!("does not migrate") });
    assert!(refusal(panics.tried(5)).ends_with("has a migration that panicked: does not migrate"));
}

#[test]
fn a_version_with_other_numbers_cannot_take_over() {
    let version = |times: usize| pipeline::<u64>().flat_map(move |x: &u64| vec![*x; times]).named("repeat");
    for (times, word) in [(1, "fewer"), (3, "more")] {
        let rings = Rings::new().batch(4).upgrade_at(number(10), Upgrade::to(version(times)).tried(5));
        let (all, report) = rings.run(version(2).from(source::ready(0..100)).to(sink::collect())).unwrap();
        assert_eq!(all.len(), 200);
        let why = &report.refused_changes[0].why;
        assert!(why.contains(&format!("the shadow yields {word} outputs for the same input")), "{why}");
    }
}

#[test]
fn a_trial_that_is_over_at_the_number_of_another_change_comes_before_it() {
    let rings = Rings::new().batch(4).upgrade_at(number(10), Upgrade::to(failing(NEVER)).tried(10));
    let rings = rings.upgrade_at(number(20), sums!(2));
    let (all, report) = rings.run(sums!(0).from(source::ready(0..30)).to(sink::collect())).unwrap();
    let changes: Vec<_> = report.changes.iter().map(|change| (change.version, change.at.0)).collect();
    assert_eq!((changes, report.refused_changes), (vec![(2, 20), (3, 20)], Vec::new()));
    let tried = tried_from(10, 20, 30).into_iter().zip(0_u64..);
    assert_eq!(all, tried.map(|(sum, n)| sum + (n + 1).saturating_sub(20)).collect::<Vec<_>>());
}

/// Another change takes the place of both; and the stream ends before the trial does.
#[test]
fn a_trial_that_is_cut_short() {
    let rings = Rings::new().batch(4).upgrade_at(number(10), Upgrade::to(failing(NEVER)).tried(50));
    let (all, report) =
        rings.upgrade_at(number(20), sums!(1)).run(sums!(0).from(source::ready(0..100)).to(sink::collect())).unwrap();
    assert_eq!(all, sums_from(20, 100));
    assert_eq!(report.changes.iter().map(|change| change.at).collect::<Vec<_>>(), [number(20)]);
    assert!(report.refused_changes[0].why.ends_with("the shadow was dropped"), "{:?}", report.refused_changes);

    // Two trials at once.
    let rings = Rings::new().batch(4).upgrade_at(number(10), Upgrade::to(failing(NEVER)).tried(50));
    let rings = rings.upgrade_at(number(20), Upgrade::to(failing(25)).tried(10));
    let (all, report) = rings.run(sums!(0).from(source::ready(0..100)).to(sink::collect())).unwrap();
    assert_eq!(all, tried_from(10, 60, 100));
    assert_eq!((report.changes[0].at, report.refused_changes[0].at), (number(60), Some(number(20))));

    let late = Rings::new().upgrade_at(number(10), Upgrade::to(failing(NEVER)).tried(91));
    assert_eq!(late.collect(sums!(0).from(source::ready(0..100))), Ok(sums_from(NEVER, 100)));
    soon(|| {
        let (sender, receiver) = source::channel(16);
        let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..10).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| run.upgrade(Upgrade::to(sums!(1)).tried(u64::MAX)));
            sender.send_all(10..20).unwrap();
            run.begin_drain();
            // It may have been asked for after that.
            let ended = waits.join().unwrap().unwrap_err();
            assert!(matches!(ended, UpgradeError::Ended | UpgradeError::Draining), "{ended}");
        });
        drop(sender);
        assert_eq!(run.wait().unwrap().0, sums_from(NEVER, 20));
    });
}
