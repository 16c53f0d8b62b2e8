//! Effects whose process dies, at every instruction of the disk.

use crate::machine::noted;
use crate::simulated::{Faults, Simulated, World};
use millstream::prelude::*;
use millstream_state::effects::{EffectKey, Effects, OutcomeUnknown, Unknown};
use millstream_state::journal::{Fsync, JournalOptions, JournalReader};
use millstream_state::{Cadence, Persistent, Retention, StateDir, again};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

const NUMBERS: u64 = 5;

/// What is done about a call without an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Policy {
    Retry,
    Ask,
    Fail,
}

type Answers = BTreeMap<u64, Result<u64, OutcomeUnknown>>;

/// A process that performs an effect for each number. What the other side has done is noted with the disk, and survives
/// every crash. An answer has the attempt in it. Returns the answers, and how often the other side was called by then.
fn process(disk: &Simulated, policy: Policy) -> Answers {
    let called =
        |number: u64| disk.world().notes.iter().filter(|(what, n)| *what == "called" && n % 100 == number).count();
    let server = disk.clone();
    let ask = move |key: &EffectKey| {
        let notes = server.world().notes;
        let answer = |(what, n): &(&str, u64)| (*what == "called" && n % 100 == key.number()).then_some(*n);
        notes.iter().find_map(answer)
    };
    let unknown = match policy {
        Policy::Retry => Unknown::retry(),
        Policy::Ask => Unknown::ask(ask),
        Policy::Fail => Unknown::fail(),
    };
    let state = StateDir::open_on(disk.disk(), "/state", "bank").unwrap();
    let (effects, _) = Effects::open(&state, JournalOptions::default()).unwrap();
    let (server, before): (_, Vec<u64>) = (disk.clone(), (0..NUMBERS).map(|n| called(n) as u64).collect());
    let charge = effects.recorded("charge", unknown, move |key, amount: &u64| {
        assert_eq!(key.to_string(), format!("bank/charge/{}", amount - 7), "whatever attempt it is");
        let answer = before[key.number() as usize] * 100 + key.number();
        server.note("called", answer);
        answer
    });
    let one = |number: u64| {
        let answer = charge((&SequenceNumber(number), &(number + 7)));
        disk.note("answered", answer.clone().unwrap_or(1000 + number));
        (number, answer)
    };
    (0..NUMBERS).map(one).collect()
}

/// The answers that the process has given on to what is downstream: those are true for ever.
fn given(world: &World) -> Vec<u64> {
    world.notes.iter().filter(|(what, _)| *what == "answered").map(|(_, answer)| *answer).collect()
}

fn check(policy: Policy) {
    let disk = Simulated::recording();
    process(&disk, policy);
    let mut worlds = disk.history();
    assert!(worlds.len() > 20, "{}", worlds.len());
    // And crashes of a process that goes on after the first crash.
    let half = worlds[worlds.len() / 2].crashes().swap_remove(0);
    let second = Simulated::recording_on(half);
    process(&second, policy);
    worlds.extend(second.history());
    let mut unknown = 0;
    for world in worlds {
        let (after, given) = (world.last.clone(), given(&world));
        for crashed in world.crashes() {
            let disk = Simulated::of(crashed);
            let answers = process(&disk, policy);
            for answer in &given {
                let kept = match answer {
                    1000.. => answers[&(answer - 1000)].is_err(),
                    _ => answers[&(answer % 100)] == Ok(*answer),
                };
                assert!(kept, "{policy:?}, after {after}: {answer} was given on, and now {answers:?}");
            }
            let notes = disk.world().notes;
            for number in 0..NUMBERS {
                let calls = notes.iter().filter(|(what, n)| *what == "called" && n % 100 == number).count();
                match policy {
                    Policy::Retry => assert!(calls >= 1, "after {after}"),
                    Policy::Ask => assert_eq!((calls, &answers[&number]), (1, &Ok(number)), "after {after}"),
                    Policy::Fail => assert!(calls <= 1 && (calls == 1 || answers[&number].is_err()), "after {after}"),
                }
                unknown += u64::from(answers[&number].is_err());
            }
            assert_eq!(process(&disk, policy), answers, "after {after}: they are the same for ever");
        }
    }
    assert_eq!(unknown > 0, policy == Policy::Fail, "{unknown}");
}

#[test]
fn an_effect_that_is_retried_is_performed_at_least_once_and_its_answer_stays() {
    check(Policy::Retry);
}

#[test]
fn an_effect_that_can_be_asked_for_is_performed_once() {
    check(Policy::Ask);
}

#[test]
fn an_effect_whose_outcome_is_unknown_is_flagged_and_never_performed_again() {
    check(Policy::Fail);
}

#[test]
fn nothing_is_acknowledged_after_a_sync_that_failed() {
    for nth in 0..2 * NUMBERS as usize {
        let disk = Simulated::recording();
        drop(StateDir::open_on(disk.disk(), "/state", "bank").unwrap());
        disk.set_faults(Faults { fail: Some(("sync /state/effects/0", nth)), ..Faults::default() });
        if catch_unwind(AssertUnwindSafe(|| process(&disk, Policy::Fail))).is_ok() {
            continue;
        }
        let given = given(&disk.world());
        for crashed in disk.world().crashes() {
            let answers = process(&Simulated::of(crashed), Policy::Fail);
            assert!(given.iter().all(|answer| answers[&(answer % 100)] == Ok(*answer)), "{given:?}, {answers:?}");
        }
    }
}

#[test]
fn threads_that_come_to_one_number_perform_it_once() {
    let home = tempfile::tempdir().unwrap();
    let state = StateDir::open(home.path().join("state"), "bank").unwrap();
    let (effects, _) = Effects::open(&state, JournalOptions::default()).unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    let counted = calls.clone();
    let charge = effects.recorded("charge", Unknown::fail(), move |key, _: &u64| {
        counted.fetch_add(1, Ordering::Relaxed);
        key.number() * 2
    });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|n| assert_eq!(charge((&SequenceNumber(n), &n)), Ok(n * 2))));
        }
    });
    assert_eq!((calls.load(Ordering::Relaxed), effects.answers()), (20, 20));
}

#[test]
fn an_effect_that_panics_is_unknown_if_it_has_an_intent() {
    let home = tempfile::tempdir().unwrap();
    let state = StateDir::open(home.path().join("state"), "bank").unwrap();
    let (effects, _) = Effects::open(&state, JournalOptions::default()).unwrap();
    for (unknown, again) in [(Unknown::fail(), false), (Unknown::retry(), true)] {
        let name = format!("{unknown:?}");
        let died = Mutex::new(true);
        let charge = effects.recorded(&name, unknown, move |_, _: &u64| {
            assert!(!std::mem::take(&mut *died.lock().unwrap_or_else(|died| died.into_inner())), "the bank is down");
            5_u64
        });
        assert!(catch_unwind(AssertUnwindSafe(|| charge((&SequenceNumber(3), &0)))).is_err());
        assert_eq!(charge((&SequenceNumber(3), &0)).is_ok(), again, "{name}");
    }
}

/// A job whose source dies, with futures that are under way, and a snapshot now and then.
#[test]
fn a_job_goes_on_with_the_answers_that_it_has() {
    let home = tempfile::tempdir().unwrap();
    let calls = Arc::new(Mutex::new(BTreeMap::<String, u64>::new()));
    let run = |dies: Option<u64>| {
        let state = StateDir::open(home.path().join("state"), "orders").unwrap();
        let (effects, _) = Effects::open(&state, JournalOptions::default()).unwrap();
        let seen = calls.clone();
        let price = effects.recorded_async("price", Unknown::retry(), move |key, value: u64| {
            let seen = seen.clone();
            async move {
                let mut seen = seen.lock().unwrap();
                let times = seen.entry(key.to_string()).or_default();
                *times += 1;
                value * 10 + *times
            }
        });
        let priced = pipeline::<u64>()
            .enumerate()
            .map_async(8, price)
            .named("price")
            .try_map(|price| price.clone())
            .map(|price| format!("{price}\n"));
        let values = move || (0..200_u64).inspect(move |n| assert_ne!(Some(*n), dies, "the end of this process"));
        let job =
            Persistent::new(Rings::new().batch(4), state).snapshot_every(Cadence::Numbers(25)).recording(&effects);
        let out = millstream::io::FileSink::append(home.path().join("out"));
        let keep = Retention { count: Some(1), ..Retention::default() };
        job.keep(keep).run(&priced, again(values), out).is_ok()
    };
    for dies in [20, 90, 95, 199] {
        assert!(!run(Some(dies)));
    }
    assert!(run(None));
    let out = std::fs::read_to_string(home.path().join("out")).unwrap();
    let lines: Vec<u64> = out.lines().map(|line| line.parse().unwrap()).collect();
    assert!(lines.iter().map(|line| line / 10).eq(0..200), "{out}");
    // What came out is the answer to the last call of its number.
    let calls = calls.lock().unwrap();
    assert!(lines.iter().all(|line| calls[&format!("orders/price/{}", line / 10)] == line % 10), "{out}");
}

#[test]
fn answers_that_no_snapshot_needs_are_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let state = StateDir::open(home.path().join("state"), "orders").unwrap();
    let options = JournalOptions { segment_bytes: 10_000, fsync: Fsync::Never, ..JournalOptions::default() };
    let (effects, _) = Effects::open(&state, options).unwrap();
    let price = effects.recorded("price", Unknown::fail(), |key, _: &u64| key.number());
    let priced = pipeline::<u64>().enumerate().map_blocking(price).named("price").map(|_| "priced\n");
    let keep = Retention { count: Some(1), ..Retention::default() };
    let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).recording(&effects).keep(keep);
    let out = millstream::io::FileSink::append(home.path().join("out"));
    let running = job.start(&priced, again(|| 0..), out).unwrap();
    let taken = [(); 4].map(|()| running.snapshot().unwrap().expect("it goes on"));
    let (answers, all) = (effects.answers() as u64, taken[3]);
    assert!(answers > 0);
    drop((running, priced, effects));
    // What is there begins at the oldest snapshot that is kept.
    let state = StateDir::open(home.path().join("state"), "orders").unwrap();
    let first = state.snapshots().unwrap()[0].manifest().unwrap().at;
    assert!(first >= taken[0] && first <= all, "{first} of {taken:?}");
    let mut reader = JournalReader::new(state.disk().clone(), state.effects_dir());
    assert!(reader.first().unwrap() > 0, "trimmed");
    let (effects, _) = Effects::open(&state, options).unwrap();
    let again = effects.recorded("price", Unknown::fail(), |_, _: &u64| unreachable!("it is recorded"));
    assert_eq!(again((&SequenceNumber(first), &0)), Ok(first));
    assert!(reader.read_from(0).is_err(), "the first entries are gone");
}

#[test]
fn answers_that_stay_do_not_hold_the_room_of_those_after_them() {
    let home = tempfile::tempdir().unwrap();
    let (path, max_bytes) = (home.path().join("state"), 32_000);
    let options = JournalOptions { max_bytes, fsync: Fsync::Never, ..JournalOptions::default() };
    let call = |effects: &Effects, name: &str, numbers: std::ops::Range<u64>, performs: bool| {
        let performed = move |key: &EffectKey, _: &u64| {
            assert!(performs, "{key} is recorded");
            key.number()
        };
        let effect = effects.recorded(name, Unknown::fail(), performed);
        numbers.for_each(|n| assert_eq!(effect((&SequenceNumber(n), &0)), Ok(n), "{name}"));
    };
    let state = StateDir::open(&path, "orders").unwrap();
    let (effects, _) = Effects::open(&state, options).unwrap();
    call(&effects, "price", 0..20, true);
    drop((effects, state));
    // A version without this effect.
    let state = StateDir::open(&path, "orders").unwrap();
    let (effects, _) = Effects::open(&state, options).unwrap();
    for to in (25..=2000).step_by(25) {
        call(&effects, "quote", to - 25..to, true);
        effects.forget_below([("quote", to - 10)]).unwrap();
    }
    let bytes = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().metadata().unwrap().len();
    let bytes: u64 = std::fs::read_dir(state.effects_dir()).unwrap().map(bytes).sum();
    assert!(bytes <= max_bytes, "{bytes} bytes");
    drop((effects, state));
    let state = StateDir::open(&path, "orders").unwrap();
    let (effects, _) = Effects::open(&state, options).unwrap();
    call(&effects, "price", 0..20, false);
    call(&effects, "quote", 1990..2000, false);
}

#[test]
fn answers_that_are_written_once_more_survive_every_crash() {
    let options = JournalOptions { max_bytes: 4000, ..JournalOptions::default() };
    let open = |disk: &Simulated| {
        let state = StateDir::open_on(disk.disk(), "/state", "orders").unwrap();
        let (effects, _) = Effects::open(&state, options).unwrap();
        (state, effects)
    };
    let disk = Simulated::recording();
    let (state, effects) = open(&disk);
    let effect = |name: &'static str| {
        let (effect, disk) = (effects.recorded(name, Unknown::fail(), |key, _: &u64| key.number()), &disk);
        move |n| {
            assert_eq!(effect((&SequenceNumber(n), &0)), Ok(n));
            disk.note(name, n);
        }
    };
    let (price, quote) = (effect("price"), effect("quote"));
    (0..3).for_each(price);
    for n in 0..60 {
        quote(n);
        if n % 5 == 4 {
            disk.note("forgotten", n);
            effects.forget_below([("quote", n)]).unwrap();
        }
    }
    let reader = JournalReader::new(state.disk().clone(), state.effects_dir());
    assert!(reader.first().unwrap() >= 6, "the first ones of `price` are gone");
    drop((quote, effects, state));
    for (world, seed) in disk.history().into_iter().zip(0..) {
        let after = world.last.clone();
        let (_state, effects) = open(&Simulated::of(world.crash(seed)));
        let forgotten = noted(&world, "forgotten");
        for (name, n) in world.notes.iter().filter(|(name, n)| *name == "price" || *name == "quote" && *n >= forgotten)
        {
            let effect = effects.recorded(name, Unknown::fail(), |_, _: &u64| unreachable!("it is recorded"));
            let answer: Result<u64, _> = effect((&SequenceNumber(*n), &0));
            assert_eq!(answer, Ok(*n), "{name}, after {after}");
        }
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// As with a shadow on the only worker.
#[test]
fn a_future_waits_for_the_call_of_another_one_on_its_thread() {
    let home = tempfile::tempdir().unwrap();
    let state = StateDir::open(home.path().join("state"), "orders").unwrap();
    let (effects, _) = Effects::open(&state, JournalOptions::default()).unwrap();
    let (gate, opened) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (opens, calls) = (gate.clone(), opened.clone());
    let price = effects.recorded_async("price", Unknown::fail(), move |_, x: u64| {
        calls.fetch_add(1, Ordering::SeqCst);
        let opens = opens.clone();
        async move {
            poll_fn(|_| if opens.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }).await;
            x * 10
        }
    });
    let (says, said) = channel();
    let polls = move || {
        let [mut first, mut second] = [(); 2].map(|()| price((&SequenceNumber(0), &7)));
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(woken.clone());
        let (mut waits, mut context) = (Context::from_waker(&waker), Context::from_waker(Waker::noop()));
        // Its intent is durable.
        while opened.load(Ordering::SeqCst) == 0 {
            assert!(first.as_mut().poll(&mut context).is_pending());
        }
        assert!(second.as_mut().poll(&mut waits).is_pending());
        gate.store(true, Ordering::SeqCst);
        let answer = std::iter::repeat_with(|| first.as_mut().poll(&mut context)).find(Poll::is_ready);
        assert!(woken.0.load(Ordering::SeqCst));
        says.send((answer, second.as_mut().poll(&mut waits), opened.load(Ordering::SeqCst))).unwrap();
    };
    let polling = std::thread::spawn(polls);
    let answer = said.recv_timeout(std::time::Duration::from_secs(60)).expect("both end");
    assert_eq!(answer, (Some(Poll::Ready(Ok(70))), Poll::Ready(Ok(70)), 1));
    polling.join().unwrap();
}

#[test]
fn a_run_that_only_reads_performs_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state");
    let open = |state: &StateDir| Effects::open(state, JournalOptions::default()).unwrap().0;
    let charge = |effects: &Effects| effects.recorded("charge", Unknown::retry(), |key, _: &u64| key.number() + 1);
    let state = StateDir::open(&path, "bank").unwrap();
    let effects = open(&state);
    assert_eq!(charge(&effects)((&SequenceNumber(0), &0)), Ok(1));
    drop((effects, state));
    let effects = open(&StateDir::read(&path).unwrap());
    let charge = charge(&effects);
    assert_eq!(charge((&SequenceNumber(0), &0)), Ok(1));
    let orders = pipeline::<u64>().enumerate().map_blocking(charge);
    let failed = Rings::new().collect(orders.from([0, 0])).unwrap_err().to_string();
    assert!(
        failed.contains("bank/charge/1 is not recorded, and a run that only reads performs no effects"),
        "{failed}"
    );
}
