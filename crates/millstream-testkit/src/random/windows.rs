//! Windows of event time.

use super::edge::{Boxed, Chain, then_called};
use super::kind::Kind;
use super::shape::{Element, RandomShape};
use super::value::Value;
use millstream_core::{Arrow, ClockExt, Late, Overflow, TimeWindow, Window, id};
use std::fmt;

/// The parameters of a window stage. If the windows hold too many values, the first one closes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Windows {
    /// Their length, or the gap of sessions; at least 1.
    pub size: u64,
    /// The distance of their starts, at least 1 and at most their size; `None` for sessions.
    pub every: Option<u64>,
    /// How long they wait for late values.
    pub lateness: u64,
    /// Whether late values are kept.
    pub keep: bool,
    /// The most values that they hold.
    pub most: usize,
    /// Whether the times are the greatest possible ones.
    pub last: bool,
}

impl Windows {
    /// The time of a value: its digest modulo 40.
    #[must_use]
    pub fn time(&self, value: &Value) -> u64 {
        let time = value.digest().rem_euclid(40) as u64;
        if self.last { u64::MAX - 39 + time } else { time }
    }

    pub(super) fn window(self) -> Window {
        let shape = self.every.map_or_else(|| Window::session(self.size), |every| Window::sliding(self.size, every));
        let late = if self.keep { Late::Keep } else { Late::Drop };
        shape.lateness(self.lateness).late(late).at_most(self.most, Overflow::CloseFirst)
    }
}

/// The list of start, end, values, late values and the number of dropped ones.
fn listed<E: Element>(window: &TimeWindow<E>) -> Value {
    let list = |values: &[E]| Value::List(values.iter().map(E::value).collect());
    let number = |n: u64| Value::I(n as i64);
    let (values, late) = (list(&window.values), list(&window.late));
    Value::List(vec![number(window.start), number(window.end), values, late, number(window.dropped)])
}

pub(crate) fn windows<A: RandomShape>(windows: Windows, input: Kind, name: Option<&str>) -> Chain {
    let stage = id::<A>().windows_by(windows.window(), move |slot| windows.time(&A::value(slot)));
    then_called!(Chain::empty(input), name, stage, |windows| Boxed::free(windows.map(listed)))
}

impl fmt::Display for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Windows { size, every, lateness, keep, most, last } = self;
        let every = every.map_or("session".to_owned(), |every| format!("every {every}"));
        write!(f, "windows_by({size}, {every}, lateness {lateness}, keep {keep}, at most {most}, last {last})")
    }
}

impl fmt::Debug for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
