//! Windows of event time in the model, against lists written by hand.

use millstream_core::{ClockExt, Late, ModelExt, Overflow, TimeWindow, Window, pipeline};

/// Start, end and values of the windows, and the late values before each.
type Given = Vec<(u64, u64, Vec<u64>, Vec<u64>, u64)>;

fn windows(window: Window, times: &[u64]) -> Given {
    let p = pipeline::<u64>().windows_by(window, |time| *time);
    let short = |w: TimeWindow<u64>| (w.start, w.end, w.values, w.late, w.dropped);
    p.model(times.iter().copied()).into_iter().map(short).collect()
}

fn in_time(window: Window, times: &[u64]) -> Vec<(u64, u64, Vec<u64>)> {
    let given = windows(window, times).into_iter();
    given
        .map(|(start, end, values, late, dropped)| {
            assert!(late.is_empty() && dropped == 0);
            (start, end, values)
        })
        .collect()
}

#[test]
fn tumbling_windows_are_side_by_side_and_empty_ones_are_left_out() {
    let times = [0, 9, 5, 10, 35, 36];
    let expected = [(0, 10, vec![0, 9, 5]), (10, 20, vec![10]), (30, 40, vec![35, 36])];
    assert_eq!(in_time(Window::tumbling(10), &times), expected);
    assert_eq!(in_time(Window::tumbling(10), &[]), []);
}

#[test]
fn sliding_windows_overlap_and_several_close_at_one_value() {
    let expected = [(0, 4, vec![1, 3]), (2, 6, vec![3]), (8, 12, vec![9]), (6, 10, vec![9])];
    let mut given = in_time(Window::sliding(4, 2), &[1, 3, 9]);
    assert_eq!(given[2..], [(6, 10, vec![9]), (8, 12, vec![9])]);
    given.swap(2, 3);
    assert_eq!(given, expected);
}

#[test]
fn sessions_are_joined_by_what_comes_between_and_keep_the_order_of_arrival() {
    assert_eq!(in_time(Window::session(5), &[1, 3, 8, 20]), [(1, 8, vec![1, 3]), (8, 13, vec![8]), (20, 25, vec![20])]);
    let window = Window::session(5).lateness(10);
    assert_eq!(in_time(window, &[1, 8, 4, 20]), [(1, 13, vec![1, 8, 4]), (20, 25, vec![20])]);
}

#[test]
fn late_values_are_dropped_and_counted_or_kept_by_the_next_window() {
    let times = [3, 12, 4, 5, 23, 13, 30];
    let drop = windows(Window::tumbling(10), &times);
    let of =
        |start: u64, values: &[u64], late: &[u64], dropped| (start, start + 10, values.into(), late.into(), dropped);
    assert_eq!(drop, [of(0, &[3], &[], 0), of(10, &[12], &[], 2), of(20, &[23], &[], 1), of(30, &[30], &[], 0)]);
    let keep = windows(Window::tumbling(10).late(Late::Keep), &times);
    assert_eq!(keep, [of(0, &[3], &[], 0), of(10, &[12], &[4, 5], 0), of(20, &[23], &[13], 0), of(30, &[30], &[], 0)]);
    let patient = windows(Window::tumbling(10).lateness(5), &times);
    assert_eq!(patient[0], of(0, &[3, 4, 5], &[], 0), "12 is less than 5 after the end");
}

#[test]
#[should_panic(expected = "late")]
fn late_values_can_be_failures() {
    windows(Window::tumbling(10).late(Late::Fail), &[3, 12, 4]);
}

#[test]
#[should_panic(expected = "at most size")]
fn windows_with_times_between_them_are_refused() {
    let _ = Window::sliding(2, 3);
}

#[test]
fn windows_at_the_end_of_time_close_at_the_end_of_the_stream() {
    const MAX: u64 = u64::MAX;
    // The last window reaches beyond the last time, so no time closes it.
    let tumbling = windows(Window::tumbling(10), &[MAX - 20, MAX, MAX, MAX - 1, MAX]);
    let (before, last) = (MAX - MAX % 10 - 20, MAX - MAX % 10);
    assert_eq!(tumbling[0], (before, before + 10, vec![MAX - 20], vec![], 0));
    assert_eq!(tumbling[1], (last, MAX, vec![MAX, MAX, MAX - 1, MAX], vec![], 0));
    let session = windows(Window::session(5), &[MAX - 1, MAX, MAX - 3, MAX]);
    assert_eq!(session, [(MAX - 3, MAX, vec![MAX - 1, MAX, MAX - 3, MAX], vec![], 0)]);
    let all = windows(Window::tumbling(MAX), &[0, MAX - 1, MAX]);
    assert_eq!(all, [(0, MAX, vec![0, MAX - 1], vec![], 0), (MAX, MAX, vec![MAX], vec![], 0)]);
}

#[test]
fn windows_without_room_close_early_and_later_values_for_them_are_late() {
    let window = Window::sliding(10, 5).lateness(100).at_most(4, Overflow::CloseFirst).late(Late::Keep);
    // 7 is in two windows, 12 in two, 3 in one: that is five, so [0, 10) goes. Then 4 is late, and is held as well.
    let given = windows(window, &[7, 12, 3, 4, 8]);
    let expected = [(0, 10, vec![7, 3], vec![], 0), (5, 15, vec![7, 12, 8], vec![4], 0), (10, 20, vec![12], vec![], 0)];
    assert_eq!(given, expected);
    let nothing_open = Window::tumbling(10).at_most(0, Overflow::CloseFirst).late(Late::Keep);
    assert_eq!(windows(nothing_open, &[5, 3, 15]), [(0, 10, vec![5], vec![], 0), (10, 20, vec![15], vec![], 1)]);
}

/// Values that are late when no window is open are in an empty one, at END.
#[test]
fn late_values_are_output_if_no_window_follows() {
    let room = |most| Window::tumbling(10).at_most(most, Overflow::CloseFirst);
    // 3 is late and closes [10, 20), which contains it as late; 4 comes after that.
    let kept = windows(room(1).late(Late::Keep), &[15, 3, 4]);
    assert_eq!(kept, [(10, 20, vec![15], vec![3], 0), (20, 20, vec![], vec![4], 0)]);
    for late in [Late::Keep, Late::Drop] {
        let dropped = windows(room(0).late(late), &[5, 15, 3]);
        let expected = [(0, 10, vec![5], vec![], 0), (10, 20, vec![15], vec![], 0), (20, 20, vec![], vec![], 1)];
        assert_eq!(dropped, expected, "{late:?}");
    }
    const MAX: u64 = u64::MAX;
    let beyond = windows(Window::tumbling(MAX).at_most(0, Overflow::CloseFirst), &[MAX, 1]);
    assert_eq!(beyond, [(MAX, MAX, vec![MAX], vec![], 0), (MAX, MAX, vec![], vec![], 1)]);
}

#[test]
#[should_panic(expected = "more than 2 values in open windows")]
fn windows_that_hold_too_much_fail_the_run() {
    windows(Window::tumbling(10).at_most(2, Overflow::Fail), &[1, 2, 3]);
}
