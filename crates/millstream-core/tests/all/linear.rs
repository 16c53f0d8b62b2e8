//! The model's work is proportional to its input: calls of closures and clones of values are counted, and no time.

use millstream_core::{
    Arrow, Bound, ChoiceExt, ClockExt, FeedbackExt, KeysExt, Late, ModelExt, Overflow, StreamsExt, ViewExt, Window,
    WindowsExt, pipeline,
};
use std::cmp::Ordering as Order;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what happens to values: a shared counter.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicU64>);

impl Counter {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// A value that counts its clones.
struct Value(u64, Counter);

impl Clone for Value {
    fn clone(&self) -> Self {
        self.1.add();
        Value(self.0, self.1.clone())
    }
}

/// A key that counts its comparisons.
#[derive(Clone)]
struct Key(u64, Counter);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.1.add();
        self.0 == other.0
    }
}
impl Eq for Key {}
impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Order {
        self.1.add();
        self.0.cmp(&other.0)
    }
}
impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

#[test]
fn a_body_of_shard_by_reads_each_slot_of_its_key_once() {
    let (slots, comparisons) = (Counter::default(), Counter::default());
    let (counts, compares) = (slots.clone(), comparisons.clone());
    let p = pipeline::<u64>().shard_by(
        move |x| Key(x % 500, compares.clone()),
        2,
        move |p| {
            p.filter(move |x| {
                counts.add();
                x % 2 == 0
            })
            .scan(0, |n, _| {
                *n += 1;
                *n
            })
        },
    );
    assert_eq!(p.model(0..2_000).len(), 1_000);
    assert_eq!(slots.take(), 2_000);
    assert!(comparisons.take() < 10_000, "a key is looked up, and not searched for");
}

#[test]
fn a_model_of_many_keys_is_small() {
    // With a list of all slots for each key these are ten thousand million slots.
    let n = 100_000;
    let p = pipeline::<u64>().shard_by(|x| *x, 2, |p| p.scan(1, |n, x| *n * x));
    assert_eq!(p.model(0..n), (0..n).collect::<Vec<_>>());
}

#[test]
fn keys_that_are_forgotten_are_found_without_a_search() {
    let comparisons = Counter::default();
    let compares = comparisons.clone();
    let count = |n: &mut u64, _: &u64| {
        *n += 1;
        *n
    };
    let key = move |x: &u64| Key(x % 1_000, compares.clone());
    let p = pipeline::<u64>().shard_by_within(Bound::forget(999), key, 2, move |p| p.scan(0, count));
    assert!(p.model(0..5_000).iter().all(|n| *n == 1), "each key was forgotten just before it came");
    assert!(comparisons.take() < 50_000);
}

#[test]
fn a_body_of_shard_by_knows_the_numbers_of_the_whole_stream() {
    let p = pipeline::<u64>().shard_by(|x| x % 3, 2, |p| p.enumerate().map(|(n, x)| n.0 * 100 + x));
    assert_eq!(p.model([7, 5, 4, 3, 8]), [7, 105, 204, 303, 408]);
    // Of nested keys too, and inside a loop.
    let nested = pipeline::<u64>().shard_by(
        |x| x % 2,
        2,
        |p| p.shard_by(|x| x % 3, 2, |p| p.feedback(0, |p| p.enumerate().map(|(n, (x, s))| (n.0 * 100 + x + s, *s)))),
    );
    assert_eq!(nested.model([7, 5, 4, 3, 8]), [7, 105, 204, 303, 408]);
}

#[test]
fn a_body_of_shard_by_at_the_value_of_end() {
    let p = pipeline::<u64>().chunks(2).map(|chunk| chunk.iter().sum::<u64>());
    let p = p.shard_by(
        |sum| sum % 2,
        2,
        |p| {
            p.scan(0, |sum, x| {
                *sum += x;
                *sum
            })
            .enumerate()
        },
    );
    let p = p.map(|(n, sum)| (n.0, *sum));
    // The last sum is END's: it is the second one of its key, or the first.
    assert_eq!(p.model_slots([3, 6, 4, 3, 1]), [None, Some((1, 9)), None, Some((3, 16)), None, Some((5, 17))]);
    assert_eq!(p.model_slots([3, 6, 4, 3, 2]), [None, Some((1, 9)), None, Some((3, 16)), None, Some((5, 2))]);
}

#[test]
fn a_body_of_shard_by_without_values() {
    let p = pipeline::<u64>().shard_by(|x| x % 3, 2, |p| p.scan(0, |n, x| *n + x));
    assert_eq!(p.model_slots([]), [None]);
    let views = pipeline::<(u64, u64)>().shard_by(|x| x.0, 2, |p| p.part(|pair| &pair.1));
    assert_eq!(views.model_slots([]), [None]);
}

#[test]
fn fold_by_compares_a_key_with_few_others() {
    let (keys, folds) = (Counter::default(), Counter::default());
    let (compares, counts) = (keys.clone(), folds.clone());
    let p = pipeline::<u64>().fold_by(
        move |x| Key(x % 1_000, compares.clone()),
        0,
        move |sum, x| {
            counts.add();
            *sum += x;
        },
        |sum| sum,
    );
    let answers: Vec<_> = p.model(0..4_000).remove(0).into_iter().map(|(key, sum)| (key.0, sum)).collect();
    assert_eq!(answers[1], (1, 1 + 1_001 + 2_001 + 3_001));
    assert_eq!((answers.len(), folds.take()), (1_000, 4_000));
    // Ten for a map of a thousand, twice as many for one of a million.
    assert!(keys.take() < 4_000 * 30, "a value is compared with the keys of a map, and not with all");
}

/// The clones of values and the times that windows of these values cost.
fn cost(window: Window, times: impl Iterator<Item = u64>) -> (u64, u64, usize) {
    let (clones, reads) = (Counter::default(), Counter::default());
    let (counts, values) = (reads.clone(), times.map(|time| Value(time, clones.clone())));
    let p = pipeline::<Value>().windows_by(window, move |value| {
        counts.add();
        value.0
    });
    let held = p.model(values.collect::<Vec<_>>()).iter().map(|window| window.values.len()).sum();
    // Each output is cloned once more, out of the model.
    (clones.take(), reads.take(), held)
}

#[test]
fn windows_by_clones_a_value_for_each_of_its_windows() {
    let once = |n: u64, windows: u64| ((1 + 2 * windows) * n, n, (windows * n) as usize);
    assert_eq!(cost(Window::tumbling(5_000), 0..20_000), once(20_000, 1));
    assert_eq!(cost(Window::session(10), 0..20_000), once(20_000, 1));
    assert_eq!(cost(Window::sliding(1_000, 250), 1_000..21_000), once(20_000, 4));
}

#[test]
fn windows_by_holds_a_long_session_that_grows_at_its_front() {
    // Each value begins before the session: the values held already are not moved.
    let n: u64 = 200_000;
    let session = Window::session(2).lateness(n).late(Late::Fail).at_most(n as usize, Overflow::Fail);
    let given = pipeline::<u64>().windows_by(session, |time| *time).model((0..n).rev());
    assert_eq!((given.len(), given[0].values.len(), given[0].values[0]), (1, n as usize, n - 1));
}

#[test]
fn fold_windows_looks_at_the_windows_of_a_value_alone() {
    // All windows stay open. A list of them for each value would be more than a thousand million windows.
    let n: u64 = 50_000;
    let open = |window: Window| window.lateness(n);
    let count = |n: &mut u64, _: &u64| *n += 1;
    let ones = pipeline::<u64>().fold_windows(open(Window::tumbling(1)), |time| *time, 0, count).flatten();
    assert_eq!(ones.model(0..n).len(), n as usize);
    let fives = pipeline::<u64>().fold_windows(open(Window::sliding(5, 1)), |time| *time, 0, count).flatten();
    assert_eq!(fives.model(0..n).iter().filter(|window| window.state == 5).count(), n as usize - 4);
    let add = |n: &mut u64, later: u64| *n += later;
    let visits = pipeline::<u64>().fold_sessions(open(Window::session(1)), |time| *time, 0, count, add).flatten();
    assert_eq!(visits.model(0..n).len(), n as usize);
    // Half of the windows close to make room, one at each value.
    let full = open(Window::tumbling(1)).at_most(n as usize / 2, Overflow::CloseFirst);
    for window in [full, full.watermark_by_key()] {
        let ones = pipeline::<u64>().fold_windows_by(|x| x % 2, window, |time| *time, 0, count);
        let closed = ones.model(0..n).len();
        assert_eq!(closed, n as usize / 2 + 1, "and the others at END");
    }
}

/// The calls of a loop's body for this many values.
fn loop_calls(values: u64, stateful: bool) -> u64 {
    let calls = Counter::default();
    let counts = calls.clone();
    let output = if stateful {
        let p = pipeline::<u64>().feedback(0, move |p| {
            p.scan(0, move |n, (x, state)| {
                counts.add();
                *n += 1;
                (*n + x, *state)
            })
        });
        p.model(0..values)
    } else {
        let p = pipeline::<u64>().feedback(0, move |p| {
            p.map(move |(x, sum)| {
                counts.add();
                (x + sum, x + sum)
            })
        });
        p.model(0..values)
    };
    assert_eq!(output.len() as u64, values);
    calls.take()
}

#[test]
fn a_loop_around_a_body_without_a_state_calls_it_twice_a_value() {
    assert_eq!(loop_calls(100, false), 200);
    assert_eq!(loop_calls(3_000, false), 6_000);
    // A body with a state of its own runs on all values up to each.
    assert_eq!(loop_calls(100, true), 100 * 101 / 2 + 100);
}

#[test]
fn a_loop_around_choices_filters_and_numbers_runs_each_number_alone() {
    let p = pipeline::<u64>().feedback(0, |p| {
        p.partition(|(x, _)| x % 2 == 1)
            .merge(
                |odd| odd.filter(|(x, _)| *x != 5).map(|(x, state)| (*x, *state)),
                |even| even.map(|(x, state)| (*x, *state)),
            )
            .enumerate()
            .map(|(n, (x, state))| (n.0 * 1_000 + x * 10 + state, state + 1))
    });
    assert!(p.plan().stages.iter().filter(|stage| stage.state.is_some()).count() == 1, "the loop's own");
    assert_eq!(p.model_slots([4, 5, 7, 8]), [Some(40), None, Some(2_071), Some(3_082), None]);
}
