//! Windows of event time that aggregate: all windows in one list. A window keeps its values, and its state is computed
//! when it is output.

use super::keys::key;
use super::{Slot, digest};
use millstream_testkit::random::{FoldWindows, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The values of a window.
enum History {
    Start,
    Value(Rc<History>, i64),
    Joined(Rc<History>, Rc<History>),
}

#[derive(Clone)]
struct Row {
    key: Value,
    start: i128,
    end: i128,
    history: Rc<History>,
    values: u64,
    /// Whether it was output when it ended.
    closed: bool,
    /// Whether one of its values was in a window that had ended.
    refines: bool,
}

struct Stage<'t> {
    of: &'t FoldWindows,
    rows: Vec<Row>,
    /// The greatest time, and the time up to which windows have ended: of the keys with a watermark, or of all.
    passed: BTreeMap<Option<Value>, (i128, i128)>,
    dropped: BTreeMap<Value, i64>,
    results: Vec<Value>,
}

const EARLY: i64 = 0;
const ON_TIME: i64 = 1;
const REFINED: i64 = 2;

pub(super) fn given(of: &FoldWindows, input: &[Slot]) -> Vec<Slot> {
    changed(of, (usize::MAX, of), input)
}

/// As [`given`], under other rules from slot `at` on, with the same keys, times and refinement.
pub(crate) fn changed<'t>(of: &'t FoldWindows, (at, then): (usize, &'t FoldWindows), input: &[Slot]) -> Vec<Slot> {
    let (passed, dropped) = (BTreeMap::new(), BTreeMap::new());
    let mut stage = Stage { of, rows: Vec::new(), passed, dropped, results: Vec::new() };
    let slot = |(n, slot): (usize, &Slot)| {
        if n == at {
            stage.of = then;
        }
        if let Some(value) = slot {
            stage.value(value);
        }
        if n + 1 == input.len() {
            stage.end();
        }
        let results = std::mem::take(&mut stage.results);
        (!results.is_empty()).then_some(Value::List(results))
    };
    input.iter().enumerate().map(slot).collect()
}

impl Stage<'_> {
    fn domain(&self, key: &Value) -> Option<Value> {
        Some(key.clone()).filter(|_| self.of.own_watermark && self.of.keys.is_some())
    }

    fn passed(&self, key: &Value) -> i128 {
        self.passed.get(&self.domain(key)).map_or(0, |(_, passed)| *passed)
    }

    /// When a window is output next, or forgotten.
    fn due(&self, row: &Row) -> i128 {
        if row.closed { row.end + i128::from(self.of.refine) } else { row.end }
    }

    fn value(&mut self, value: &Value) {
        let windows = self.of.windows;
        let key = &self.of.keys.map_or(Value::I(7), |keys| key(value, keys));
        let value = digest(value);
        let first = if windows.last { i128::from(u64::MAX) - 39 } else { 0 };
        let time = first + i128::from(value.rem_euclid(40));
        let size = i128::from(windows.size);
        let mut starts: Vec<i128> = match windows.every.map(i128::from) {
            Some(every) => {
                (0..=time / every).rev().map(|k| k * every).take_while(|start| start + size > time).collect()
            }
            None => vec![time],
        };
        starts.sort_unstable();
        let entered = starts.into_iter().filter(|start| self.enter(key, *start, value)).count();
        if entered == 0 {
            *self.dropped.entry(key.clone()).or_default() += 1;
        }
        let (greatest, passed) = self.passed.get(&self.domain(key)).copied().unwrap_or((0, 0));
        let greatest = greatest.max(time);
        let passed = passed.max(greatest - i128::from(windows.lateness));
        self.passed.insert(self.domain(key), (greatest, passed));
        self.close();
        loop {
            let idle = self.idle();
            if self.rows.len() + idle.len() <= windows.most {
                return;
            }
            match idle.first() {
                Some((_, key)) => {
                    self.report(key);
                    self.passed.remove(&Some(key.clone()));
                }
                None => {
                    let next = self.rows.iter().map(|row| (self.due(row), row.key.clone())).min();
                    let (due, key) = next.expect("there are too many");
                    let domain = self.domain(&key);
                    self.passed.entry(domain).or_default().1 = due;
                    self.close();
                }
            }
        }
    }

    /// Whether the window that begins there takes the value.
    fn enter(&mut self, key: &Value, start: i128, value: i64) -> bool {
        let sessions = self.of.windows.every.is_none();
        let end = start + i128::from(self.of.windows.size);
        let belongs = |row: &Row| {
            let same = if sessions { row.start < end && start < row.end } else { row.start == start };
            row.key == *key && same
        };
        let mut mates: Vec<Row> = self.rows.iter().filter(|row| belongs(row)).cloned().collect();
        mates.sort_by_key(|row| row.start);
        let start = mates.iter().map(|row| row.start).chain([start]).min().expect("one");
        let end = mates.iter().map(|row| row.end).chain([end]).max().expect("one");
        if end + i128::from(self.of.refine) <= self.passed(key) {
            return false;
        }
        self.rows.retain(|row| !belongs(row));
        let closed = end <= self.passed(key);
        let values = 1 + mates.iter().map(|row| row.values).sum::<u64>();
        let refines = closed || mates.iter().any(|row| row.refines);
        let joined = mates.into_iter().map(|row| row.history);
        let joined = joined.reduce(|earlier, later| Rc::new(History::Joined(earlier, later)));
        let history = Rc::new(History::Value(joined.unwrap_or(Rc::new(History::Start)), value));
        let row = Row { key: key.clone(), start, end, history, values, closed, refines };
        self.rows.push(row.clone());
        match self.of.early {
            _ if closed => self.output(&row, REFINED),
            Some(n) if values % n == 0 => self.output(&row, EARLY),
            _ => {}
        }
        true
    }

    /// Outputs the windows that have ended, and forgets those that are over.
    fn close(&mut self) {
        let mut ended: Vec<Row> = self.rows.clone();
        ended.retain(|row| !row.closed && row.end <= self.passed(&row.key));
        ended.sort_by_key(|row| (row.end, row.key.clone(), row.start));
        for row in &ended {
            self.output(row, if row.refines { REFINED } else { ON_TIME });
        }
        let rows = std::mem::take(&mut self.rows).into_iter().map(|row| {
            let closed = row.closed || row.end <= self.passed(&row.key);
            Row { closed, refines: row.refines || closed, ..row }
        });
        let rows: Vec<Row> = rows.collect();
        self.rows = rows.into_iter().filter(|row| self.due(row) > self.passed(&row.key)).collect();
    }

    fn end(&mut self) {
        let reports: Vec<Value> = self.dropped.keys().cloned().collect();
        let mut rows = std::mem::take(&mut self.rows);
        rows.retain(|row| !row.closed);
        rows.sort_by_key(|row| (row.end, row.key.clone(), row.start));
        for row in &rows {
            self.output(row, if row.refines { REFINED } else { ON_TIME });
        }
        reports.into_iter().for_each(|key| self.report(&key));
    }

    /// The keys without a window, by watermark.
    fn idle(&self) -> Vec<(i128, Value)> {
        let mut known: Vec<Value> = self.passed.keys().flatten().cloned().collect();
        known.extend(self.dropped.keys().cloned());
        known.retain(|key| !self.rows.iter().any(|row| row.key == *key));
        let mut idle: Vec<(i128, Value)> = known.into_iter().map(|key| (self.passed(&key), key)).collect();
        idle.sort_unstable();
        idle.dedup();
        idle
    }

    /// An empty window with the number of dropped values.
    fn report(&mut self, key: &Value) {
        if self.dropped.contains_key(key) {
            let at = self.passed(key);
            let none = (Rc::new(History::Start), 0, true, false);
            let (history, values, closed, refines) = none;
            self.output(&Row { key: key.clone(), start: at, end: at, history, values, closed, refines }, ON_TIME);
        }
    }

    fn output(&mut self, row: &Row, timing: i64) {
        let number = |time: i128| time.min(u64::MAX.into()) as u64 as i64;
        let dropped = self.dropped.remove(&row.key).unwrap_or(0);
        let rest = [self.state(&row.history), number(row.start), number(row.end), timing, dropped].map(Value::I);
        self.results.push(Value::List([row.key.clone()].into_iter().chain(rest).collect()));
    }

    fn state(&self, history: &History) -> i64 {
        match history {
            History::Start => self.of.start,
            History::Value(before, value) => self.state(before).wrapping_mul(17) ^ value,
            History::Joined(earlier, later) => self.state(earlier).wrapping_mul(31).wrapping_add(self.state(later)),
        }
    }
}
