//! Windows of event time.

use crate::ToOwnedItem;
use crate::pipe::{Late, Overflow, TimeWindow, Window, WindowShape};
use std::collections::BTreeMap;
use std::mem::{replace, take};

/// The open windows by their start. They end in that order too: sliding ones have one length, and no two sessions
/// have a time in common.
type OpenWindows<T> = BTreeMap<u128, Open<T>>;

/// An open window: its values, each with the number of values before it.
struct Open<T> {
    /// It may exceed every time.
    end: u128,
    values: Vec<(usize, T)>,
}

/// Processes one value after another. It enters the open windows that contain it. Windows that end at or before the
/// watermark close. While more values are held than allowed, the earliest window closes too.
///
/// Of the open windows only those that a value enters, joins or closes are looked at, so that the time is that of the
/// values, once for each window that they are in.
pub(crate) fn windows<A: ToOwnedItem<Owned: Clone>>(
    window: Window,
    time: impl Fn(A::Ref<'_>) -> u64,
    values: Vec<A::Ref<'_>>,
    all: bool,
) -> Vec<TimeWindow<A::Owned>> {
    let Window { shape, lateness, late, most, overflow, .. } = window;
    let (mut open, mut closed) = (OpenWindows::<A::Owned>::new(), vec![]);
    // `held` counts the values of open windows.
    let (mut watermark, mut held, mut kept, mut dropped) = (0_u128, 0, vec![], 0);
    for (n, value) in values.into_iter().enumerate() {
        let (time, value) = (time(value), A::to_owned_item(value));
        let entered = match shape {
            WindowShape::Sliding { size, every } => {
                let starts = (0..=time / every).rev().map(|k| k * every).take_while(|start| time - start < size);
                let spans = starts.map(|start| (u128::from(start), u128::from(start) + u128::from(size)));
                let enter = |(start, end)| {
                    let window = open.entry(start).or_insert_with(|| Open { end, values: vec![] });
                    window.values.push((n, value.clone()));
                };
                spans.filter(|(_, end)| *end > watermark).map(enter).count()
            }
            WindowShape::Session { gap } => {
                let (start, end) = (u128::from(time), u128::from(time) + u128::from(gap));
                usize::from(enter_session(&mut open, (start, end), (n, &value), watermark))
            }
        };
        held += entered;
        match late {
            _ if entered > 0 => {}
            Late::Keep => kept.push(value),
            Late::Drop => dropped += 1,
            Late::Fail => panic!("a value of time {time} is late"),
        }
        watermark = watermark.max(time.saturating_sub(lateness).into());
        loop {
            while let Some(first) = open.first_entry().filter(|first| first.get().end <= watermark) {
                let (start, window) = first.remove_entry();
                held -= window.values.len();
                closed.push(closing(start, window, &mut kept, &mut dropped));
            }
            if held + kept.len() <= most {
                break;
            }
            assert!(overflow == Overflow::CloseFirst, "more than {most} values in open windows");
            match open.first_key_value() {
                Some((_, first)) => watermark = first.end,
                None => (_, dropped) = (kept.pop(), dropped + 1),
            }
        }
    }
    if all {
        closed.extend(open.into_iter().map(|(start, window)| closing(start, window, &mut kept, &mut dropped)));
        if !kept.is_empty() || dropped > 0 {
            // Late values are output even if no window follows.
            let none = Open { end: watermark, values: vec![] };
            closed.push(closing(watermark, none, &mut kept, &mut dropped));
        }
    }
    closed
}

/// Enters the session of this span, joined with the open ones that have a time in common with it. Returns whether it
/// is open.
fn enter_session<T: Clone>(
    open: &mut OpenWindows<T>,
    (mut start, mut end): (u128, u128),
    (n, value): (usize, &T),
    watermark: u128,
) -> bool {
    let mut values = vec![(n, value.clone())];
    let common = open.range(..end).rev().take_while(|(_, other)| other.end > start).map(|(start, _)| *start);
    for first in common.collect::<Vec<u128>>() {
        let other = open.remove(&first).expect("it is open");
        (start, end) = (start.min(first), end.max(other.end));
        // The longer list takes the values of the shorter one.
        let (longer, shorter) =
            if other.values.len() > values.len() { (other.values, values) } else { (values, other.values) };
        values = longer;
        values.extend(shorter);
    }
    let is_open = end > watermark;
    if is_open {
        open.insert(start, Open { end, values });
    }
    is_open
}

/// A window that closes: its values in the order of arrival, and the late values since the one before.
fn closing<T>(start: u128, window: Open<T>, late: &mut Vec<T>, dropped: &mut u64) -> TimeWindow<T> {
    let Open { end, mut values } = window;
    values.sort_by_key(|(n, _)| *n);
    let time = |at: u128| at.min(u64::MAX.into()) as u64;
    TimeWindow {
        start: time(start),
        end: time(end),
        values: values.into_iter().map(|(_, value)| value).collect(),
        late: take(late),
        dropped: replace(dropped, 0),
    }
}
