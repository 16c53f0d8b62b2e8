//! Chains of snapshots that say what has changed hold what each holds that is written whole.

use millstream_core::{Arrow, Bound, ClockExt, FeedbackExt, KeysExt, Val, pipeline};
use millstream_exec::{Durable, JobRefExt, Lasting, Rings, Runner, RunsOn, Snapshot, StoredParts, source};
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use std::collections::BTreeMap;

/// A store that keeps the parts of the last snapshot.
#[derive(Default)]
struct Stored {
    parts: BTreeMap<String, Vec<u8>>,
    known: StoredParts,
    changes: usize,
}

impl Stored {
    fn store(&mut self, snapshot: &Snapshot) {
        let parts = snapshot.to_parts_since(&self.known).unwrap();
        self.parts.retain(|name, _| parts.kept.contains(name));
        assert_eq!(self.parts.len(), parts.kept.len(), "what is kept is there");
        self.changes += parts.written.iter().filter(|(name, _)| name.starts_with("changes-")).count();
        self.parts.extend(parts.written);
        self.known = parts.stored;
    }

    fn read(&self) -> Snapshot {
        Snapshot::from_parts(self.parts.clone()).unwrap()
    }
}

/// Sends values, takes a snapshot after each group, and stores it, if it is so. From each stored one another run
/// begins, whose own snapshot must have the same parts, all written whole. Returns how many parts of changes there
/// were.
fn chained<P>(p: &P, groups: &[(Vec<u64>, bool)]) -> usize
where
    P: Lasting + Arrow<In = Val<u64>> + RunsOn<Durable, Item = u64>,
{
    let (sender, receiver) = source::channel(64);
    let run = Durable::new(Rings::new().batch(5)).start(p.from(receiver).to_each(|_, _| {})).unwrap();
    let mut stored = Stored::default();
    for (values, keeps) in groups {
        sender.send_all(values.iter().copied()).unwrap();
        let snapshot = run.snapshot().unwrap();
        if !keeps {
            continue;
        }
        stored.store(&snapshot);
        let (again, values) = source::channel(1);
        let rings = Durable::new(Rings::new().resume(stored.read()));
        let begun = rings.start(p.from(values).to_each(|_, _| {})).unwrap();
        let same = begun.snapshot().unwrap();
        assert_eq!(same.at(), snapshot.at());
        assert_eq!(same.to_parts().unwrap(), snapshot.to_parts().unwrap(), "at {}", snapshot.at());
        drop((begun, again));
    }
    drop((run, sender));
    stored.changes
}

/// A pipeline with keys of this kind.
fn check(kind: usize, groups: &[(Vec<u64>, bool)]) -> usize {
    let p = pipeline::<u64>();
    let count = |n: &mut u64, x: &u64| {
        *n += 1;
        *n * 1000 + x
    };
    match kind {
        0 => chained(&p.shard_by(|x| *x, 3, move |p| p.scan(0, count).named("counts")).named("keys"), groups),
        1 => {
            let bound = Bound::forget(40);
            chained(
                &p.shard_by_within(bound, |x| *x, 2, move |p| p.scan(0, count).named("counts")).named("keys"),
                groups,
            )
        }
        // A loop around a keyed stage, in keys: a state in several lanes, which one stage keeps.
        2 => {
            let body = |p: millstream_core::pipe::Id<Val<u64>>| {
                p.feedback(1_u64, |p| p.map(|(x, s)| (x ^ s, s * 3 % 101))).named("loop")
            };
            chained(&p.shard_by(|x| x % 150, 4, body).named("keys"), groups)
        }
        3 => {
            let inner = move |p: millstream_core::pipe::Id<Val<u64>>| {
                p.shard_by(
                    |x| x % 11,
                    2,
                    move |p| {
                        p.scan(String::new(), |all, x| {
                            all.push(char::from(b'a' + (*x % 26) as u8));
                            all.len() as u64
                        })
                        .named("texts")
                    },
                )
                .named("inner")
            };
            chained(&p.shard_by(|x| x % 7, 2, inner).named("outer"), groups)
        }
        // A state that is not keyed beside one that is, and a stage with a clock of its own.
        _ => chained(
            &p.scan(0_u64, |sum, x| {
                *sum += x;
                *x
            })
            .named("sum")
            .shard_by(
                |x| *x,
                1,
                move |p| {
                    p.scan(vec![0_u8; 3], |state, x| {
                        state[*x as usize % 3] += 1;
                        *x
                    })
                    .named("bytes")
                },
            )
            .named("keys")
            .flat_map(|x| [*x, *x])
            .named("twice"),
            groups,
        ),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_chain_of_snapshots_holds_what_one_of_everything_holds(
        kind in 0_usize..5,
        groups in prop::collection::vec((prop::collection::vec(0_u64..300, 0..150), any::<bool>()), 1..14),
    ) {
        check(kind, &groups);
    }
}

#[test]
fn little_that_has_changed_is_written_as_changes() {
    let all: Vec<u64> = (0..300).collect();
    let few = |n: u64| (vec![n, n + 7, n + 9], true);
    let mut groups = vec![(all, true)];
    groups.extend((0..20).map(few));
    for kind in [0, 2, 4] {
        let changes = check(kind, &groups);
        assert!(changes >= 10, "pipeline {kind} was written as changes {changes} times of 20");
    }
}

/// The states of a version that ran beside the earlier one began as copies of its states, and then differed.
#[test]
fn a_version_that_ran_beside_is_not_written_as_changes_of_the_one_before() {
    let counting = |step: u64| {
        let count = move |n: &mut u64, x: &u64| {
            *n += step;
            *x
        };
        pipeline::<u64>().shard_by(|x| x % 200, 2, move |p| p.scan(0, count).named("counts")).named("keys")
    };
    let (sender, receiver) = source::channel(64);
    let run = Durable::new(Rings::new()).start(counting(1).from(receiver).to_each(|_, _| {})).unwrap();
    let mut stored = Stored::default();
    sender.send_all(0..200).unwrap();
    stored.store(&run.snapshot().unwrap());
    let shadow = run.shadow(counting(1000)).unwrap();
    sender.send_all(0..50).unwrap();
    assert_eq!(shadow.wait(50), Ok(50));
    stored.store(&run.snapshot().unwrap());
    shadow.cut_over().unwrap();
    sender.send_all(100..103).unwrap();
    // Snapshots that are not stored lie between the whole one of the version and its changes.
    for left_out in [0, 2] {
        for _ in 0..left_out {
            sender.send(190).unwrap();
            run.snapshot().unwrap();
        }
        sender.send(190).unwrap();
        let snapshot = run.snapshot().unwrap();
        stored.store(&snapshot);
        let (again, values) = source::channel(1);
        let rings = Durable::new(Rings::new().resume(stored.read()));
        let same = rings.start(counting(1000).from(values).to_each(|_, _| {})).unwrap().snapshot().unwrap();
        assert_eq!(same.to_parts().unwrap(), snapshot.to_parts().unwrap());
        drop(again);
    }
    drop((run, sender));
}

/// Before the first key, and after the first ones, there is another number of shards.
#[test]
fn a_snapshot_of_another_number_of_shards_fits_also_without_keys() {
    let counts = |k| {
        let count = |n: &mut u64, x: &u64| {
            *n += 1;
            *n * 1000 + x
        };
        pipeline::<u64>().shard_by(|x| *x, k, move |p| p.scan(0, count).named("counts")).named("keys")
    };
    let (sender, receiver) = source::channel(64);
    let run = Durable::new(Rings::new()).start(counts(2).from(receiver).to_each(|_, _| {})).unwrap();
    let mut stored = Stored::default();
    stored.store(&run.snapshot().unwrap());
    for (k, key) in [(3, None), (5, Some(7)), (1, None), (4, Some(8))] {
        run.upgrade(counts(k)).unwrap();
        sender.send_all(key).unwrap();
        let snapshot = run.snapshot().unwrap();
        stored.store(&snapshot);
        let (again, values) = source::channel(1);
        let rings = Durable::new(Rings::new().resume(stored.read()));
        let begun = rings.start(counts(k).from(values).to_each(|_, _| {})).unwrap();
        assert_eq!(begun.snapshot().unwrap().to_parts().unwrap(), snapshot.to_parts().unwrap(), "{k} shards");
        drop((begun, again));
    }
    drop((run, sender));
}
