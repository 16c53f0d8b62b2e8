use super::OpenFolds;
use crate::keys::MadeKey;
use crate::pipe::fold_windows::Timing;
use crate::pipe::window::Window;
use std::cmp;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The windows of these keys and times, with the values of each, and how many keys were there at most.
fn folded(window: &Window, values: impl Iterator<Item = (u64, u64)>) -> (OpenFolds<u64, u64>, usize) {
    let (mut folds, mut results, mut most) = (OpenFolds::default(), Vec::new(), 0);
    for (key, time) in values {
        folds.fold(window, MadeKey(key), time, &0, |n| *n += 1, |n, later| *n += later, &mut results);
        most = most.max(folds.keys.len());
    }
    (folds, most)
}

#[test]
fn keys_without_windows_are_forgotten() {
    // Each key comes once. Ten have a window at a time.
    let (folds, most) = folded(&Window::tumbling(10), (0..1000).map(|time| (time, time)));
    assert_eq!(folds.kept(), 10);
    assert!((10..=30).contains(&most), "{most} keys");
    // A window of very many keys, and then windows of one.
    let many = (0..10_000).map(|key| (key, 0));
    let (folds, _) = folded(&Window::tumbling(10), many.chain((1..5).map(|time| (7, 10 * time))));
    assert_eq!((folds.kept(), folds.keys.len()), (1, 1));
}

#[test]
fn keys_that_come_again_are_not_inserted_again() {
    let (folds, _) = folded(&Window::tumbling(10), (0..1001).map(|time| (time % 10, time)));
    // One key has its next window; the others had their last one a moment ago.
    assert_eq!((folds.kept(), folds.keys.len()), (1, 10));
}

#[cfg(feature = "serde")]
#[test]
fn keys_that_rest_are_not_written_down() {
    let window = Window::tumbling(10);
    let (rested, _) = folded(&window, (0..101).map(|time| (time % 10, time)));
    let (alone, _) = folded(&window, [(0, 100)].into_iter());
    let written = serde_json::to_value(&rested).unwrap();
    assert_eq!(written, serde_json::to_value(&alone).unwrap());
    let restored: OpenFolds<u64, u64> = serde_json::from_value(written).unwrap();
    assert_eq!((restored.kept(), restored.keys.len()), (1, 1));
}

#[cfg(feature = "serde")]
#[test]
fn keys_are_written_down_in_their_order() {
    let (folds, _) = folded(&Window::tumbling(10), (0..100).rev().map(|key| (key, 5)));
    let written = serde_json::to_string(&folds).unwrap();
    let places = (0..100).map(|key| written.find(&format!("\"{key}\":")).expect("each is there"));
    assert!(places.is_sorted(), "{written}");
}

#[test]
fn the_state_has_the_layout_of_its_first_version() {
    // Its size is in the fingerprint by which a job finds its state again.
    assert_eq!((size_of::<OpenFolds<u64, u64>>(), align_of::<OpenFolds<u64, u64>>()), (112, 16));
}

#[test]
fn windows_of_other_rules_are_not_taken_for_those_of_a_value() {
    let (mut folds, _) = folded(&Window::sliding(20, 5).lateness(100), [(0, 22)].into_iter());
    let starts = |folds: &OpenFolds<u64, u64>| -> Vec<(u64, u64)> {
        folds.keys[&0].windows.iter().map(|(at, open)| (*at, open.values)).collect()
    };
    assert_eq!(starts(&folds), [(5, 1), (10, 1), (15, 1), (20, 1)]);
    // 5 to 25, 15 to 35 and so on would be windows no more.
    let tens = Window::sliding(20, 10).lateness(100);
    let mut results = Vec::new();
    folds.fold(&tens, MadeKey(0), 23, &0, |n| *n += 1, |_, _| (), &mut results);
    assert_eq!(starts(&folds), [(5, 1), (10, 2), (15, 1), (20, 2)]);
    folds.fold(&tens, MadeKey(0), 33, &0, |n| *n += 1, |_, _| (), &mut results);
    folds.fold(&tens, MadeKey(0), 34, &0, |n| *n += 1, |_, _| (), &mut results);
    assert_eq!(starts(&folds), [(5, 1), (10, 2), (15, 1), (20, 4), (30, 2)]);
}

/// Start, end, state and timing of the results of these windows for these times, and then of the others for the others.
fn in_turn(turns: [(Window, &[u64]); 2]) -> Vec<(u64, u64, Vec<u64>, Timing)> {
    let (mut folds, mut results, none) = (OpenFolds::default(), Vec::new(), Vec::new());
    for (window, times) in turns {
        for time in times {
            let join = |all: &mut Vec<u64>, mut later: Vec<u64>| all.append(&mut later);
            folds.fold(&window, MadeKey(()), *time, &none, |all: &mut Vec<u64>| all.push(*time), join, &mut results);
        }
    }
    folds.close(&turns[1].0, &none, &mut results);
    results.into_iter().map(|of| (of.start, of.end, of.state, of.timing)).collect()
}

#[test]
fn a_window_becomes_as_long_as_other_rules_say() {
    use Timing::{OnTime, Refined};
    let [tens, sixties] = [Window::tumbling(10), Window::tumbling(60)];
    let one = (0, 60, vec![5, 50, 55], OnTime);
    let all_in_one = in_turn([(tens.lateness(100), &[5]), (sixties.lateness(100), &[50, 55])]);
    assert_eq!(all_in_one, std::slice::from_ref(&one));
    assert_eq!(in_turn([(tens, &[5]), (sixties, &[50, 55, 61])]), [one, (60, 120, vec![61], OnTime)]);
    // Also by a value that the short one contained, which has no other window to open or to close.
    let grown = [(0, 60, vec![5, 7, 50], OnTime)];
    assert_eq!(in_turn([(tens.lateness(100), &[5]), (sixties.lateness(100), &[7, 50])]), grown);
    let [short, long] = [Window::sliding(10, 5), Window::sliding(20, 5)].map(|window| window.lateness(100));
    let both = [(0, 20, vec![5, 6, 17], OnTime), (5, 25, vec![5, 6, 17], OnTime)];
    assert_eq!(in_turn([(short, &[5]), (long, &[6, 17])])[..2], both);
    // A longer one stays as long.
    let stays = [(0, 60, vec![5, 7], OnTime), (50, 60, vec![55], OnTime)];
    assert_eq!(in_turn([(sixties.lateness(100), &[5]), (tens.lateness(100), &[7, 55])]), stays);
    // One that has been output is output again where it ends now.
    let [tens, sixties] = [tens, sixties].map(|window| window.refine_within(100));
    let expected = [
        (0, 10, vec![5], OnTime),
        (10, 20, vec![12], OnTime),
        (0, 60, vec![5, 50], Refined),
        (60, 120, vec![61], OnTime),
    ];
    assert_eq!(in_turn([(tens, &[5, 12]), (sixties, &[50, 61])]), expected);
}

/// A key that can no longer be compared for equality once it is told so.
#[derive(Clone)]
struct Incomparable(u64, Arc<AtomicBool>);

impl PartialEq for Incomparable {
    fn eq(&self, other: &Self) -> bool {
        assert!(!self.1.load(Ordering::Relaxed), "they are not compared any more");
        self.0 == other.0
    }
}

impl Hash for Incomparable {
    fn hash<H: Hasher>(&self, to: &mut H) {
        self.0.hash(to);
    }
}

impl Eq for Incomparable {}

impl PartialOrd for Incomparable {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Incomparable {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

#[test]
fn no_key_leaks_if_keys_cannot_be_compared_at_the_end() {
    let (window, no_more) = (Window::tumbling(10), Arc::new(AtomicBool::new(false)));
    let mut folds = OpenFolds::default();
    for key in [2, 1, 3] {
        let key = Incomparable(key, no_more.clone());
        folds.fold(&window, MadeKey(key), 5, &0, |n| *n += 1, |n, later| *n += later, &mut Vec::new());
    }
    no_more.store(true, Ordering::Relaxed);
    let ended = catch_unwind(AssertUnwindSafe(|| folds.close(&window, &0, &mut Vec::new())));
    assert_eq!((ended.is_err(), Arc::strong_count(&no_more)), (true, 1));
}

#[test]
fn a_map_that_was_large_is_not_looked_through_for_a_few_keys() {
    let many = (0..10_000).map(|key| (key, 0));
    let (folds, _) = folded(&Window::tumbling(10), many.chain((1..1000).map(|time| (7, 10 * time))));
    assert_eq!(folds.keys.len(), 1);
    assert!(folds.keys.capacity() < 100, "room for {} keys", folds.keys.capacity());
}
