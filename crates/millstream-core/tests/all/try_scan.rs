//! Scans whose functions fail: what becomes of the failure, and how the state is put back.

use millstream_core::pipe::ScanKernel;
use millstream_core::{
    Arrow, Fault, KeysExt, ModelExt, Retry, SequenceNumber, StreamsExt, TryScanExt, UndoLog, pipeline,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn kinds(p: &impl Arrow) -> Vec<(String, bool, bool)> {
    let stages = p.plan().stages.into_iter();
    stages.map(|stage| (format!("{} {}", stage.kind, stage.name), stage.stateful, stage.blocking)).collect()
}

fn step(sum: &mut u64, x: &u64) -> Result<u64, &'static str> {
    *sum += x;
    match x {
        0 => std::panic::resume_unwind(Box::new("nothing")),
        x if x % 2 == 1 => Err("odd"),
        _ => Ok(*sum),
    }
}

/// As `step`, and it says what was before.
fn logged(sum: &mut u64, log: &mut UndoLog<u64>, x: &u64) -> Result<u64, &'static str> {
    log.record(*sum);
    step(sum, x)
}

fn put_back(sum: &mut u64, before: u64) {
    *sum = before;
}

const INPUT: [u64; 6] = [2, 3, 0, 4, 1, 6];
const OUTPUT: [Option<u64>; 7] = [Some(12), None, None, Some(16), None, Some(22), None];

type Letters = Arc<Mutex<Vec<(u64, u64, Fault<&'static str>)>>>;

fn letters() -> (Letters, impl Fn(millstream_core::DeadLetter<'_, u64, &'static str>) + Clone) {
    let letters = Letters::default();
    let kept = letters.clone();
    (letters, move |letter| kept.lock().unwrap().push((letter.number.0, *letter.input, letter.fault.clone())))
}

#[test]
fn every_way_to_survive_a_failure_has_the_same_slots() {
    let p = || pipeline::<u64>();
    assert_eq!(p().try_scan_or_empty(10, step).model_slots(INPUT), OUTPUT);
    assert_eq!(p().try_scan_or_empty_undo(10, logged, put_back).model_slots(INPUT), OUTPUT);
    let failures = vec![
        (1, 3, Fault::Error("odd")),
        (2, 0, Fault::Panic("panicked: nothing".into())),
        (4, 1, Fault::Error("odd")),
    ];
    let (dead, send) = letters();
    assert_eq!(p().try_scan_or_dead_letter("s", 10, step, send.clone()).model_slots(INPUT), OUTPUT);
    assert_eq!(std::mem::take(&mut *dead.lock().unwrap()), failures);
    assert_eq!(p().try_scan_or_dead_letter_undo("s", 10, logged, put_back, send).model_slots(INPUT), OUTPUT);
    assert_eq!(*dead.lock().unwrap(), failures);
}

#[test]
fn letters_of_a_key_have_the_numbers_of_the_stream_and_the_state_of_the_key() {
    let (dead, send) = letters();
    let p = pipeline::<u64>().shard_by(|x| x % 5, 2, |p| p.try_scan_or_dead_letter("s", 0, step, send));
    // 2 and 12 have one key, 3 and 8 another one.
    assert_eq!(p.model_slots([2, 3, 12, 8]), [Some(2), None, Some(14), Some(8), None]);
    assert_eq!(*dead.lock().unwrap(), [(1, 3, Fault::Error("odd"))]);
}

#[test]
fn a_parked_key_changes_no_state() {
    let (dead, send) = letters();
    let p = pipeline::<u64>().try_scan_or_park("s", |x| x % 5, 10, step, send.clone());
    // 3 parks 3 and 8. 6 has the key of 1, which comes later.
    assert_eq!(p.model_slots([2, 3, 8, 6, 1]), [Some(12), None, None, Some(18), None, None]);
    let parked = (2, 8, Fault::Parked(SequenceNumber(1)));
    assert_eq!(*dead.lock().unwrap(), [(1, 3, Fault::Error("odd")), parked, (4, 1, Fault::Error("odd"))]);
    let bounded = pipeline::<u64>().try_scan_or_park_within(1, "s", |x| x % 5, 10, step, send);
    let refused = std::panic::catch_unwind(|| bounded.model([3, 1])).unwrap_err();
    assert!(millstream_core::failure::message(&*refused).starts_with("there are 1 keys"), "{refused:?}");
}

#[test]
fn every_try_begins_with_the_state_of_before() {
    let tries = Arc::new(AtomicUsize::new(0));
    let retry = Retry::times(2);
    let busy = |tries: &Arc<AtomicUsize>| {
        let tries = tries.clone();
        move |x: &u64| if tries.fetch_add(1, Ordering::Relaxed) % 3 < 2 { Err("busy") } else { Ok(*x) }
    };
    let (fails, counted) = (busy(&tries), |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    });
    let p = pipeline::<u64>().try_scan_retry(retry, 0, move |sum, x| {
        let output = counted(sum, x);
        fails(x).map(|_| output)
    });
    assert_eq!((p.model([1, 2, 3]), tries.swap(0, Ordering::Relaxed)), (vec![1, 3, 6], 9));
    let fails = busy(&tries);
    let undone = pipeline::<u64>().try_scan_retry_undo(
        retry,
        0,
        move |sum, log: &mut UndoLog<u64>, x| {
            log.record(*sum);
            let output = counted(sum, x);
            fails(x).map(|_| output)
        },
        put_back,
    );
    assert_eq!((undone.model([1, 2, 3]), tries.load(Ordering::Relaxed)), (vec![1, 3, 6], 9));
}

#[test]
#[should_panic(expected = "the first try")]
fn a_panic_is_not_tried_again() {
    let tries = AtomicUsize::new(0);
    let p = pipeline::<u64>().try_scan_retry(Retry::times(2), 0, move |_: &mut u64, x| {
        assert!(tries.fetch_add(1, Ordering::Relaxed) > 0, "the first try");
        Ok::<_, &str>(*x)
    });
    p.model([1]);
}

#[test]
fn plans_name_the_scans() {
    let p = || pipeline::<u64>();
    let one = |kind: &str, blocking| vec![(kind.to_owned(), true, blocking)];
    assert_eq!(
        kinds(&p().try_scan_or_empty_undo(0, logged, put_back)),
        one("try_scan_or_empty try_scan_or_empty-1", false)
    );
    assert_eq!(kinds(&p().try_scan_or_dead_letter("s", 0, step, |_| ())), one("try_scan_or_dead_letter s", false));
    assert_eq!(kinds(&p().try_scan_or_park("s", |x| *x, 0, step, |_| ())), one("try_scan_or_park s", false));
    assert_eq!(kinds(&p().try_scan_retry(Retry::times(1), 0, step)), one("try_scan_retry try_scan_retry-1", true));
    assert_eq!(p().try_scan_or_park_within(7, "s", |x| *x, 0, step, |_| ()).plan().stages[0].keys, Some(7));
}

/// A state that counts its clones.
#[derive(Default)]
struct Counted(Vec<u64>, Arc<AtomicUsize>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.1.fetch_add(1, Ordering::Relaxed);
        Counted(self.0.clone(), self.1.clone())
    }
}

#[test]
fn a_log_undoes_from_the_last_change_to_the_first_and_clones_no_state() {
    let (state, undone) = (Counted::default(), Arc::new(Mutex::new(Vec::new())));
    let (clones, records) = (state.1.clone(), undone.clone());
    // Adds x values, each after its record. It fails at multiples of 10, and panics before the last change at 13.
    let f = |state: &mut Counted, log: &mut UndoLog<usize>, x: &u64| {
        for n in 0..*x {
            log.record(state.0.len());
            if *x == 13 && n == 12 {
                std::panic::resume_unwind(Box::new("unlucky"));
            }
            state.0.push(n);
        }
        if x.is_multiple_of(10) { Err("ten") } else { Ok(state.0.len()) }
    };
    let undo = move |state: &mut Counted, length: usize| {
        records.lock().unwrap().push(length);
        // Whether or not the change was made.
        state.0.truncate(length);
    };
    let kernel = pipeline::<u64>().try_scan_or_empty_undo(state, f, undo).second.kernel.clone();
    let mut state = kernel.start();
    let before = clones.load(Ordering::Relaxed);
    let mut at = |x: u64| kernel.step(&mut state, SequenceNumber(x), Some(&x), false);
    assert_eq!([at(3), at(10), at(2), at(13), at(6)], [Some(3), None, Some(5), None, Some(11)]);
    assert_eq!(clones.load(Ordering::Relaxed), before);
    let expected: Vec<usize> = (3..13).rev().chain((5..18).rev()).collect();
    assert_eq!(*undone.lock().unwrap(), expected);
}

#[test]
fn an_undo_that_panics_ends_the_run() {
    let kernel = pipeline::<u64>()
        .try_scan_or_empty_undo(0, logged, |_: &mut u64, _| std::panic::resume_unwind(Box::new("cannot undo")))
        .second
        .kernel
        .clone();
    let mut state = kernel.start();
    assert_eq!(kernel.step(&mut state, SequenceNumber(0), Some(&2), false), Some(2));
    let step = std::panic::AssertUnwindSafe(|| kernel.step(&mut state, SequenceNumber(1), Some(&3), false));
    let payload = std::panic::catch_unwind(step).unwrap_err();
    assert_eq!(millstream_core::failure::message(&*payload), "panicked: cannot undo");
}

#[test]
fn a_scan_after_a_filter_and_before_others() {
    let p = pipeline::<u64>()
        .filter(|x| x % 3 != 0)
        .try_scan_or_dead_letter("s", 0, step, |_| ())
        .filter(|sum| *sum != 6)
        .pairwise()
        .map(|(before, now)| before + now);
    assert_eq!(p.model_slots([2, 3, 4, 1, 8]), [None, None, None, None, Some(16), None]);
}

#[test]
fn a_future_is_made_again_after_an_error_with_the_pauses_of_the_retry() {
    use millstream_core::AsyncExt;
    use std::time::Duration;
    let pauses = Arc::new(Mutex::new(Vec::new()));
    let tried = Arc::new(Mutex::new(Vec::new()));
    let (waited, called) = (pauses.clone(), tried.clone());
    let retry = Retry::times(2).backoff(Duration::from_secs(3));
    // 0 succeeds at once, 1 and 2 at the second and third try, and 3 never.
    let p = pipeline::<u64>().try_map_async_or_empty(2, move |x| {
        let (x, waited, called) = (*x, waited.clone(), called.clone());
        let pause = move |time| {
            waited.lock().unwrap().push((x, time));
            std::future::ready(())
        };
        let mut tries = 0;
        retry.call_async(pause, move || {
            tries += 1;
            called.lock().unwrap().push((x, tries));
            std::future::ready(if tries > x { Ok(x * 10) } else { Err("busy") })
        })
    });
    assert_eq!(p.model_slots([0, 1, 2, 3]), [Some(0), Some(10), Some(20), None, None]);
    let [short, long] = [3, 6].map(Duration::from_secs);
    assert_eq!(*pauses.lock().unwrap(), [(1, short), (2, short), (2, long), (3, short), (3, long)]);
    assert_eq!(*tried.lock().unwrap(), [(0, 1), (1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3)]);
}

#[test]
fn a_step_puts_the_clone_back_after_an_error_and_after_a_panic() {
    // The model clones by itself: this is what deployments call.
    let kernel = pipeline::<u64>().try_scan_or_empty(10, step).second.kernel.clone();
    let mut state = kernel.start();
    let mut at = |x: u64| (kernel.step(&mut state, SequenceNumber(0), Some(&x), false), state);
    assert_eq!(INPUT.map(&mut at).map(|(_, state)| state), [12, 12, 12, 16, 16, 22]);
}
