//! Every step of an upgrade fails once: the old pipeline goes on at the same number.

use super::{number, sums_from};
use millstream_core::{Arrow, ClockExt, Deploy, KeysExt, ModelExt, Val, pipeline};
use millstream_exec::{
    Handle, IntoUpgrade, JobExt, OptionsError, Pipeline, RingBackend, RingShape, Rings, RunError, Runner, Sender,
    Upgrade, UpgradeError, sink, source,
};
use millstream_testkit::within;
use std::sync::mpsc;
use std::time::Duration;

fn add(sum: &mut u64, x: &u64) -> u64 {
    *sum += x;
    *sum
}

fn add_u32(sum: &mut u32, x: &u64) -> u64 {
    *sum += u32::try_from(*x).unwrap();
    u64::from(*sum)
}

macro_rules! sums_in {
    ($state:ty) => {
        pipeline::<u64>()
            .map(|x| x + 1)
            .scan(<$state>::default(), |sum, x| {
                *sum += *x as $state;
                u64::from(*sum)
            })
            .named("sum")
    };
}

/// Refuses an upgrade between 0 to 9 and 10 to 19, and returns why.
fn refusal<U: IntoUpgrade>(next: U) -> String
where
    U::Next: Deploy<RingBackend> + Arrow<In = Val<u64>, Out: RingShape> + Send + Sync,
{
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    let why = run.upgrade(next).unwrap_err();
    sender.send_all(10..20).unwrap();
    // It goes on as if nothing had been asked, and can be replaced by what fits.
    assert_eq!(run.upgrade(sums!(1)), Ok(number(20)));
    sender.send_all(20..30).unwrap();
    drop(sender);
    let (all, report) = run.wait().unwrap();
    assert_eq!(all, sums_from(20, 30));
    assert_eq!(report.changes.iter().map(|change| (change.version, change.at)).collect::<Vec<_>>(), [(2, number(20))]);
    let [refused] = &report.refused_changes[..] else { panic!("{:?}", report.refused_changes) };
    assert_eq!(refused.why, why.to_string());
    if matches!(why, UpgradeError::Check(_)) {
        assert_eq!(refused.at, None, "before anything was asked of the run");
    } else {
        assert_eq!(refused.at, Some(number(10)));
    }
    why.to_string()
}

#[track_caller]
fn ends_with(why: &str, end: &str) {
    assert!(why.ends_with(end), "{why}");
}

#[test]
fn a_migration_that_panics() {
    let next = Upgrade::to(sums_in!(u32)).migrate("sum", |old: u64| -> u32 { panic!("no room for {old}") });
    ends_with(&refusal(next), "stage \"sum\" has a migration that panicked: no room for 45");
}

/// The migration waits for what comes only when the upgrade has been refused.
#[test]
fn a_migration_that_does_not_end_in_time() {
    let ended = within(Duration::from_secs(60), || {
        let ((go_on, waits), (tells, told)) = (mpsc::channel::<()>(), mpsc::channel::<u64>());
        let both = std::sync::Mutex::new((waits, tells));
        let migrate = move |old: u64| -> u32 {
            let (waits, tells) = &*both.lock().unwrap();
            let _ = waits.recv();
            tells.send(old).unwrap();
            999
        };
        let next = Upgrade::to(sums_in!(u32)).migrate("sum", migrate).within(Duration::from_millis(20));
        ends_with(&refusal(next.because("sums are small")), "has a migration that has not ended within 20ms");
        // It has had a clone, and has gone on by itself.
        drop(go_on);
        told.recv().unwrap()
    });
    assert_eq!(ended.unwrap(), 45);
}

/// Of a stage, and of each key, in time.
#[test]
fn migrations_that_end_in_time() {
    let old = || {
        let keyed = pipeline::<u64>().shard_by(|x| x % 3, 2, |p| p.scan(0_u64, add).named("key")).named("keys");
        keyed.scan(0_u64, add).named("all")
    };
    let new = || {
        let keyed = pipeline::<u64>().shard_by(|x| x % 3, 2, |p| p.scan(0_u32, add_u32).named("key")).named("keys");
        keyed.scan(0_u32, add_u32).named("all")
    };
    let narrow = |old: u64| u32::try_from(old).unwrap();
    let next = || Upgrade::to(new()).migrate("key", narrow).migrate("all", narrow);
    let expected = old().model(0..100);
    let rings = Rings::new().batch(4).upgrade_at(number(50), next().within(Duration::from_secs(3600)));
    assert_eq!(rings.collect(old().from(source::ready(0..100))), Ok(expected.clone()));
    let rings = Rings::new().batch(4).upgrade_at(number(50), next().within(Duration::MAX));
    assert_eq!(rings.collect(old().from(source::ready(0..100))), Ok(expected));
    let panics = Upgrade::to(sums_in!(u32)).migrate("sum", |old: u64| -> u32 { panic!("no room for {old}") });
    let panics = panics.within(Duration::from_secs(3600));
    ends_with(&refusal(panics), "stage \"sum\" has a migration that panicked: no room for 45");
    let other = Upgrade::to(sums_in!(u32)).migrate("sum", |old: u8| u32::from(old)).within(Duration::from_secs(3600));
    ends_with(&refusal(other), "its migration makes a u32 of a u8");
}

#[test]
fn a_migration_for_other_types() {
    let of_u8 = Upgrade::to(sums_in!(u32)).migrate("sum", |old: u8| u32::from(old));
    let why = "stage \"sum\" holds a u64 and would hold a u32, but its migration makes a u32 of a u8";
    ends_with(&refusal(of_u8), why);
    let to_u16 = Upgrade::to(sums_in!(u32)).migrate("sum", |old: u64| old as u16);
    ends_with(&refusal(to_u16), "its migration makes a u16 of a u64");
}

#[test]
fn a_migration_for_another_stage() {
    let next = Upgrade::to(sums!(0)).migrate("map-1", |old: u64| old);
    ends_with(&refusal(next), "stage \"map-1\": a migration is for it, and it does not keep a state in both pipelines");
}

#[test]
fn states_of_other_keys() {
    let p = |names: [&'static str; 2]| {
        pipeline::<u64>()
            .shard_by(|x| x % 2, 1, |p| p.scan(0, add).named("one"))
            .named(names[0])
            .shard_by(|x| x % 3, 1, |p| p.scan(0, add).named("two"))
            .named(names[1])
    };
    let check = |new: [&'static str; 2]| {
        let check = p(["a", "b"]).plan().check_upgrade(&p(new).plan());
        (check.is_allowed(), check.to_string())
    };
    assert!(check(["a", "b"]).0);
    for other in [["b", "a"], ["a", "c"]] {
        let (allowed, text) = check(other);
        assert!(!allowed && text.contains("its keys are those of b.key-1, and would be"), "{text}");
    }
}

#[test]
fn an_output_that_would_go_on_with_another_number() {
    let (sender, receiver) = source::channel(16);
    let twice = || pipeline::<u64>().flat_map(|x: &u64| vec![*x; 2]).named("twice");
    let run = Rings::new().start(twice().from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..3).unwrap();
    let why = run.upgrade(pipeline::<u64>().map(|x| *x)).unwrap_err().to_string();
    assert!(why.contains("stage \"twice\": it numbers its output by itself"), "{why}");
    // The new version has another clock before this one, which continues with its own numbers, so it fits.
    let first = pipeline::<u64>().flat_map(|x: &u64| vec![*x; 2]).named("first");
    let behind = first.flat_map(|x: &u64| vec![*x; 2]).named("twice");
    assert_eq!(run.upgrade(behind), Ok(number(3)));
    sender.send(3).unwrap();
    drop(sender);
    assert_eq!(run.wait().unwrap().0, [0, 0, 1, 1, 2, 2, 3, 3, 3, 3]);
}

#[test]
fn rings_beyond_the_memory_limit() {
    const LIMIT: u64 = 3 * 256 * 8;
    let (sender, receiver) = source::channel(256);
    let rings = Rings::new().ring(256).memory_limit(LIMIT);
    let run = rings.start(sums!(0).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    let longer = || pipeline::<u64>().map(|x| *x).then(sums!(0));
    for refused in [run.upgrade(longer()).unwrap_err(), run.shadow(longer()).unwrap_err()] {
        let UpgradeError::Refused(why) = &refused else { panic!("{refused}") };
        let RunError::Options(OptionsError::Memory { bytes, limit, fit, .. }) = &**why else { panic!("{why}") };
        assert_eq!((*bytes, limit.bytes, *fit), (4 * 256 * 8, LIMIT, 128));
        let text = "the pipeline was not replaced: rings of 256 slots take 8192 bytes together, and the options allow \
                    6144 bytes: rings of at most 128 slots fit";
        assert_eq!(refused.to_string(), text);
    }
    sender.send_all(10..20).unwrap();
    assert_eq!(run.upgrade(sums!(1)), Ok(number(20)), "one of as many stages fits");
    sender.send_all(20..30).unwrap();
    drop(sender);
    let (all, report) = run.wait().unwrap();
    assert_eq!(all, sums_from(20, 30));
    assert_eq!(report.changes.len(), 1);
}

/// A run whose stage stays in its first number until the second part of the pair is dropped.
fn stuck() -> (Handle<Vec<u64>>, mpsc::Sender<()>, Sender<u64>) {
    let (lets_go, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let (sender, receiver) = source::channel(16);
    let waits = pipeline::<u64>().map_blocking(move |x| {
        let _ = gate.lock().unwrap().recv();
        *x
    });
    let run = Rings::new().start(waits.from(receiver).to(sink::collect())).unwrap();
    sender.send(1).unwrap();
    (run, lets_go, sender)
}

fn plain() -> impl Pipeline<u64, u64> {
    pipeline::<u64>().map(|x| x * 10)
}

#[test]
fn a_change_during_a_change() {
    within(Duration::from_secs(60), || {
        let (run, lets_go, sender) = stuck();
        let (answers, answered) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let (run, answers) = (&run, answers.clone());
                scope.spawn(move || answers.send(run.upgrade(plain())).unwrap());
            }
            // One waits for the stage. The other one is refused at once.
            assert_eq!(answered.recv().unwrap(), Err(UpgradeError::UnderWay));
            drop(lets_go);
            assert_eq!(answered.recv().unwrap(), Ok(number(1)));
        });
        assert_eq!(run.upgrade(plain()), Ok(number(1)), "it is over");
        sender.send(2).unwrap();
        drop(sender);
        assert_eq!(run.wait().unwrap().0, [1, 20]);
    })
    .unwrap();
}

#[test]
fn a_change_during_a_drain_and_after_the_end() {
    within(Duration::from_secs(60), || {
        let (run, lets_go, sender) = stuck();
        run.begin_drain();
        assert_eq!(run.upgrade(plain()), Err(UpgradeError::Draining));
        drop(lets_go);
        while !run.is_finished() {
            std::thread::yield_now();
        }
        assert_eq!(run.upgrade(plain()), Err(UpgradeError::Ended));
        drop(sender);
        assert_eq!(run.wait().unwrap().0, [1]);
    })
    .unwrap();
}

/// Also one that is refused by the plans, before anything was asked of the run.
#[test]
fn a_refusal_has_the_reason_for_the_change() {
    let (sender, receiver) = source::channel::<u64>(4);
    let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
    let next = Upgrade::to(pipeline::<u64>().map(|x| *x)).because("fewer stages");
    assert!(matches!(run.upgrade(next), Err(UpgradeError::Check(_))));
    assert_eq!(run.refused_changes()[0].reason.as_deref(), Some("fewer stages"));
    drop(sender);
    run.wait().unwrap();
}
