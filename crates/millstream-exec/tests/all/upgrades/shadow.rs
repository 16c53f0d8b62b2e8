//! A version beside the running one: compared, refused, dropped, or put in its place.

use super::{number, sums_from};
use millstream_core::{Arrow, ClockExt, FeedbackExt, KeysExt, ModelExt, PartsExt, StreamsExt, pipeline};
use millstream_exec::{
    Handle, JobExt, Pipeline, Rings, Runner, Sender, ShadowEnd, Stepped, Upgrade, UpgradeError, sink, source,
};
use millstream_testkit::within;
use std::time::Duration;

type Running = (Handle<Vec<u64>>, Sender<u64>);

/// The running sums, after 0 to 9.
fn running() -> Running {
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    (run, sender)
}

/// Sends 10 to 29; nothing was lost or changed.
fn goes_on((run, sender): Running) {
    sender.send_all(10..20).unwrap();
    assert_eq!(run.upgrade(sums!(1)), Ok(number(20)), "it can be replaced as before");
    sender.send_all(20..30).unwrap();
    drop(sender);
    let (all, report) = run.wait().unwrap();
    assert_eq!(all, sums_from(20, 30));
    assert_eq!(report.changes.len(), 1);
}

fn soon<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    within(Duration::from_secs(60), f).unwrap()
}

#[test]
fn a_shadow_that_agrees_takes_the_place_of_the_running_version() {
    soon(|| {
        let (run, sender) = running();
        // It counts as well, from when it begins.
        let counts =
            pipeline::<u64>().map(|x| *x).named("same").scan(0_u64, |sum, x| (*sum += x, *sum).1).named("sum").scan(
                0_u64,
                |n, sum| {
                    *n += 1;
                    if *n > 20 { *sum * 1000 + *n } else { *sum }
                },
            );
        let shadow = run.shadow(counts.named("count")).unwrap();
        assert_eq!(shadow.at(), number(10));
        sender.send_all(10..20).unwrap();
        assert_eq!(shadow.wait(10), Ok(10));
        assert_eq!(run.upgrade(sums!(1)), Err(UpgradeError::UnderWay));
        let snapshot = run.snapshot().unwrap();
        assert_eq!(snapshot.stages().collect::<Vec<_>>(), ["sum"], "not those of the shadow");
        sender.send_all(20..30).unwrap();
        assert_eq!(shadow.cut_over(), Ok(number(30)));
        sender.send_all(30..40).unwrap();
        drop(sender);
        let (all, report) = run.wait().unwrap();
        let sums = sums_from(40, 40);
        assert_eq!(all[..30], sums[..30]);
        let counted: Vec<u64> = (30..40).map(|n| sums[n] * 1000 + n as u64 - 9).collect();
        assert_eq!(all[30..], counted);
        let changes: Vec<_> = report.changes.iter().map(|change| (change.version, change.at)).collect();
        assert_eq!(changes, [(2, number(30))]);
        // Without what the shadow has worked beside the run.
        let rows: Vec<_> = report.stages.iter().map(|stage| (&*stage.name, stage.moved)).collect();
        let expected = [("source", 41), ("same", 11), ("sum", 41), ("count", 11), ("map-1", 30), ("sink", 41)];
        assert_eq!(rows, expected);
    });
}

#[test]
fn a_shadow_that_differs_is_refused() {
    soon(|| {
        let run = running();
        let shadow = run.0.shadow(sums!(1)).unwrap();
        run.1.send(10).unwrap();
        let end = ShadowEnd::Differs {
            stage: "sum".to_owned(),
            number: number(10),
            running: "Some(55)".to_owned(),
            shadow: "Some(56)".to_owned(),
        };
        assert_eq!(shadow.wait(1), Err(end.clone()));
        assert_eq!(shadow.cut_over(), Err(UpgradeError::Shadow(end)));
        run.1.send_all(11..20).unwrap();
        assert_eq!(run.0.upgrade(sums!(1)), Ok(number(20)));
        run.1.send_all(20..30).unwrap();
        drop(run.1);
        assert_eq!(run.0.wait().unwrap().0, sums_from(20, 30));
    });
}

#[test]
fn a_version_that_errs_at_its_first_number() {
    soon(|| {
        let run = running();
        let errs = pipeline::<u64>().map(|x| *x).scan(0_u64, |sum, x| {
            assert!(*x < 10, "no room for {x}");
            *sum += x;
            *sum
        });
        let shadow = run.0.shadow(errs.named("sum")).unwrap();
        run.1.send(10).unwrap();
        let Err(ShadowEnd::Failed { stage, number: at, cause }) = shadow.wait(1) else { panic!("{shadow:?}") };
        assert_eq!((&*stage, at), ("sum", Some(number(10))));
        assert!(cause.contains("no room for 10"), "{cause}");
        drop(shadow);
        run.1.send_all(11..20).unwrap();
        assert_eq!(run.0.upgrade(sums!(1)), Ok(number(20)));
        run.1.send_all(20..30).unwrap();
        drop(run.1);
        assert_eq!(run.0.wait().unwrap().0, sums_from(20, 30));
    });
}

#[test]
fn a_relation_says_what_agrees_and_its_panic_ends_the_shadow() {
    soon(|| {
        let run = running();
        let near = |_, a: Option<&u64>, b: Option<&u64>| a.zip(b).is_some_and(|(a, b)| b - a <= 20);
        let shadow = run.0.shadow_by(sums!(1), near).unwrap();
        run.1.send_all(10..20).unwrap();
        assert_eq!(shadow.wait(10), Ok(10));
        drop(shadow);
        let panics = run.0.shadow_by(sums!(0), |n, _: Option<&u64>, _: Option<&u64>| panic!("at {n}")).unwrap();
        run.1.send(20).unwrap();
        let Err(ShadowEnd::Failed { stage, number: at, cause }) = panics.wait(1) else { panic!("{panics:?}") };
        assert_eq!((&*stage, at, &*cause), ("sum", Some(number(20)), "panicked: at 20"));
        drop((panics, run.1));
        assert_eq!(run.0.wait().unwrap().0, sums_from(21, 21));
    });
}

#[test]
fn a_shadow_that_is_not_wanted_is_dropped() {
    soon(|| {
        let run = running();
        for _ in 0..10 {
            drop(run.0.shadow(sums!(1)).unwrap());
        }
        goes_on(run);
    });
}

#[test]
fn a_shadow_that_does_not_fit_is_refused() {
    soon(|| {
        let run = running();
        let lacks = run.0.shadow(pipeline::<u64>().map(|x| x + 1)).unwrap_err();
        assert!(matches!(lacks, UpgradeError::Check(_)), "{lacks}");
        let twice = |next: UpgradeError| assert!(matches!(next, UpgradeError::NoShadow(_)), "{next}");
        twice(run.0.shadow(sums!(0).tee_to("rows", sink::each(|_, _: &u64| ()))).unwrap_err());
        twice(run.0.shadow(sums!(0).feedback(0, |p| p.map(|(x, s)| (*x, *s))).map(|x| *x)).unwrap_err());
        let panics = Upgrade::to(sums!(0)).migrate("sum", |_: u64| -> u64 { panic!("does not migrate") });
        let state = run.0.shadow(panics).unwrap_err().to_string();
        assert!(state.ends_with("has a migration that panicked: does not migrate"), "{state}");
        goes_on(run);
    });
}

#[test]
fn a_shadow_that_is_over_says_nothing_of_the_next_one() {
    soon(|| {
        let run = running();
        let differs = run.0.shadow(sums!(1)).unwrap();
        run.1.send(10).unwrap();
        assert!(differs.wait(1).is_err());
        let agrees = run.0.shadow(sums!(0)).unwrap();
        drop(differs);
        assert_eq!(run.0.upgrade(sums!(1)), Err(UpgradeError::UnderWay));
        run.1.send_all(11..20).unwrap();
        assert_eq!(agrees.wait(9), Ok(9));
        drop(agrees);
        run.1.send_all(20..25).unwrap();
        drop(run.1);
        assert_eq!(run.0.wait().unwrap().0, sums_from(25, 25));
    });
}

/// Outputs that are equal as far as they go: one has more of them. The run hung at the next mark, or at END.
#[test]
fn a_shadow_with_more_or_fewer_outputs_is_refused() {
    let version = |times: usize| pipeline::<u64>().flat_map(move |_: &u64| vec![7; times]).named("repeat");
    for (times, more, end) in [(3, true, true), (1, false, true), (3, true, false), (1, false, false)] {
        soon(move || {
            let (sender, receiver) = source::channel(16);
            let run = Rings::new().start(version(2).from(receiver).to(sink::collect())).unwrap();
            sender.send_all(0..10).unwrap();
            let shadow = run.shadow(version(times)).unwrap();
            sender.send_all(10..20).unwrap();
            let at = number(20 + 10 * times.min(2) as u64);
            let expected = ShadowEnd::OtherNumbers { stage: "repeat".to_owned(), number: at, more };
            if end {
                drop(sender);
                assert_eq!(shadow.wait(u64::MAX), Err(expected.clone()));
            } else {
                assert_eq!(shadow.cut_over(), Err(UpgradeError::Shadow(expected.clone())));
                sender.send_all(20..25).unwrap();
                drop(sender);
            }
            let word = if more { "more" } else { "fewer" };
            assert!(expected.to_string().contains(&format!("the shadow yields {word} outputs for the same input")));
            assert_eq!(run.wait().unwrap().0.len(), if end { 40 } else { 50 });
        });
    }
}

/// A planned change waits for the shadow's stages, of which one hangs; the program drops the shadow.
#[test]
fn a_shadow_that_is_dropped_lets_a_planned_change_go_on() {
    soon(|| {
        let (go_on, gate) = std::sync::mpsc::channel::<()>();
        let gate = std::sync::Mutex::new(gate);
        let (sender, receiver) = source::channel(16);
        let rings = Rings::new().workers(2).upgrade_at(number(20), sums!(1));
        let run = rings.start(sums!(0).from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..10).unwrap();
        let hangs = pipeline::<u64>().map_blocking(move |x| {
            let _ = gate.lock().unwrap().recv();
            *x
        });
        let shadow = run.shadow(hangs.then(sums!(0))).unwrap();
        sender.send_all(10..20).unwrap();
        drop(shadow);
        drop(go_on);
        sender.send_all(20..30).unwrap();
        drop(sender);
        assert_eq!(run.wait().unwrap().0, sums_from(20, 30));
    });
}

/// What the keys of both versions have at the end, over two clocks, on more or fewer lanes.
fn totals(k: usize) -> impl Pipeline<u64, u64> {
    pipeline::<u64>()
        .flat_map(|x: &u64| vec![*x; (*x % 3) as usize])
        .named("repeat")
        .shard_by(|x| x % 10, k, |p| p.scan(0_u64, |sum, x| (*sum += x, *sum).1).named("sum"))
        .named("keys")
        .fold(0_u64, |all, sum| *all = all.wrapping_mul(31) + sum, |all| all)
        .named("all")
}

#[test]
fn a_shadow_compares_end_and_gives_its_verdict() {
    for k in [1, 3] {
        soon(move || {
            let (sender, receiver) = source::channel(16);
            let run = Rings::new().workers(2).start(totals(2).from(receiver).to(sink::last())).unwrap();
            sender.send_all(0..100).unwrap();
            let shadow = run.shadow(totals(k)).unwrap();
            sender.send_all(100..200).unwrap();
            drop(sender);
            let agreed = shadow.wait(u64::MAX).unwrap();
            // 100 to 199 repeated, and END.
            assert_eq!(agreed, 100 + 1);
            let (last, report) = run.wait().unwrap();
            assert_eq!(last, totals(1).model(0..200).last().copied());
            // The run's, not those of the shadow.
            let rows: Vec<_> = report.stages.iter().map(|stage| &*stage.name).collect();
            assert_eq!(rows.iter().filter(|row| ["all", "compare"].contains(row)).count(), 1, "{rows:?}");
        });
        soon(move || {
            let (sender, receiver) = source::channel(16);
            let run = Rings::new().workers(2).start(totals(2).from(receiver).to(sink::last())).unwrap();
            sender.send_all(0..100).unwrap();
            let shadow = run.shadow(totals(k)).unwrap();
            sender.send_all(100..200).unwrap();
            assert_eq!(shadow.cut_over(), Ok(number(200)));
            sender.send_all(200..300).unwrap();
            drop(sender);
            assert_eq!(run.wait().unwrap().0, totals(1).model(0..300).last().copied());
        });
    }
}

/// It would end the stream, and with it what the other version reads, before that one has read it.
#[test]
fn a_run_whose_pipeline_ends_the_stream_has_no_shadow() {
    soon(|| {
        for seed in 0..5 {
            let plain = || Upgrade::to(pipeline::<u64>().map(|x| *x).any_edge()).dropping("take").tried(90);
            let rings = || Rings::new().ring(16).batch(4).upgrade_at(number(10), plain());
            let takes = || pipeline::<u64>().map(|x| *x).take(50).named("take").any_edge();
            let job = || takes().from(source::ready(0..100));
            let (all, report) = rings().run(job().to(sink::collect())).unwrap();
            assert_eq!((all, report.changes.len()), ((0..50).collect(), 0));
            let why = &report.refused_changes[0].why;
            assert!(why.contains("a `take` that ends the stream"), "{why}");
            assert_eq!(Stepped::new(rings(), seed).collect(job()), Ok((0..50).collect()), "seed {seed}");
        }
    });
    soon(|| {
        let (sender, receiver) = source::channel(16);
        let until = pipeline::<u64>().take_while(|x| *x < 15).named("while").any_edge();
        let run = Rings::new().start(until.from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..10).unwrap();
        let next = Upgrade::to(pipeline::<u64>().map(|x| *x).any_edge()).dropping("while");
        let refused = run.shadow(next).unwrap_err();
        assert!(matches!(refused, UpgradeError::NoShadow(_)), "{refused}");
        sender.send_all(10..16).unwrap();
        assert_eq!(run.wait().unwrap().0, (0..15).collect::<Vec<_>>());
    });
}

/// It ends no stream there.
#[test]
fn a_take_in_a_body_can_have_a_shadow_and_be_one() {
    macro_rules! agrees {
        ($version:expr) => {
            soon(|| {
                let version = $version;
                let (sender, receiver) = source::channel(64);
                let run = Rings::new().start(version().from(receiver).to(sink::collect())).unwrap();
                sender.send_all(0..10).unwrap();
                let shadow = run.shadow(version()).unwrap();
                sender.send_all(10..40).unwrap();
                assert_eq!(shadow.wait(30), Ok(30));
                assert_eq!(shadow.cut_over(), Ok(number(40)));
                sender.send_all(40..50).unwrap();
                drop(sender);
                assert_eq!(run.wait().unwrap().0, version().model(0..50));
            })
        };
    }
    agrees!(|| pipeline::<u64>().shard_by(|x| x % 10, 2, |p| p.take(3).named("first")).named("keys"));
    agrees!(|| pipeline::<u64>().fanout(|p| p.take(30).named("first"), |p| p).map(|(x, _)| *x));
}
