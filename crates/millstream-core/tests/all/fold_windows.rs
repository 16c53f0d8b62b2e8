//! Windows of event time that aggregate, in the model, against lists written by hand.

use millstream_core::{
    Arrow, FoldedWindow, Late, ModelExt, Overflow, Timing, Timing::Early, Timing::OnTime, Timing::Refined, Top, Window,
    WindowsExt, pipeline,
};

/// Number, start, end, values, timing and dropped values.
type Results = Vec<(usize, u64, u64, Vec<u64>, Timing, u64)>;

fn results(slots: Vec<Option<Vec<FoldedWindow<Vec<u64>>>>>) -> Results {
    let each = |(n, results): (usize, Option<Vec<FoldedWindow<Vec<u64>>>>)| {
        let of = move |w: FoldedWindow<Vec<u64>>| (n, w.start, w.end, w.state, w.timing, w.dropped);
        results.into_iter().flatten().map(of)
    };
    slots.into_iter().enumerate().flat_map(each).collect()
}

fn windows(window: Window, times: &[u64]) -> Results {
    let p = pipeline::<u64>().fold_windows(window, |time| *time, Vec::new(), |all, time| all.push(*time));
    results(p.model_slots(times.iter().copied()))
}

fn sessions(window: Window, times: &[u64]) -> Results {
    let push = |all: &mut Vec<u64>, time: &u64| all.push(*time);
    let p =
        pipeline::<u64>().fold_sessions(window, |time| *time, vec![], push, |all, mut later| all.append(&mut later));
    results(p.model_slots(times.iter().copied()))
}

/// Number, key, start, state and dropped values.
fn by_key(window: Window, values: &[(char, u64)]) -> Vec<(usize, char, u64, u64, u64)> {
    let p = pipeline::<(char, u64)>().fold_windows_by(|(key, _)| *key, window, |(_, time)| *time, 0, |n, _| *n += 1);
    let slots = p.model_slots(values.iter().copied()).into_iter().enumerate();
    let of = |n: usize, w: FoldedWindow<u64, char>| (n, w.key, w.start, w.state, w.dropped);
    slots.flat_map(|(n, results)| results.into_iter().flatten().map(move |w| of(n, w))).collect()
}

#[test]
fn a_window_is_output_at_the_number_of_the_value_that_closes_it() {
    let expected = [(2, 0, 10, vec![0, 9], OnTime, 0), (4, 10, 20, vec![10, 11], OnTime, 0)];
    assert_eq!(windows(Window::tumbling(10), &[0, 9, 10, 11]), expected);
    assert_eq!(windows(Window::tumbling(10), &[]), []);
    let sliding = windows(Window::sliding(4, 2), &[1, 3, 9]);
    let expected = [
        (2, 0, 4, vec![1, 3], OnTime, 0),
        (2, 2, 6, vec![3], OnTime, 0),
        (3, 6, 10, vec![9], OnTime, 0),
        (3, 8, 12, vec![9], OnTime, 0),
    ];
    assert_eq!(sliding, expected);
}

#[test]
fn late_values_are_counted_by_the_next_result_or_at_end() {
    let expected = [(1, 0, 10, vec![3], OnTime, 0), (4, 10, 20, vec![12], OnTime, 2)];
    assert_eq!(windows(Window::tumbling(10), &[3, 12, 4, 5]), expected);
    let closed_early = Window::tumbling(10).at_most(0, Overflow::CloseFirst);
    // The key without a window and with a dropped value has no room: it is reported at once, at the watermark.
    let expected = [(0, 10, 20, vec![12], OnTime, 0), (1, 20, 20, vec![], OnTime, 1)];
    assert_eq!(windows(closed_early, &[12, 4]), expected);
    let one = Window::tumbling(10).at_most(1, Overflow::CloseFirst);
    let values = [('a', 12), ('b', 25), ('a', 3), ('b', 26)];
    // The late value of `a` takes a place. There is none, so `a` goes, with its count.
    assert_eq!(by_key(one, &values), [(1, 'a', 10, 1, 0), (2, 'a', 25, 0, 1), (4, 'b', 20, 2, 0)]);
    let room = Window::tumbling(10);
    assert_eq!(by_key(room, &values), [(1, 'a', 10, 1, 0), (4, 'b', 20, 2, 0), (4, 'a', 26, 0, 1)]);
}

#[test]
#[should_panic(expected = "late")]
fn late_values_can_be_failures() {
    windows(Window::tumbling(10).late(Late::Fail), &[3, 12, 4]);
}

#[test]
fn early_results_have_the_state_so_far() {
    let expected = [
        (1, 0, 10, vec![1, 2], Early, 0),
        (3, 0, 10, vec![1, 2, 3, 4], Early, 0),
        (5, 0, 10, vec![1, 2, 3, 4, 5], OnTime, 0),
        (6, 10, 20, vec![11], OnTime, 0),
    ];
    assert_eq!(windows(Window::tumbling(10).early_every(2), &[1, 2, 3, 4, 5, 11]), expected);
}

#[test]
fn late_values_refine_a_window_until_it_is_forgotten() {
    let window = Window::tumbling(10).refine_within(5);
    let expected = [
        (1, 0, 10, vec![1], OnTime, 0),
        (2, 0, 10, vec![1, 2], Refined, 0),
        // 15 is the end and the time allowed: 3 is dropped.
        (5, 10, 20, vec![12, 15], OnTime, 1),
    ];
    assert_eq!(windows(window, &[1, 12, 2, 15, 3]), expected);
    // A window whose first value is late is output at once.
    let expected = [(1, 0, 10, vec![2], Refined, 0), (2, 10, 20, vec![12], OnTime, 0)];
    assert_eq!(windows(window, &[12, 2]), expected);
}

#[test]
fn late_values_join_sessions() {
    let window = Window::session(5).lateness(20);
    assert_eq!(sessions(window, &[10, 17, 14]), [(3, 10, 22, vec![10, 17, 14], OnTime, 0)]);
    // With no lateness, sessions that are open are one.
    assert_eq!(
        sessions(Window::session(5), &[10, 6, 30]),
        [(2, 6, 15, vec![10, 6], OnTime, 0), (3, 30, 35, vec![30], OnTime, 0)]
    );
    // The first session has been output. A late value joins it with the one that is open.
    let refined = Window::session(5).refine_within(20);
    let expected = [(1, 10, 15, vec![10], OnTime, 0), (3, 10, 22, vec![10, 17, 14], Refined, 0)];
    assert_eq!(sessions(refined, &[10, 17, 14]), expected);
    let expected =
        [(1, 10, 15, vec![10], OnTime, 0), (2, 7, 15, vec![10, 7], Refined, 0), (3, 30, 35, vec![30], OnTime, 0)];
    assert_eq!(sessions(refined, &[10, 30, 7]), expected);
}

#[test]
fn windows_of_equal_ends_come_in_the_order_of_their_keys() {
    let values = [('c', 1), ('a', 2), ('b', 15), ('a', 15), ('a', 30)];
    let expected = [(2, 'a', 0, 1, 0), (2, 'c', 0, 1, 0), (4, 'a', 10, 1, 0), (4, 'b', 10, 1, 0), (5, 'a', 30, 1, 0)];
    assert_eq!(by_key(Window::tumbling(10), &values), expected);
}

#[test]
fn each_key_can_have_a_watermark() {
    let own = Window::tumbling(10).watermark_by_key();
    let values = [('a', 100), ('b', 1), ('b', 2), ('b', 12), ('b', 3), ('a', 99)];
    let expected = [(3, 'b', 0, 2, 0), (6, 'b', 10, 1, 1), (6, 'a', 100, 1, 1)];
    assert_eq!(by_key(own, &values), expected);
    // The watermark of `b` is remembered: 3 is late, although `b` has no window then.
    let values = [('b', 1), ('b', 12), ('a', 1), ('a', 20), ('b', 3)];
    assert_eq!(by_key(own, &values), [(1, 'b', 0, 1, 0), (3, 'a', 0, 1, 0), (5, 'b', 10, 1, 1), (5, 'a', 20, 1, 0)]);
}

#[test]
fn windows_without_room_close_early_and_those_that_end_first_go_first() {
    let two = Window::tumbling(10).lateness(100).at_most(2, Overflow::CloseFirst);
    let values = [('b', 5), ('a', 15), ('c', 6), ('b', 7)];
    // Three windows: those that end at 10 close, both of them. The last value is late for it.
    assert_eq!(by_key(two, &values), [(2, 'b', 0, 1, 0), (2, 'c', 0, 1, 0), (4, 'a', 10, 1, 0), (4, 'b', 10, 0, 1)]);
    // With watermarks of their own: `a` has the first window; without one, the key is forgotten before another closes.
    let own = two.watermark_by_key();
    let values = [('a', 5), ('b', 15), ('c', 25), ('a', 6)];
    assert_eq!(by_key(own, &values), [(2, 'a', 0, 1, 0), (3, 'a', 0, 1, 0), (4, 'b', 10, 1, 0), (4, 'c', 20, 1, 0)]);
}

#[test]
#[should_panic(expected = "more than allowed")]
fn windows_without_room_fail_the_run() {
    by_key(Window::tumbling(10).at_most(1, Overflow::Fail), &[('a', 1), ('b', 2)]);
}

#[test]
fn windows_at_the_end_of_time_close_at_end() {
    const MAX: u64 = u64::MAX;
    let last = MAX - MAX % 10;
    let expected = [(0, last - 10, last, vec![MAX - 10], OnTime, 0), (1, last, MAX, vec![MAX], OnTime, 0)];
    let mut given = windows(Window::tumbling(10).refine_within(MAX), &[MAX - 10, MAX]);
    given.iter_mut().for_each(|result| result.0 = result.0.saturating_sub(1));
    assert_eq!(given, expected);
    assert_eq!(sessions(Window::session(MAX), &[MAX, 1]), [(2, 1, MAX, vec![MAX, 1], OnTime, 0)]);
}

#[test]
fn the_greatest_of_a_window_are_the_state_of_its_fold() {
    let p = pipeline::<(u64, u64)>().fold_windows(
        Window::tumbling(10),
        |(time, _)| *time,
        Top::new(2),
        |top: &mut Top<(u64, u64)>, value| top.push_by_key(*value, |(_, x)| *x),
    );
    let tops = p.map(|results| results.iter().map(|w| w.state.as_slice().to_vec()).collect::<Vec<_>>());
    // Of equal ones the first.
    assert_eq!(tops.model([(1, 5), (2, 9), (3, 5), (4, 1)]), [vec![vec![(2, 9), (1, 5)]]]);
    let mut top = Top::new(3);
    [4, 1, 3].into_iter().for_each(|x| top.push(x));
    let mut later = Top::new(9);
    [2, 5].into_iter().for_each(|x| later.push(x));
    top.append(later);
    assert_eq!(top.into_vec(), [5, 4, 3]);
    let mut none = Top::new(0);
    none.push(1);
    assert_eq!(none.as_slice(), [0; 0]);
}

#[test]
#[should_panic(expected = "use `fold_sessions`")]
fn sessions_need_a_function_that_joins() {
    windows(Window::session(5), &[]);
}

#[test]
#[should_panic(expected = "never joined")]
fn windows_at_fixed_times_need_none() {
    sessions(Window::tumbling(5), &[]);
}

#[test]
#[should_panic(expected = "keeps no values")]
fn late_values_are_not_kept() {
    windows(Window::tumbling(5).late(Late::Keep), &[]);
}

#[test]
fn the_plan_shows_the_bound() {
    let window = Window::tumbling(5).at_most(77, Overflow::Fail);
    let p = pipeline::<(char, u64)>().fold_windows_by(|(key, _)| *key, window, |(_, time)| *time, 0, |n, _| *n += 1);
    assert_eq!(p.plan().stages[0].kind, "fold_windows_by");
    assert!(p.plan().to_string().contains("up to 77 keys"), "{}", p.plan());
    let warned = p.map(|results| results.len());
    assert_eq!(warned.plan().warnings, []);
}
