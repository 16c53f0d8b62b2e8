//! Failures that leave the run, each with its stage, its number and its input, while other values go on.

use millstream_core::pipe::Id;
use millstream_core::{
    Arrow, AsyncExt, DeadLetter, Dense, Deploy, Fault, Lane, ModelExt, Shape, TryMapExt, Val, pipeline,
};
use millstream_exec::{
    Deployable, Inline, JobExt, JobRefExt, Queues, RingBackend, RingShape, Rings, Runner, sink, source,
};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// The letters received: number, input, cause.
type Letters = Vec<(u64, u64, String)>;

/// Every third value is an error and every seventh a panic.
fn judged(x: &u64) -> Result<u64, String> {
    match (x % 3, x % 7) {
        (0, _) => Err(format!("{x} by three")),
        (_, 0) => std::panic::resume_unwind(Box::new("by seven")),
        _ => Ok(x * 10),
    }
}

/// As [`judged`]; some futures are ready at once, and others later.
fn judged_later(x: &u64) -> impl Future<Output = Result<u64, String>> + Send + use<> {
    let (x, mut polls) = (*x, *x % 4);
    // A panic before there is a future is a fault too.
    if polls == 3 && x.is_multiple_of(5) {
        std::panic::resume_unwind(Box::new("by five"));
    }
    std::future::poll_fn(move |cx| {
        if polls == 0 {
            return Poll::Ready(judged(&x));
        }
        polls -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}

fn receive(letters: &Arc<Mutex<Letters>>) -> impl Fn(DeadLetter<'_, u64, String>) + Send + Sync + use<> {
    let letters = letters.clone();
    move |letter| {
        assert_eq!(letter.stage, "judge");
        let why = letter.fault.to_string();
        letters.lock().unwrap().push((letter.number.0, *letter.input, why));
    }
}

#[test]
fn failures_leave_in_the_order_of_their_numbers_and_the_others_go_on() {
    let letters = Arc::new(Mutex::new(Vec::new()));
    let judge = |p: Id<Val<u64>>| p.try_map_or_dead_letter("judge", judged, receive(&letters));
    in_order(pipeline::<u64>().map(|x| x + 1).shard(3, judge).map(|x| *x), &letters);
}

#[test]
fn failures_of_futures_leave_in_the_order_of_their_numbers_and_the_others_go_on() {
    let letters = Arc::new(Mutex::new(Vec::new()));
    let judge = |p: Id<Val<u64>>| p.try_map_async_or_dead_letter(4, "judge", judged_later, receive(&letters));
    let p = in_order(pipeline::<u64>().map(|x| x + 1).shard(3, judge).map(|x| *x), &letters);
    p.model(14..16);
    let by_five = (0, 15, "panicked: by five".to_owned());
    assert_eq!(std::mem::take(&mut *letters.lock().unwrap()), [by_five]);
}

/// The letters and the values of `p`, which receives letters into `letters`, are the same on each deployment.
fn in_order<P>(p: P, letters: &Mutex<Letters>) -> P
where
    P: Deployable<In = Val<u64>, Out = Val<u64, Lane<Dense>>>,
{
    let model = p.model_slots(0..100);
    let expected = std::mem::take(&mut *letters.lock().unwrap());
    assert_eq!(
        expected[..3],
        [(2, 3, "3 by three".to_owned()), (5, 6, "6 by three".to_owned()), (6, 7, "panicked: by seven".to_owned())]
    );
    assert_eq!(model.iter().flatten().count() + expected.len(), 100);
    for slots in [1, 8, 1024] {
        for workers in 1..4 {
            let rings = Rings::new().ring(slots).workers(workers);
            assert_eq!(rings.collect_slots((&p).from(source::ready(0..100))).unwrap(), model);
            assert_eq!(std::mem::take(&mut *letters.lock().unwrap()), expected, "{slots} slots, {workers} workers");
        }
    }
    let (n, _) = Inline::new(Rings::new()).run((&p).from(0..100).to_fold(0, |n, _, _| *n += 1)).unwrap();
    assert_eq!((n, std::mem::take(&mut *letters.lock().unwrap())), (100 - expected.len(), expected));
    p
}

/// A name set later counts, and the second stage of a name has a number: so say the numbers of snapshots, too.
#[test]
fn letters_say_the_name_of_their_stage_in_the_plan() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let receive = || {
        let seen = seen.clone();
        move |letter: DeadLetter<'_, u64, &'static str>| seen.lock().unwrap().push(letter.stage.to_owned())
    };
    let even = |x: &u64| if x % 2 == 1 { Err("odd") } else { Ok(*x) };
    let p = pipeline::<u64>()
        .try_map_or_dead_letter("even", even, receive())
        .named("check")
        .map(|x| x + 1)
        .try_map_or_dead_letter("check", even, receive());
    let names = || {
        let mut names = std::mem::take(&mut *seen.lock().unwrap());
        names.sort_unstable();
        names
    };
    let (_, report) = Rings::new().run((&p).from(0..4).to(sink::collect())).unwrap();
    assert_eq!(names(), ["check", "check", "check-2", "check-2"]);
    let rows = report.stages.iter().map(|stage| &*stage.name).filter(|name| name.ends_with(".dead-letters"));
    assert_eq!(rows.collect::<Vec<_>>(), ["check.dead-letters", "check-2.dead-letters"]);
    assert!(Queues::new().collect(p.from(0..4)).unwrap().is_empty());
    assert_eq!(names(), ["check", "check", "check-2", "check-2"]);
}

/// A pipeline whose values all fail, the receiver of its letters, and a source that reports its requests.
fn all_dead(
    dead: SyncSender<u64>,
) -> (impl Deploy<RingBackend, In = Val<u64>, Out: RingShape>, Receiver<u64>, impl Iterator<Item = u64> + Send) {
    let p = pipeline::<u64>().try_map_or_dead_letter(
        "all",
        |_| Err::<u64, _>("dead"),
        move |letter| dead.send(letter.number.0).unwrap_or(()),
    );
    let (pulled, pulls) = channel();
    (p, pulls, (0..10_000).inspect(move |x| pulled.send(*x).unwrap_or(())))
}

#[test]
fn a_slow_reader_of_failures_holds_back_the_source_until_it_is_gone() {
    let (dead, letters) = sync_channel(1);
    let (p, pulls, values) = all_dead(dead);
    let run = Rings::new().ring(8).workers(2).start(p.from(source::ready(values)).to_each(|_, _| ())).unwrap();
    assert_eq!(letters.recv(), Ok(0));
    assert_eq!(letters.recv(), Ok(1));
    std::thread::sleep(std::time::Duration::from_millis(50));
    let pulled = pulls.try_iter().count();
    // Two rings, and the letters taken from them: two here, one in the channel, one waiting to enter it.
    assert!(pulled <= 8 + 8 + 4, "{pulled}");
    drop(letters);
    assert_eq!(run.wait().unwrap().1.numbers.0, 10_000);
}

#[test]
fn a_reader_of_failures_that_fails_ends_the_run() {
    let receive = |letter: DeadLetter<'_, u64, String>| {
        assert!(letter.number.0 < 8, "no more");
    };
    let p = pipeline::<u64>().try_map_or_dead_letter("judge", judged, receive);
    let error = Rings::new().workers(2).for_each(p.from(0..), |_, _| ()).unwrap_err();
    assert_eq!(error.to_string(), r#"stage "judge.dead-letters", number 9: panicked: no more"#);
}

#[test]
fn ends_value_can_be_a_dead_letter_and_the_plan_knows_the_stage() {
    let (dead, letters) = sync_channel(10);
    let p = pipeline::<u64>().fold(0, |n, x| *n += x, |n| n).try_map_or_dead_letter(
        "answer",
        |n| if *n == 45 { Err("wrong") } else { Ok(*n) },
        move |letter| {
            let DeadLetter { stage, number, input, fault } = letter;
            dead.send((stage.to_owned(), number.0, *input, fault.clone())).unwrap();
        },
    );
    assert_eq!(p.plan().stages[1].name, "answer");
    assert_eq!(p.collect(0..9).unwrap(), [36]);
    assert_eq!(Rings::new().collect_slots((&p).from(0..10)).unwrap(), p.model_slots(0..10));
    let letter = ("answer".to_owned(), 10, 45, Fault::Error("wrong"));
    assert_eq!(letters.try_iter().collect::<Vec<_>>(), [letter.clone(), letter], "one of the run, one of the model");
}

#[test]
fn the_error_of_the_last_future_is_a_dead_letter() {
    let (dead, letters) = sync_channel(10);
    let judge = |n: &u64| {
        let n = *n;
        async move { if n == 45 { Err("wrong") } else { Ok(n) } }
    };
    let p = pipeline::<u64>().fold(0, |n, x| *n += x, |n| n).try_map_async_or_dead_letter(
        2,
        "answer",
        judge,
        move |letter: DeadLetter<'_, u64, _>| dead.send((letter.number.0, letter.fault.clone())).unwrap(),
    );
    assert_eq!(p.plan().stages[1].name, "answer");
    assert_eq!(p.collect(0..9).unwrap(), [36]);
    assert_eq!(Rings::new().collect_slots((&p).from(0..10)).unwrap(), p.model_slots(0..10));
    assert_eq!(letters.try_iter().collect::<Vec<_>>(), vec![(10, Fault::Error("wrong")); 2]);
}

/// A type that names a shape.
#[test]
fn a_failure_takes_no_room_in_the_ring() {
    fn slot_bytes<A: Shape>(_: &impl Arrow<Out = A>) -> usize {
        A::BYTES
    }
    let p = pipeline::<[u64; 8]>().try_map_or_dead_letter("small", |_| Err::<u64, _>("dead"), |_| ());
    assert_eq!(slot_bytes(&p), 16);
}
