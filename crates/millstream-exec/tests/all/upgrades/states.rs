//! What becomes of states: moved, migrated, fresh, dropped.

use super::number;
use millstream_core::keys::KeyStates;
use millstream_core::pipe::OpenFolds;
use millstream_core::{Arrow, ClockExt, FeedbackExt, KeysExt, ModelExt, Window, WindowsExt, pipeline};
use millstream_exec::{JobExt, Migrations, Rings, RunError, Runner, Upgrade, UpgradeError, sink, source};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts its clones.
#[derive(Debug)]
struct Counted(u64, Arc<AtomicU64>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.1.fetch_add(1, Ordering::Relaxed);
        Counted(self.0, self.1.clone())
    }
}

fn add(sum: &mut Counted, x: &u64) -> u64 {
    sum.0 += x;
    sum.0
}

#[test]
fn states_are_moved_and_not_cloned() {
    let clones = Arc::new(AtomicU64::new(0));
    let version = |k| {
        let start = Counted(0, clones.clone());
        let sums = pipeline::<u64>().scan(start.clone(), add).named("sum");
        sums.shard_by(|x| x % 100, k, move |p| p.scan(start, add).named("of key")).named("keys")
    };
    let (sender, receiver) = source::channel(64);
    let run = Rings::new().start(version(2).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..1000).unwrap();
    run.upgrade(version(2)).unwrap();
    let before = clones.load(Ordering::Relaxed);
    assert!(before > 40, "a clone for each key: {before}");
    for _ in 0..5 {
        // The run keeps nothing of a snapshot that is gone.
        drop(run.snapshot().unwrap());
        run.upgrade(version(2)).unwrap();
    }
    // Those with which the stages would begin: two where the pipeline is made, and some where it is wired; and that of
    // the sum in each snapshot.
    let clones = clones.load(Ordering::Relaxed) - before;
    assert!(clones < 5 * 11, "{clones} clones");
    sender.send_all(1000..2000).unwrap();
    drop(sender);
    let (all, report) = run.wait().unwrap();
    assert_eq!(all, version(1).model(0..2000));
    let changes: Vec<_> = report.changes.iter().map(|change| (change.version, change.states_moved)).collect();
    // The sum, the keys, and two lanes of states.
    assert_eq!(changes, (2..=7).map(|version| (version, 4)).collect::<Vec<_>>());
    let stages: Vec<_> = report.changes[0].pauses.iter().map(|pause| &*pause.stage).collect();
    assert_eq!(stages, ["sum", "keys.key-1", "of key", "sink"]);
}

#[derive(Clone, Default)]
struct V1(u64);

#[derive(Clone, Default)]
struct V2 {
    sum: u64,
    count: u64,
}

impl From<V1> for V2 {
    fn from(old: V1) -> V2 {
        V2 { sum: old.0, count: 100 }
    }
}

fn v1(book: &mut V1, x: &u64) -> u64 {
    book.0 += x;
    book.0
}

fn v2(book: &mut V2, x: &u64) -> u64 {
    book.sum += x;
    book.count += 1;
    book.sum * 1000 + book.count
}

/// What the second version makes of 0 to 19, for one key, if the first one had those below 10.
fn expected() -> Vec<u64> {
    let mut old = V1::default();
    let mut all: Vec<u64> = (0..10).map(|x| v1(&mut old, &x)).collect();
    let mut new = V2::from(old);
    all.extend((10..20).map(|x| v2(&mut new, &x)));
    all
}

#[test]
fn a_migration_makes_the_new_state_of_the_old_one() {
    let p = pipeline::<u64>;
    let next = Upgrade::to(p().scan(V2::default(), v2).named("book")).migrate("book", |old: V1| V2::from(old));
    let rings = Rings::new().batch(4).upgrade_at(number(10), next);
    let old = p().scan(V1::default(), v1).named("book");
    assert_eq!(rings.collect(old.from(source::ready(0..20))), Ok(expected()));
}

#[test]
fn a_migration_is_called_for_the_state_of_each_key_and_of_a_loop() {
    // Every key is the same sequence, three times.
    let input = || source::ready((0..60).map(|n| n / 3 * 3 + n % 3).collect::<Vec<u64>>());
    let calls = Arc::new(AtomicU64::new(0));
    for k in [1, 2] {
        let old = pipeline::<u64>()
            .shard_by(|x| x % 3, k, |p| p.map(|x| x / 3).scan(V1::default(), v1).named("book"))
            .named("keys");
        let new = pipeline::<u64>()
            .shard_by(|x| x % 3, k, |p| p.map(|x| x / 3).scan(V2::default(), v2).named("book"))
            .named("keys");
        let called = calls.clone();
        let next = Upgrade::to(new).migrate("book", move |old: V1| {
            called.fetch_add(1, Ordering::Relaxed);
            V2::from(old)
        });
        let rings = Rings::new().batch(4).upgrade_at(number(30), next);
        let all = rings.collect(old.from(input())).unwrap();
        assert_eq!(all, expected().into_iter().flat_map(|x| [x; 3]).collect::<Vec<_>>());
    }
    assert_eq!(calls.load(Ordering::Relaxed), 6);
}

#[test]
fn a_migration_is_called_for_the_state_of_a_loop() {
    macro_rules! loop_of {
        ($state:ty) => {
            pipeline::<u64>()
                .feedback(0 as $state, |p| {
                    p.map(|(x, sum)| {
                        let sum = *x as $state + *sum;
                        (u64::from(sum), sum)
                    })
                })
                .named("loop")
                .map(|x| *x)
        };
    }
    let state = loop_of!(u32).plan().stages.into_iter().find(|stage| stage.state.is_some()).unwrap();
    let next = Upgrade::to(loop_of!(u64)).migrate(state.name, |old: u32| u64::from(old) * 1000);
    let rings = Rings::new().batch(4).upgrade_at(number(3), next);
    assert_eq!(rings.collect(loop_of!(u32).from(1..=5)), Ok(vec![1, 3, 6, 6004, 6009]));
}

#[test]
fn a_stage_with_a_state_that_is_new_begins_fresh() {
    let p = pipeline::<u64>;
    let sum = |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    };
    let count = |n: &mut u64, _: &u64| {
        *n += 1;
        *n
    };
    let old = p().shard_by(|x| x % 2, 2, move |p| p.scan(0, sum).named("sum")).named("keys");
    let new = p()
        .shard_by(|x| x % 2, 2, move |p| p.fanout(move |p| p.scan(0, sum).named("sum"), move |p| p.scan(0, count)))
        .named("keys")
        .map(|(sum, n)| sum * 1000 + n);
    let rings = Rings::new().batch(4).upgrade_at(number(10), new);
    let all = rings.collect(old.from(source::ready(0..20))).unwrap();
    let mut sums = [0; 2];
    let expected = (0..20).map(|x: u64| {
        let sum = &mut sums[(x % 2) as usize];
        *sum += x;
        if x < 10 { *sum } else { *sum * 1000 + (x - 8) / 2 }
    });
    assert_eq!(all, expected.collect::<Vec<_>>());
    // A stage that numbers its output by itself goes on with the numbers of its input.
    let flat = p().flat_map(|x: &u64| vec![*x; 2]).named("flat");
    let rings = Rings::new().batch(4).upgrade_at(number(5), flat);
    let (numbers, _) = rings
        .run(
            p().map(|x| *x)
                .from(source::ready(0..8))
                .to_fold(Vec::new(), |all: &mut Vec<_>, n, x: &u64| all.push((n.0, *x))),
        )
        .unwrap();
    assert_eq!(numbers, (0..).zip([0, 1, 2, 3, 4, 5, 5, 6, 6, 7, 7]).collect::<Vec<_>>());
}

#[test]
fn a_state_is_dropped_if_that_is_said() {
    let old = || pipeline::<u64>().scan(V1::default(), v1).named("book");
    let plain = || pipeline::<u64>().map(|x| *x);
    let run = |next: Upgrade<_>| Rings::new().upgrade_at(number(3), next).collect(old().from(0..5));
    assert_eq!(run(Upgrade::to(plain()).dropping("book")), Ok(vec![0, 1, 3, 3, 4]));
    let refused = run(Upgrade::to(plain()).dropping("other")).unwrap_err();
    assert!(matches!(refused, RunError::Upgrade(UpgradeError::Check(_))), "{refused}");
}

#[test]
fn a_stage_begins_fresh_if_that_is_said() {
    let old = || pipeline::<u64>().scan(V1::default(), v1).named("book");
    let run = |next: Upgrade<_>| Rings::new().upgrade_at(number(3), next).collect(old().from(0..5));
    let fresh: Vec<_> = old().model(0..3).into_iter().chain(old().model(3..5)).collect();
    assert_eq!(run(Upgrade::to(old()).afresh("book")), Ok(fresh));
    assert_eq!(run(Upgrade::to(old()).afresh("other")), Ok(old().model(0..5)));
    // Its state may be of another type.
    let counts = pipeline::<u64>()
        .scan(0_u8, |n, _| {
            *n += 1;
            u64::from(*n)
        })
        .named("book");
    let next = Upgrade::to(counts).afresh("book");
    let check = next.check(&old().plan()).to_string();
    let expected = "new      book (scan), with a state that begins fresh\ndropped  book (scan), with its state\n\
                    0 kept, 0 migrated, 1 new, 1 dropped, 0 refused\n";
    assert_eq!(check, expected);
    let counted: Vec<_> = old().model(0..3).into_iter().chain([1, 2]).collect();
    assert_eq!(Rings::new().upgrade_at(number(3), next).collect(old().from(0..5)), Ok(counted));
    // Those of keys go on with the keys.
    let keyed = || pipeline::<u64>().shard_by(|x| x % 2, 1, |p| p.scan(V1::default(), v1).named("book")).named("keys");
    let rings = Rings::new().upgrade_at(number(3), Upgrade::to(keyed()).afresh("book").afresh("keys.key-1"));
    assert_eq!(rings.collect(keyed().from(0..8)), Ok(keyed().model(0..8)));
    // Also from a snapshot.
    let (sender, receiver) = source::channel(8);
    let run = Rings::new().start(keyed().from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..3).unwrap();
    let snapshot = run.snapshot().unwrap();
    drop((run, sender));
    for stage in ["book", "keys.key-1"] {
        let rules = Migrations::new().afresh(stage);
        let rings = Rings::new().resume_changed(snapshot.clone(), keyed().plan(), rules);
        assert_eq!(rings.collect(keyed().from(3..8)).unwrap(), keyed().model(0..8)[3..], "{stage}");
    }
}

/// A version counts, and the next one sums up.
#[test]
fn a_migration_maps_the_states_of_keys_and_of_windows() {
    let input = || source::ready((0..100).collect::<Vec<u64>>());
    let by_key = |p: u64| move |x: &u64| x % p;
    let old = pipeline::<u64>().fold_by(by_key(3), 0_u32, |n, _| *n += 1, u64::from).named("sums");
    let new = pipeline::<u64>().fold_by(by_key(3), 0_u64, |sum, x| *sum += x, |sum| sum).named("sums");
    let next = Upgrade::to(new).migrate("sums", |old: KeyStates<u64, u32>| old.map_states(|n| 1000 * u64::from(n)));
    let ended = Rings::new().upgrade_at(number(50), next).collect(old.from(input()));
    let sum = |key: u64| (50..100).filter(|x| x % 3 == key).sum::<u64>();
    assert_eq!(ended, Ok(vec![vec![(0, 17000 + sum(0)), (1, 17000 + sum(1)), (2, 16000 + sum(2))]]));

    let windows = || Window::tumbling(40).lateness(20);
    let old = pipeline::<u64>().fold_windows(windows(), |x| *x, 0_u32, |n, _| *n += 1).named("sums");
    let old = old.flatten().map(|window| (window.start, u64::from(window.state)));
    let new = pipeline::<u64>().fold_windows(windows(), |x| *x, 0_u64, |sum, x| *sum += x).named("sums");
    let new = new.flatten().map(|window| (window.start, window.state));
    let next = Upgrade::to(new).migrate("sums", |old: OpenFolds<(), u32>| old.map_states(|n| 1000 * u64::from(n)));
    let ended = Rings::new().upgrade_at(number(50), next).collect(old.from(input()));
    // Both windows are open at number 50.
    let sum = |numbers: std::ops::Range<u64>| numbers.sum::<u64>();
    assert_eq!(ended, Ok(vec![(0, 40_000), (40, 10_000 + sum(50..80)), (80, sum(80..100))]));
}
