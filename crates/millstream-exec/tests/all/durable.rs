//! Durable rings: states that leave the process as bytes, and come back.

use millstream_core::pipeline;
use millstream_core::{
    Arrow, AsyncExt, Bound, ClockExt, FeedbackExt, KeysExt, ModelExt, Retry, SequenceNumber, StreamsExt, Top,
    TryScanExt, Window, WindowsExt,
};
use millstream_exec::{Durable, JobExt, JobRefExt, Rings, RunError, Runner, Snapshot, UpgradeError, sink, source};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::yield_now;
use std::time::Duration;

type Taken = Arc<Mutex<Vec<Snapshot>>>;

/// Options that take a snapshot after `every` numbers.
fn taking(every: u64) -> (Taken, Rings) {
    let taken = Taken::default();
    let kept = taken.clone();
    let rings = Rings::new().batch(5).workers(2);
    (taken, rings.snapshot_every(every, move |snapshot| kept.lock().unwrap().push(snapshot)))
}

/// Runs it to its end, and again from every snapshot, by way of bytes: the rest is the model's.
macro_rules! goes_on {
    ($p:expr) => {{
        let p = $p;
        let (taken, rings) = taking(23);
        let whole = Durable::new(rings).collect_slots((&p).from(source::ready(0..200))).unwrap();
        assert_eq!(whole, p.model_slots(0..200));
        let taken = std::mem::take(&mut *taken.lock().unwrap());
        assert!(!taken.is_empty());
        for snapshot in taken {
            let (at, output) = (snapshot.at().0, snapshot.output_at().unwrap().0 as usize);
            let bytes = snapshot.to_bytes().unwrap();
            let read = Snapshot::from_bytes(&bytes).unwrap();
            assert_eq!(read.to_bytes().unwrap(), bytes);
            assert_eq!((read.at(), read.output_at()), (snapshot.at(), snapshot.output_at()));
            let rings = Durable::new(Rings::new().ring(64).resume(read));
            let rest = rings.collect_slots((&p).from(source::ready(at..200))).unwrap();
            assert_eq!(rest[output..], whole[output..], "from {at}");
        }
    }};
}

#[test]
fn a_run_goes_on_from_bytes_whatever_its_states_are() {
    goes_on!(
        pipeline::<u64>()
            .scan(0_u64, |sum, x| {
                *sum += x;
                *sum
            })
            .named("sum")
            .delay(7)
            .named("before")
            .dedup()
            .named("changes")
    );
    goes_on!(
        pipeline::<u64>()
            .windows_by(Window::sliding(20, 10), |x| x / 2)
            .named("windows")
            .map(|window| window.values.len() as u64)
            .fold(0_u64, |n, x| *n += x, |n| n)
            .named("total")
    );
    goes_on!(
        pipeline::<u64>()
            .fold_windows_by(
                |x| (x % 3).to_string(),
                Window::sliding(20, 10).watermark_by_key().refine_within(30).early_every(4),
                |x| x / 2 + x % 4 * 9,
                Top::new(3),
                |top: &mut Top<u64>, x| top.push(*x),
            )
            .named("windows")
            .map(|results| results
                .iter()
                .map(|w| (w.key.clone(), w.start, w.state.clone(), w.dropped))
                .collect::<Vec<_>>())
    );
    goes_on!(
        pipeline::<u64>()
            .flat_scan_finish(
                0_u64,
                |n, x| {
                    *n += x;
                    0..*n % 3
                },
                |n| 0..n % 5
            )
            .named("outputs")
            .scan_finish(
                0_u64,
                |n, x| {
                    *n += x;
                    *n
                },
                Some
            )
            .named("sum")
    );
    goes_on!(pipeline::<u64>().count_by(|x| x % 7).named("counts"));
    goes_on!(pipeline::<u64>().take(150).named("first").skip(4).named("later").chunks(3).named("threes"));
    goes_on!(
        pipeline::<u64>().feedback(1_u64, |p| p.map(|(x, state)| (x + state, (x * state + 1) % 100))).named("loop")
    );
    goes_on!(
        pipeline::<u64>()
            .shard_by_within(
                Bound::forget(5),
                |x| x * x % 11,
                3,
                |p| {
                    p.scan(String::new(), |all, x| {
                        all.push(char::from(b'a' + (x % 26) as u8));
                        all.clone()
                    })
                    .named("letters")
                    .inspect(|_| ())
                }
            )
            .named("keys")
    );
    goes_on!(pipeline::<u64>().try_map_or_park(
        "parks",
        |x| x % 31,
        |x| if x % 37 == 30 { Err("no") } else { Ok(*x) },
        |_| ()
    ));
    let step = |sum: &mut u64, x: &u64| {
        *sum += x;
        if x % 37 == 30 { Err("no") } else { Ok(*sum) }
    };
    goes_on!(pipeline::<u64>().try_scan_or_park("parks", |x| x % 31, 1_u64, step, |_| ()));
    goes_on!(pipeline::<u64>().try_scan_or_dead_letter("dies", 1_u64, step, |_| ()));
    goes_on!(pipeline::<u64>().filter(|x| x % 37 != 30).try_scan_retry(Retry::times(1), 1_u64, step).named("again"));
}

#[test]
fn a_state_without_a_name_is_refused_before_anything_starts() {
    let p = pipeline::<u64>().dedup().scan(0_u64, |sum, x| {
        *sum += x;
        *sum
    });
    let refused = Durable::default().collect((&p).from(0..3)).unwrap_err();
    assert!(matches!(refused, RunError::NotDurable(_)), "{refused}");
    assert!(refused.to_string().starts_with("2 stages keep a state and have no name of their own"), "{refused}");
    assert_eq!(Rings::new().collect(p.from(0..3)), Ok(vec![0, 1, 3]));
}

#[test]
fn bytes_that_do_not_fit_are_refused() {
    let sums = |name: &'static str| {
        let p = pipeline::<u64>().scan(0_u64, |sum, x| {
            *sum += x;
            *sum
        });
        p.named(name)
    };
    let (taken, rings) = taking(10);
    Durable::new(rings.clone()).collect(sums("sum").from(source::ready(0..50))).unwrap();
    let snapshot = taken.lock().unwrap().pop().unwrap();
    let bytes = snapshot.to_bytes().unwrap();
    let why = |bytes: &[u8]| Snapshot::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(why(b"{}"), "these bytes are not a snapshot");
    let mut later = bytes.clone();
    later[8] = 9;
    assert_eq!(why(&later), "a snapshot of format 9; this version of Millstream reads format 1");
    for len in 12..bytes.len() {
        assert!(why(&bytes[..len]).starts_with("the snapshot is damaged"), "{len} of {}", bytes.len());
    }
    assert_eq!(why(&[&bytes[..], b"x"].concat()), "the snapshot is damaged: its checksum does not match");
    let refused = |on: Rings, durable: bool| {
        let job = sums("sum").from(0..3);
        if durable { Durable::new(on).collect(job) } else { on.collect(job) }.unwrap_err().to_string()
    };
    let read = || Rings::new().resume(Snapshot::from_bytes(&bytes).unwrap());
    let volatile = "the snapshot does not fit the pipeline: stage \"sum\" has its state in the snapshot as bytes, which \
                    `Durable` rings read and `Rings` do not";
    assert_eq!(refused(read(), false), volatile);
    let other = pipeline::<u64>().scan(0_u32, |sum, _| *sum).named("sum");
    let other = Durable::new(read()).collect(other.from(0..3)).unwrap_err().to_string();
    assert!(other.ends_with("has a state of type u32, and the snapshot has a u64 for it"), "{other}");
    // Within a process the states need not be written, but for `to_bytes`.
    assert!(Durable::new(Rings::new().resume(snapshot.clone())).collect(sums("sum").from(0..3)).is_ok());
    assert!(Rings::new().resume(snapshot).collect(sums("sum").from(0..3)).is_ok());
    rings.collect(sums("sum").from(source::ready(0..50))).unwrap();
    let cloned = taken.lock().unwrap().pop().unwrap().to_bytes().unwrap_err().to_string();
    assert!(cloned.ends_with("stage \"sum\" was kept by `Rings`, as a clone: run on `Durable` rings"), "{cloned}");
}

#[test]
fn a_durable_run_is_upgraded_by_pipelines_that_can_be_kept() {
    let sums = |plus: u64| {
        let p = pipeline::<u64>().scan(0_u64, move |sum, x| {
            *sum += x + plus;
            *sum
        });
        p.named("sum")
    };
    let durable = Durable::new(Rings::new()).upgrade_at(SequenceNumber(5), sums(1));
    let (sender, receiver) = source::channel(16);
    let run = durable.start(sums(0).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..8).unwrap();
    let at = loop {
        match run.upgrade(sums(2)) {
            // The planned one is not over.
            Err(UpgradeError::UnderWay) => yield_now(),
            at => break at,
        }
    };
    assert_eq!(at, Ok(SequenceNumber(8)));
    sender.send_all(8..10).unwrap();
    let bytes = run.snapshot().unwrap().to_bytes().unwrap();
    drop(sender);
    let all = run.wait().unwrap().0;
    assert_eq!(all, [0, 1, 3, 6, 10, 16, 23, 31, 41, 52]);
    let read = Rings::new().resume(Snapshot::from_bytes(&bytes).unwrap());
    assert_eq!(Durable::new(read).collect(sums(2).from([0])), Ok(vec![54]));
    // Planned for another runner.
    let planned = Durable::new(Rings::new().upgrade_at(SequenceNumber(5), sums(1)));
    let refused = planned.collect(sums(0).from(0..3)).unwrap_err();
    assert_eq!(refused, RunError::Upgrade(UpgradeError::OtherRunner));
}

/// A state that is written, and cannot be read.
#[derive(Clone, Default, serde::Serialize)]
struct OneWay(u64);

impl<'de> serde::Deserialize<'de> for OneWay {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("not to be read");
    }
}

#[test]
fn a_state_that_panics_where_it_is_read_refuses_the_run() {
    let counts = || pipeline::<u64>().scan(OneWay::default(), |n, _| (n.0, n.0 += 1).0).named("count");
    let (taken, rings) = taking(10);
    Durable::new(rings).collect(counts().from(source::ready(0..50))).unwrap();
    let bytes = taken.lock().unwrap().pop().unwrap().to_bytes().unwrap();
    let read = Rings::new().resume(Snapshot::from_bytes(&bytes).unwrap());
    let refused = Durable::new(read).collect(counts().from(0..3)).unwrap_err().to_string();
    let why = "stage \"count\" has a state that cannot be read: panicked: not to be read";
    assert!(refused.ends_with(why), "{refused}");
}

/// The bytes of a run's last snapshot.
macro_rules! bytes_of {
    ($p:expr, $n:expr) => {{
        let (sender, receiver) = source::channel(256);
        let run = Durable::new(Rings::new()).start($p.from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..$n).unwrap();
        run.snapshot().unwrap().to_bytes().unwrap()
    }};
}

fn resumed(bytes: &[u8]) -> Durable {
    Durable::new(Rings::new().resume(Snapshot::from_bytes(bytes).unwrap()))
}

#[test]
fn a_state_of_another_version_and_damaged_bytes_are_refused() {
    let count = |version| pipeline::<u64>().scan(0_u64, |n, _| (*n, *n += 1).0).named("n").state_version(version);
    let bytes = bytes_of!(count(2), 5);
    assert_eq!(resumed(&bytes).collect(count(2).from([0])), Ok(vec![5]));
    let refused = resumed(&bytes).collect(count(3).from([0])).unwrap_err().to_string();
    assert!(refused.ends_with("has a state of version 3, and the snapshot has its version 2"), "{refused}");
    let mut damaged = bytes.clone();
    damaged[20] ^= 1;
    let why = Snapshot::from_bytes(&damaged).unwrap_err().to_string();
    assert_eq!(why, "the snapshot is damaged: its checksum does not match");
}

/// What limits a table of keys, and how a new key begins, is the present pipeline's.
#[test]
fn the_options_of_keys_are_those_of_the_new_pipeline() {
    let keyed = |bound, start: u64, k| {
        let p = pipeline::<u64>().shard_by_within(
            bound,
            |x| *x,
            k,
            move |p| p.scan(start, |n, _| (*n, *n += 1).0).named("counts"),
        );
        p.named("keys")
    };
    let bytes = bytes_of!(keyed(Bound::refuse(3), 0, 2), 3);
    assert!(resumed(&bytes).collect(keyed(Bound::refuse(3), 0, 2).from([0, 7])).is_err(), "a fourth key");
    assert_eq!(resumed(&bytes).collect(keyed(Bound::refuse(4), 100, 2).from([0, 7, 7])), Ok(vec![1, 100, 101]));
    let refused = |p: &str, on: Result<Vec<u64>, RunError>| {
        let why = on.unwrap_err().to_string();
        assert!(why.contains(p), "{why}");
    };
    let run = |bound, k| resumed(&bytes).collect(keyed(bound, 0, k).from([0]));
    refused("has room for 2 keys, and there are 3 already", run(Bound::refuse(2), 2));
    refused("forgets keys in one of the two pipelines", run(Bound::forget(4), 2));
    refused("has 3 lanes of keys, and the snapshot has 2", run(Bound::refuse(3), 3));
}

/// Its numbers go on, and its figures are its own.
#[test]
fn a_run_that_goes_on_reports_what_it_has_moved_itself() {
    let p = pipeline::<u64>().map(|x| x + 1);
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start((&p).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..3).unwrap();
    let snapshot = run.snapshot().unwrap();
    assert_eq!(snapshot.at(), SequenceNumber(3));
    drop(run);
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().resume(snapshot.clone()).start(p.from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..5).unwrap();
    drop(sender);
    let report = run.wait().unwrap().1;
    assert_eq!(report.numbers, SequenceNumber(8));
    // END is a number, too.
    assert!(report.stages.iter().all(|stage| stage.moved == 6), "{:?}", report.stages);
    assert!(report.loads.stages.iter().all(|load| load.numbers == 6), "{:?}", report.loads);
    assert!(report.to_string().starts_with("came to its end: 5 numbers, 5 values in "), "{report}");
    // Four of ten values come out before the time of a drain is over.
    let (pulled, got) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (pulls, gets) = (pulled.clone(), got.clone());
    let some = pipeline::<u64>().map_async(16, |x: &u64| {
        let x = *x;
        async move { if x < 4 { x } else { std::future::pending().await } }
    });
    let values = (0..10).inspect(move |_| _ = pulls.fetch_add(1, Ordering::Relaxed));
    let job = some.from(source::ready(values)).to_each(move |_, _| _ = gets.fetch_add(1, Ordering::Relaxed));
    let run = Rings::new().resume(snapshot).start(job).unwrap();
    while (pulled.load(Ordering::Relaxed), got.load(Ordering::Relaxed)) != (10, 4) {
        yield_now();
    }
    assert_eq!(run.drain(Duration::ZERO).unwrap_err(), RunError::DrainTimeout { left: 6 });
}
