//! Windows of event time: the values of the windows that are still open, grouped again at every value.

use super::{Slot, digest};
use millstream_testkit::random::{Value, Windows};

/// A value in one of its windows; with sessions, the window that it would have alone.
#[derive(Clone)]
struct Row {
    start: i128,
    end: i128,
    arrived: usize,
    value: Value,
}

struct Late {
    values: Vec<Value>,
    dropped: i64,
}

pub(super) fn given(windows: &Windows, input: &[Slot]) -> Vec<Slot> {
    given_until(windows, input, true)
}

/// As [`given`]; if the stream goes on, no window closes at its end.
pub(super) fn given_until(windows: &Windows, input: &[Slot], ends: bool) -> Vec<Slot> {
    changed(windows, (usize::MAX, windows), input, ends)
}

/// The same, under other rules after the first `at` values.
pub(crate) fn changed(first: &Windows, (at, then): (usize, &Windows), input: &[Slot], ends: bool) -> Vec<Slot> {
    let (mut rows, mut outputs): (Vec<Row>, Vec<Slot>) = (Vec::new(), Vec::new());
    let (mut greatest, mut passed, mut late) = (0, 0, Late { values: Vec::new(), dropped: 0 });
    for (arrived, value) in input.iter().flatten().enumerate() {
        let windows = if arrived < at { first } else { then };
        let earliest = if windows.last { i128::from(u64::MAX) - 39 } else { 0 };
        let time = earliest + i128::from(digest(value).rem_euclid(40));
        let size = i128::from(windows.size);
        let every = i128::from(windows.every.unwrap_or(1));
        let starts: Vec<i128> = match windows.every {
            Some(_) => (0..=time / every).rev().map(|k| k * every).take_while(|start| start + size > time).collect(),
            None => vec![time],
        };
        let before = rows.len();
        for start in starts {
            let row = Row { start, end: start + size, arrived, value: value.clone() };
            let with: Vec<Row> = rows.iter().cloned().chain([row.clone()]).collect();
            let group = groups(windows, with).into_iter().find(|group| has(group, &row)).expect("it is in one");
            if end(&group) > passed {
                rows.push(row);
            }
        }
        match rows.len() == before {
            true if windows.keep => late.values.push(value.clone()),
            true => late.dropped += 1,
            false => {}
        }
        greatest = greatest.max(time);
        passed = passed.max(greatest - i128::from(windows.lateness));
        outputs.extend(close(windows, &mut rows, passed, &mut late));
        while rows.len() + late.values.len() > windows.most {
            match groups(windows, rows.clone()).iter().map(|group| end(group)).min() {
                Some(earliest) => passed = earliest,
                None => {
                    late.values.pop();
                    late.dropped += 1;
                }
            }
            outputs.extend(close(windows, &mut rows, passed, &mut late));
        }
    }
    if !ends {
        return outputs;
    }
    outputs.extend(close(then, &mut rows, i128::MAX, &mut late));
    if !late.values.is_empty() || late.dropped > 0 {
        let end = Value::I(passed.min(u64::MAX.into()) as u64 as i64);
        let (values, late) = ([Vec::new(), late.values].map(Value::List), Value::I(late.dropped));
        let [none, kept] = values;
        outputs.push(Some(Value::List(vec![end.clone(), end, none, kept, late])));
    }
    outputs.push(None);
    outputs
}

fn has(group: &[Row], row: &Row) -> bool {
    group.iter().any(|other| (other.arrived, other.start) == (row.arrived, row.start))
}

fn end(group: &[Row]) -> i128 {
    group.iter().map(|row| row.end).max().expect("a group has rows")
}

/// The rows of one window each, ordered by start.
fn groups(windows: &Windows, mut rows: Vec<Row>) -> Vec<Vec<Row>> {
    rows.sort_by_key(|row| (row.start, row.arrived));
    let mut groups: Vec<Vec<Row>> = Vec::new();
    for row in rows {
        let belongs = |group: &Vec<Row>| match windows.every {
            Some(_) => group[0].start == row.start,
            None => row.start < end(group),
        };
        match groups.last_mut() {
            Some(group) if belongs(group) => group.push(row),
            _ => groups.push(vec![row]),
        }
    }
    groups
}

/// Removes the windows that end at `passed` or before, and returns them, in the order of their ends.
fn close(windows: &Windows, rows: &mut Vec<Row>, passed: i128, late: &mut Late) -> Vec<Slot> {
    let (mut over, still): (Vec<_>, Vec<_>) =
        groups(windows, std::mem::take(rows)).into_iter().partition(|group| end(group) <= passed);
    *rows = still.into_iter().flatten().collect();
    over.sort_by_key(|group| end(group));
    let list = |mut group: Vec<Row>| {
        let (start, end) = (group[0].start, end(&group).min(u64::MAX.into()));
        group.sort_by_key(|row| row.arrived);
        let values = group.into_iter().map(|row| row.value).collect();
        let (late, dropped) = (std::mem::take(&mut late.values), std::mem::take(&mut late.dropped));
        let number = |time: i128| Value::I(time as u64 as i64);
        let (values, late) = (Value::List(values), Value::List(late));
        Some(Value::List(vec![number(start), number(end), values, late, Value::I(dropped)]))
    };
    over.into_iter().map(list).collect()
}
