//! Windows of event time.

use crate::ToOwnedItem;
use crate::pipe::{Late, Overflow, TimeWindow, Window, WindowShape};

/// An open window: its values, each with the number of values before it.
struct Open<T> {
    start: u64,
    /// It may exceed every time.
    end: u128,
    values: Vec<(usize, T)>,
}

/// Processes one value after another. It enters the open windows that contain it. Windows that end at or before the
/// watermark close. While more values are held than allowed, the earliest window closes too.
pub(crate) fn windows<A: ToOwnedItem<Owned: Clone>>(
    window: Window,
    time: impl Fn(A::Ref<'_>) -> u64,
    values: Vec<A::Ref<'_>>,
    all: bool,
) -> Vec<TimeWindow<A::Owned>> {
    let Window { shape, lateness, late, most, overflow, .. } = window;
    let empty = |start: u64, length: u64| Open { start, end: u128::from(start) + u128::from(length), values: vec![] };
    let (mut open, mut closed) = (Vec::<Open<A::Owned>>::new(), vec![]);
    let (mut watermark, mut kept, mut dropped) = (0_u128, vec![], 0);
    for (n, value) in values.into_iter().enumerate() {
        let (time, value) = (time(value), A::to_owned_item(value));
        let mut lies_in: Vec<Open<_>> = match shape {
            WindowShape::Sliding { size, every } => {
                let starts = (0..=time / every).rev().map(|k| k * every).take_while(|start| time - start < size);
                starts.map(|start| empty(start, size)).collect()
            }
            WindowShape::Session { gap } => vec![empty(time, gap)],
        };
        for window in &mut lies_in {
            window.values.push((n, value.clone()));
            let same = |other: &Open<_>| match shape {
                WindowShape::Sliding { .. } => other.start == window.start,
                WindowShape::Session { .. } => {
                    u128::from(other.start) < window.end && u128::from(window.start) < other.end
                }
            };
            let (joined, apart): (Vec<_>, Vec<_>) = open.into_iter().partition(same);
            open = apart;
            for other in joined {
                (window.start, window.end) = (window.start.min(other.start), window.end.max(other.end));
                window.values.extend(other.values);
            }
        }
        lies_in.retain(|window| window.end > watermark);
        match late {
            _ if !lies_in.is_empty() => open.extend(lies_in),
            Late::Keep => kept.push(value),
            Late::Drop => dropped += 1,
            Late::Fail => panic!("a value of time {time} is late"),
        }
        watermark = watermark.max(time.saturating_sub(lateness).into());
        loop {
            let (over, still): (Vec<_>, Vec<_>) = open.into_iter().partition(|window| window.end <= watermark);
            open = still;
            closed.extend(in_order(over, &mut kept, &mut dropped));
            if open.iter().map(|window| window.values.len()).sum::<usize>() + kept.len() <= most {
                break;
            }
            assert!(overflow == Overflow::CloseFirst, "more than {most} values in open windows");
            match open.iter().map(|window| window.end).min() {
                Some(first) => watermark = first,
                None => (_, dropped) = (kept.pop(), dropped + 1),
            }
        }
    }
    if all {
        closed.extend(in_order(open, &mut kept, &mut dropped));
        if !kept.is_empty() || dropped > 0 {
            // Late values are output even if no window follows.
            let none = Open { start: 0, end: 0, values: vec![] };
            let at = watermark.min(u64::MAX.into()) as u64;
            let last = in_order(vec![none], &mut kept, &mut dropped);
            closed.extend(last.into_iter().map(|window| TimeWindow { start: at, end: at, ..window }));
        }
    }
    closed
}

/// Windows by their start, their values in the order of arrival; the first one also has the late values.
fn in_order<T>(mut windows: Vec<Open<T>>, late: &mut Vec<T>, dropped: &mut u64) -> Vec<TimeWindow<T>> {
    windows.sort_by_key(|window| window.start);
    let given = windows.into_iter().map(|Open { start, end, mut values }| {
        values.sort_by_key(|(n, _)| *n);
        let values = values.into_iter().map(|(_, value)| value).collect();
        let (late, dropped) = (std::mem::take(late), std::mem::take(dropped));
        TimeWindow { start, end: end.min(u64::MAX.into()) as u64, values, late, dropped }
    });
    given.collect()
}
