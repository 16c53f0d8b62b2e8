//! Every value is dropped once, soon after its last reader has released it.

mod tally;

use crate::silence::silence;
use millstream_core::{Arrow, SequenceNumber, Shape, Val, pipeline};
use millstream_exec::{Deployable, Inline, JobExt, Rings, Runner, ThroughExt, source};
use millstream_testkit::within;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tally::{Counted, Tally};

const PATIENCE: Duration = Duration::from_secs(60);
const NUMBERS: u64 = 40;
/// The number at which no stage panics.
const NEVER: u64 = u64::MAX;

fn rings() -> impl Iterator<Item = Rings> {
    let sizes = [(1, 1), (4, 3), (64, 16)];
    sizes.into_iter().flat_map(|(slots, batch)| (1..=3).map(move |w| Rings::new().ring(slots).batch(batch).workers(w)))
}

/// All stages that own values, and a panic in the stage `panics` at the number `at`.
fn everything(panics: usize, at: u64) -> impl Deployable<In = Val<Counted>, Out: Shape + millstream_exec::RingShape> {
    let here = move |stage: usize, value: &Counted| {
        assert!(stage != panics || value.number < at, "at {at}");
    };
    pipeline::<Counted>()
        .map(move |x| {
            here(0, x);
            x.next()
        })
        .shard(3, move |p| {
            p.map(move |x| {
                here(1, x);
                x.next()
            })
            .filter_map(move |x| {
                here(2, x);
                (x.number % 5 != 0).then(|| x.next())
            })
        })
        .filter(move |x| {
            here(3, x);
            x.number % 3 != 0
        })
        .fanout(
            move |p| {
                p.scan(0, move |n, x| {
                    here(4, x);
                    *n += 1;
                    x.next()
                })
            },
            |p| p,
        )
        .both(
            |p| p.map(|x| x.next()),
            move |p| {
                p.shard(2, move |p| {
                    p.map(move |x| {
                        here(5, x);
                        x.next()
                    })
                })
            },
        )
}

#[test]
fn a_run_to_its_end_drops_every_value_once() {
    for rings in rings() {
        for waits in [false, true] {
            let tally = Tally::default();
            let counted = tally.clone();
            let (run, values) = (rings.clone(), (0..NUMBERS).map(move |n| counted.count(n)));
            let run = move || match waits {
                true => run.for_each(everything(0, NEVER).from(values), |_, _| ()).map(drop),
                false => run.for_each(everything(0, NEVER).from(source::ready(values)), |_, _| ()).map(drop),
            };
            assert_eq!(within(PATIENCE, run), Ok(Ok(())), "{rings:?}");
            assert!(tally.made() as u64 > 4 * NUMBERS);
            tally.assert_all_dropped_once(&format!("{rings:?}"));
        }
    }
}

#[test]
fn a_panic_in_any_stage_drops_every_value_once() {
    silence();
    for rings in rings() {
        for stage in 0..6 {
            let tally = Tally::default();
            let counted = tally.clone();
            let (run, values) = (rings.clone(), (0..NUMBERS).map(move |n| counted.count(n)));
            let run = move || run.for_each(everything(stage, 20).from(values), |_, _| ()).map(drop);
            let outcome = within(PATIENCE, run).unwrap_or_else(|hung| panic!("{rings:?}, stage {stage}: {hung}"));
            assert!(outcome.is_err(), "{rings:?}, stage {stage}");
            tally.assert_all_dropped_once(&format!("{rings:?}, stage {stage}"));
        }
    }
}

#[test]
fn a_panic_in_the_source_or_the_sink_drops_every_value_once() {
    silence();
    for rings in rings() {
        for in_sink in [false, true] {
            let tally = Tally::default();
            let counted = tally.clone();
            let run = rings.clone();
            let run = move || {
                let source = (0..NUMBERS).map(move |n| {
                    assert!(in_sink || n < 20, "at {n}");
                    counted.count(n)
                });
                let sink = move |SequenceNumber(n), _: <Val<Counted> as Shape>::Ref<'_>| {
                    assert!(!in_sink || n < 20, "at {n}");
                };
                run.for_each(pipeline::<Counted>().map(|x| x.next()).from(source), sink).map(drop)
            };
            assert!(within(PATIENCE, run).expect("it ends").is_err());
            tally.assert_all_dropped_once(&format!("{rings:?}, {in_sink}"));
        }
    }
}

#[test]
fn an_abandoned_iterator_drops_every_value_once() {
    for rings in rings() {
        let tally = Tally::default();
        let counted = tally.clone();
        let lengths = pipeline::<Counted>().shard(2, |p| p.map(|x| x.next())).map(|x| x.number);
        let taken: Vec<u64> = (0..).map(move |n| counted.count(n)).through_on(rings.clone(), lengths).take(7).collect();
        assert_eq!(taken, [1, 2, 3, 4, 5, 6, 7]);
        tally.assert_all_dropped_once(&format!("{rings:?}"));
    }
}

/// The source yields one value and then waits: everything must be dropped although no value follows.
fn keeps_nothing_alive(run: impl FnOnce(Receiver<Counted>) + Send + 'static) {
    let (values, source) = channel();
    let tally = Tally::default();
    let counted = tally.clone();
    let running = std::thread::spawn(move || run(source));
    for n in 0..3 {
        values.send(counted.count(n)).unwrap();
        assert!(tally.falls_to(0), "value {n}: {} of {} values are kept by idle rings", tally.alive(), tally.made());
        assert!(tally.made() as u64 > n);
    }
    drop(values);
    running.join().unwrap();
}

#[test]
fn idle_rings_keep_nothing_alive() {
    for workers in 1..=3 {
        keeps_nothing_alive(move |source| {
            Rings::new().workers(workers).for_each(everything(0, NEVER).from(source), |_, _| ()).unwrap();
        });
    }
}

/// The stream has ended, and a stage waits at its first number.
#[test]
fn the_values_of_a_source_are_dropped_behind_end() {
    within(PATIENCE, || {
        let (tally, (sender, receiver)) = (Tally::default(), source::channel(16));
        sender.send_all((0..10).map(|n| tally.count(n))).unwrap();
        drop(sender);
        let (open, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let p = pipeline::<Counted>().map(|x| x.number).map_blocking(move |x: &u64| {
            let _ = gate.lock().unwrap().recv();
            *x
        });
        let run = Rings::new().workers(1).start(p.from(receiver).to_each(|_, _: &u64| ())).unwrap();
        assert!(tally.falls_to(0), "{} values are kept behind END", tally.alive());
        drop(open);
        assert_eq!(run.wait().unwrap().1.numbers.0, 10);
    })
    .unwrap();
}

#[test]
fn idle_rings_of_one_thread_keep_nothing_alive() {
    keeps_nothing_alive(|source| {
        Inline::new(Rings::new()).run(everything(0, NEVER).from(source).to_each(|_, _| ())).unwrap();
    });
}
