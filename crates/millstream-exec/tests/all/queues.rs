//! The deployment on queues.

use millstream_core::{
    Arrow, AsyncExt, ChoiceExt, ClockExt, Either, ModelExt, PartsExt, Retry, SequenceNumber, StreamsExt, TryMapExt,
    pipeline,
};
use millstream_exec::{BoxEverywhereExt, JobRefExt, Queues, RunError, RunOutcome, Runner, source};
use millstream_testkit::within;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// The names of the threads of a run over a few values.
fn threads<P>(pipeline: &P) -> Vec<String>
where
    P: millstream_core::Deploy<Queues> + Arrow<In = millstream_core::Val<u64>, Out: millstream_exec::QueueShape>,
{
    let handle = Queues::new().start(pipeline.from(source::ready(0..5)).to_each(|_, _| ())).unwrap();
    let (_, report) = handle.wait().unwrap();
    report.stages.into_iter().map(|stage| stage.name).collect()
}

#[test]
fn a_chain_has_one_thread_a_stage() {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let receive = |seen: &Arc<Mutex<HashSet<_>>>| {
        let seen = seen.clone();
        move |x: &u64| {
            seen.lock().unwrap().insert(thread::current().id());
            x + 1
        }
    };
    let p = pipeline::<u64>()
        .map(receive(&seen))
        .map_blocking(receive(&seen))
        .map(receive(&seen))
        .then(millstream_core::id());
    assert_eq!(threads(&p), ["source", "map-1", "map_blocking-1", "map-2", "sink"]);
    assert_eq!(seen.lock().unwrap().len(), 3);
    assert_eq!(Queues::new().collect((&p).from(0..4)).unwrap(), [3, 4, 5, 6]);
}

#[test]
fn a_fan_out_has_a_copier_and_a_zipper() {
    let p = pipeline::<u64>().fanout(|p| p.map(|x| x + 1), |p| p.map(|x| x * 2));
    let names = threads(&p);
    assert_eq!(names.len(), 6);
    assert_eq!([&*names[1], &*names[4]], ["copier", "zipper"]);
    let (_, report) = Queues::new().start((&p).from(source::ready(0..50)).to_each(|_, _| ())).unwrap().wait().unwrap();
    let moved: Vec<u64> = report.stages.iter().map(|stage| stage.moved).collect();
    assert_eq!(moved, [51; 6]);
    assert_eq!(Queues::new().collect_slots((&p).from(0..50)).unwrap(), p.model_slots(0..50));
}

#[test]
fn the_articles_example() {
    let p = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x % 2 == 0));
    let expected = [(1, false), (2, true), (3, false), (4, true), (5, false)];
    assert_eq!(Queues::new().collect((&p).from(1..=5)).unwrap(), expected);
}

#[test]
fn halves_and_lanes_come_back_in_order() {
    let both = pipeline::<u64>().map(|x| (*x, x.to_string())).both(
        |p| {
            p.scan(0, |sum, x| {
                *sum += x;
                *sum
            })
        },
        |p| p.filter(|s| s.len() == 1),
    );
    let lanes = || pipeline::<u64>().map(|x| if x % 3 == 0 { Either::Left(*x) } else { Either::Right(x.to_string()) });
    let chosen = lanes().choose(
        |p| {
            p.scan(0, |n, _| {
                *n += 1;
                *n
            })
        },
        |p| p.map(|s| s.len()),
    );
    let merged = lanes().merge(|p| p.map(|x| x.to_string()), |p| p.filter_map(|s| (s != "5").then(|| s.clone())));
    let only_left = pipeline::<u64>().map(|x| Either::<u64, u64>::Left(*x)).merge(|p| p.map(|x| *x), |p| p.map(|x| *x));
    for capacity in [1, 2, 64] {
        let queues = Queues::new().capacity(capacity);
        assert_eq!(queues.collect_slots((&both).from(0..30)).unwrap(), both.model_slots(0..30));
        assert_eq!(queues.collect_slots((&chosen).from(0..30)).unwrap(), chosen.model_slots(0..30));
        assert_eq!(queues.collect_slots((&merged).from(0..30)).unwrap(), merged.model_slots(0..30));
        assert_eq!(queues.collect_slots((&only_left).from(0..30)).unwrap(), only_left.model_slots(0..30));
    }
}

#[test]
fn a_shard_distributes_in_turn_and_gathers_in_turn() {
    for k in 1..=5 {
        let p = pipeline::<u64>().shard(k, |p| p.map(|x| x + 1).filter(|x| x % 4 != 0)).scan(0, |n, x| {
            *n = *n * 31 + x;
            *n
        });
        for length in [0, 1, 2, 7, 8] {
            let slots = Queues::new().capacity(1).collect_slots((&p).from(0..length)).unwrap();
            assert_eq!(slots, p.model_slots(0..length), "{k} copies, {length} values");
        }
    }
}

#[test]
fn fewer_outputs_than_inputs_are_no_reason_to_wait() {
    let p = pipeline::<u64>().filter(|_| false).filter_map(|x| (x % 2 == 0).then_some(*x));
    assert_eq!(Queues::new().capacity(2).collect_slots((&p).from(0..100)).unwrap(), vec![None; 101]);
    let count = pipeline::<u64>().fold(0_u64, |n, _| *n += 1, |n| n);
    assert_eq!(Queues::new().capacity(2).collect((&count).from(0..100)).unwrap(), [100]);
    assert_eq!(Queues::new().collect((&count).from(0..0)).unwrap(), [0]);
}

#[test]
fn a_new_clock_and_a_side_output() {
    let seen = Arc::new(AtomicU64::new(0));
    let side_output = seen.clone();
    let p = pipeline::<u64>()
        .tee(move |p| p.map(move |x| side_output.fetch_add(*x, Ordering::Relaxed)))
        .flat_map(|x| 0..*x % 4)
        .filter(|x| *x > 0)
        .compact();
    let queues = Queues::new().capacity(1);
    assert_eq!(queues.collect_slots((&p).from(0..20)).unwrap(), p.model_slots(0..20));
    assert_eq!(seen.load(Ordering::Relaxed), 2 * 190);
}

/// A sink that blocks holds all threads back: the source has yielded the values in the queues and in the threads.
#[test]
fn queues_are_bounded() {
    let given = Arc::new(AtomicU64::new(0));
    let counted = given.clone();
    let endless = (0..).inspect(move |_: &u64| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let (blocked, release) = mpsc::channel::<()>();
    let (reached, sink_reached) = mpsc::channel();
    let p = pipeline::<u64>().map(|x| x + 1).map(|x| x + 1);
    let sink = move |(): &mut (), _, _: &u64| {
        let _ = reached.send(());
        let _ = release.recv();
    };
    let handle = Queues::new().capacity(4).start((&p).from(source::ready(endless)).to_fold((), sink)).unwrap();
    sink_reached.recv().unwrap();
    // Three queues of 4, and one value each in the source, the stages and the sink.
    let mut before = 0;
    let most = 3 * 4 + 4;
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(1));
        before = given.load(Ordering::SeqCst);
        assert!(before <= most, "{before} values were taken");
    }
    assert!(before > 0);
    let stopper = handle.stopper();
    stopper.stop_now();
    drop(blocked);
    let (_, report) = handle.wait().unwrap();
    assert_eq!(report.outcome, RunOutcome::Stopped);
    assert!(given.load(Ordering::SeqCst) <= most);
}

#[test]
fn a_failure_has_its_stage_and_its_number_and_ends_all_threads() {
    for (shards, capacity) in [(1, 1), (1, 64), (3, 2)] {
        let p = pipeline::<u64>().map(|x| x + 1).named("before").fanout(
            |p| p,
            move |p| {
                p.shard(shards, |p| {
                    p.map(|x| {
                        assert!(*x != 8, "eight");
                        *x
                    })
                    .named("delicate")
                })
            },
        );
        let p = p.fold(0, |n: &mut u64, _| *n += 1, |n| n);
        let handle = Queues::new()
            .capacity(capacity)
            .start((&p).from(source::ready(0..)).to_fold(0, |n, _, x| *n = *x))
            .unwrap();
        let ended = handle.join();
        assert_eq!(ended.failure.as_ref().unwrap().to_string(), "stage \"delicate\", number 7: panicked: eight");
        // The fold must not take a failure for the end.
        assert_eq!((ended.output, ended.report.values), (Some(0), 0));
        assert_eq!(ended.report.outcome, RunOutcome::Failed);
    }
}

#[test]
fn failures_in_lanes_sources_and_sinks_have_their_numbers() {
    let lanes = pipeline::<u64>()
        .map(|x| if x % 2 == 0 { Either::Left(*x) } else { Either::Right(*x) })
        .merge(|p| p.map(|x| *x), |p| p.try_map(|x| if *x == 5 { Err("five") } else { Ok(*x) }).named("odd"));
    let at = |error: RunError| error.to_string();
    let error = Queues::new().capacity(2).collect((&lanes).from(0..9)).unwrap_err();
    assert_eq!(at(error), "stage \"odd\", number 5: five");
    let p = pipeline::<u64>().map(|x| *x);
    let source = || (0..9_u64).inspect(|x| assert!(*x != 4, "four"));
    assert_eq!(
        at(Queues::new().collect((&p).from(source())).unwrap_err()),
        "stage \"source\", number 4: panicked: four"
    );
    let error = Queues::new().collect((&p).from(source::ready(source()))).unwrap_err();
    assert_eq!(at(error), "stage \"source\", number 4: panicked: four");
    let sunk = Queues::new().run((&p).from(0..9).to_each(|_, x| assert!(*x != 3, "three")));
    assert_eq!(at(sunk.unwrap_err()), "stage \"sink\", number 3: panicked: three");
}

/// A source that waits for ever is drained as well, and its values come out.
#[test]
fn a_run_is_drained_while_its_source_waits() {
    let (send, receive) = mpsc::channel::<u64>();
    for x in 0..10 {
        send.send(x).unwrap();
    }
    let (reached, sink_reached) = mpsc::channel();
    let p = pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum).tee(|p| p);
    let received = pipeline::<u64>()
        .map(move |x| {
            let _ = reached.send(*x);
            *x
        })
        .then(p);
    let handle =
        Queues::new().start((&received).from(receive).to_fold(Vec::new(), |all, _, x: &u64| all.push(*x))).unwrap();
    while sink_reached.recv().unwrap() != 9 {}
    let (all, report) = handle.drain(Duration::from_secs(60)).unwrap();
    assert_eq!((all, report.outcome, report.numbers.0), (vec![45], RunOutcome::Drained, 10));
    assert_eq!((&*report.stages[0].name, report.stages[0].moved), ("source", 11));
    drop(send);
}

#[test]
fn a_run_is_stopped_while_its_source_waits() {
    let (send, receive) = mpsc::channel::<u64>();
    let p = pipeline::<u64>().map(|x| *x);
    let handle = Queues::new().start((&p).from(receive).to_each(|_, _| ())).unwrap();
    assert!(!handle.is_finished());
    assert_eq!(handle.stop_now().unwrap().1.outcome, RunOutcome::Stopped);
    let dropped = Queues::new().start((&p).from(std::iter::repeat(1)).to_each(|_, _| ())).unwrap();
    drop(dropped);
    drop(send);
}

#[test]
fn queues_without_slots_are_refused() {
    let error = Queues::new().capacity(0).collect((&pipeline::<u64>()).from(0..1)).unwrap_err();
    assert_eq!(error.to_string(), "queues of 0 slots: a queue must be able to hold at least 1");
}

/// A failure leaves through a queue of its own, with its number, and the others go on.
#[test]
fn failures_are_reported_and_leave_their_slots_empty() {
    let letters = Arc::new(Mutex::new(Vec::new()));
    let received = letters.clone();
    let judge = |x: &u64| if x.is_multiple_of(3) { Err(format!("{x} by three")) } else { Ok(*x) };
    let receive = move |letter: millstream_core::DeadLetter<'_, u64, String>| {
        received.lock().unwrap().push((letter.number.0, *letter.input, letter.fault.to_string()));
    };
    let first = || pipeline::<u64>().map(|x| x + 1);
    let later = move |x: &u64| std::future::ready(judge(x));
    let awaited = first().try_map_async_or_dead_letter(3, "judge", later, receive.clone());
    let judged = first().try_map_or_dead_letter("judge", judge, receive);
    for p in [judged.map(|x| x * 2).boxed_everywhere(), awaited.map(|x| x * 2).boxed_everywhere()] {
        let model = p.model_slots(0..50);
        let expected = std::mem::take(&mut *letters.lock().unwrap());
        assert_eq!((expected.len(), &expected[0]), (16, &(2, 3, "3 by three".to_owned())));
        for capacity in [1, 64] {
            assert_eq!(Queues::new().capacity(capacity).collect_slots((&p).from(0..50)).unwrap(), model);
            assert_eq!(std::mem::take(&mut *letters.lock().unwrap()), expected);
        }
    }
}

/// A lane's stage receives the lane's values only, with their numbers in the stream.
#[test]
fn numbers_in_a_lane_are_those_of_the_stream() {
    let p = pipeline::<u64>()
        .map(|x| if x % 3 == 0 { Either::Left(*x) } else { Either::Right(*x) })
        .merge(|p| p.enumerate().map(|(n, x)| (n.0, *x)), |p| p.enumerate().map(|(n, x)| (n.0, *x)));
    assert_eq!(Queues::new().collect((&p).from(0..20)).unwrap(), (0..20).map(|x| (x, x)).collect::<Vec<_>>());
}

/// The stages before it end as well, including an endless source, and the stream has the model's length.
#[test]
fn a_stream_taken_from_an_endless_source_ends() {
    for capacity in [1, 64] {
        let queues = Queues::new().capacity(capacity);
        let p = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x * 2)).take(7);
        assert_eq!(queues.collect_slots((&p).from(0..)).unwrap(), p.model_slots(0..100));
        assert_eq!(queues.collect_slots((&p).from(source::ready(0..))).unwrap(), p.model_slots(0..100));
        let odd = pipeline::<u64>().filter(|x| x % 2 == 1).take_while(|x| *x < 8);
        assert_eq!(queues.collect_slots((&odd).from(0..)).unwrap(), odd.model_slots(0..100));
        let none = pipeline::<u64>().take(0).fold(0, |n: &mut u64, _| *n += 1, |n| n);
        assert_eq!(queues.collect_slots((&none).from(0..)).unwrap(), [Some(0)]);
    }
}

/// Three values, and then silence for as long as the other end is held.
fn then_silent() -> (mpsc::Sender<u64>, mpsc::IntoIter<u64>) {
    let (values, source) = mpsc::channel();
    (0..3).for_each(|x| values.send(x).unwrap());
    (values, source.into_iter())
}

fn push(all: &mut Vec<u64>, _: SequenceNumber, x: &u64) {
    all.push(*x);
}

#[test]
fn a_silent_source_is_not_waited_for() {
    within(LONG, || {
        let fails = pipeline::<u64>().map(|x| x + 1).map(|x| 1 / (3 - x)).map(|x| x + 1);
        let (silent, source) = then_silent();
        let error = Queues::new().start((&fails).from(source).to_fold(Vec::new(), push)).unwrap().wait().unwrap_err();
        assert_eq!(error.to_string(), r#"stage "map-2", number 2: panicked: attempt to divide by zero"#);
        drop(silent);

        let takes = pipeline::<u64>().map(|x| x + 1).take(3);
        let (silent, source) = then_silent();
        let run = Queues::new().start((&takes).from(source).to_fold(Vec::new(), push)).unwrap();
        let (all, report) = run.wait().unwrap();
        assert_eq!((all, report.outcome), (vec![1, 2, 3], RunOutcome::End));
        drop(silent);
        let (silent, source) = then_silent();
        let two = pipeline::<u64>().take(2);
        let run = Queues::new().start((&two).from(source).to_fold(Vec::new(), push)).unwrap();
        assert_eq!(run.wait().unwrap().0, [0, 1]);
        drop(silent);
    })
    .unwrap();
}

#[test]
fn the_side_output_of_a_silent_source_is_finished() {
    within(LONG, || {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (see, dead) = (seen.clone(), seen.clone());
        let p = pipeline::<u64>()
            .tee(move |p| p.map(move |x| see.lock().unwrap().push(*x)))
            .try_map_or_dead_letter(
                "ones",
                |x| if *x == 1 { Err("one") } else { Ok(*x) },
                move |letter| dead.lock().unwrap().push(*letter.input + 100),
            )
            .take(2);
        let (silent, source) = then_silent();
        let all = Queues::new().start((&p).from(source).to_fold(Vec::new(), push)).unwrap().wait().unwrap().0;
        assert_eq!(all, [0, 2]);
        drop(silent);
        let mut seen = seen.lock().unwrap().clone();
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 101]);
    })
    .unwrap();
}

#[test]
fn a_pause_on_queues_is_not_waited_for() {
    within(LONG, || {
        for drains in [false, true] {
            let (tried, tries) = mpsc::channel();
            let retry = Retry::times(4).backoff(Duration::from_secs(86_400));
            let p = pipeline::<u64>().try_map_retry(retry, move |_| {
                tried.send(()).unwrap();
                Err::<u64, _>("not yet")
            });
            let run = Queues::new().start((&p).from(0..10).to_fold(Vec::new(), push)).unwrap();
            tries.recv().unwrap();
            let ended =
                if drains { run.drain_join(Duration::from_millis(1)).report } else { run.stop_now().unwrap().1 };
            assert_eq!(ended.outcome, RunOutcome::Stopped);
        }
    })
    .unwrap();
}
