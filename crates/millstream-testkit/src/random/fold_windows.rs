//! Windows of event time that aggregate.

use super::edge::{Boxed, Chain, then_called};
use super::kind::Kind;
use super::shape::{RandomShape, of_slot, of_value};
use super::steps::{folded, keyed};
use super::value::Value;
use super::windows::Windows;
use millstream_core::{Arrow, BorrowedKeysExt, FoldedWindow, WindowsExt, id};
use std::fmt;

/// The parameters of a window stage whose windows keep a state: `state * 17 ^ digest` of every value. Two sessions'
/// states become `earlier * 31 + later`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FoldWindows {
    /// The windows. Late values are dropped, and the bound is one of windows and keys.
    pub windows: Windows,
    /// The modulus of the [keys](super::Pipe::ShardBy), if there are keys; 0 if each value is a key, which is borrowed.
    pub keys: Option<i64>,
    /// Whether each key has a watermark of its own.
    pub own_watermark: bool,
    /// After how many values a window has an early result, at least 1.
    pub early: Option<u64>,
    /// How long a window that has closed can be refined.
    pub refine: u64,
    /// The state before the first value.
    pub start: i64,
}

/// The list of key (7 where there are none), start, end, state, timing and the number of dropped values. No window is
/// copied: the drop of a copy may panic, and then the list would leak (rust-lang/rust#47949).
fn listed<K>(window: &FoldedWindow<Value, K>, key: Value) -> Value {
    let number = |n: u64| Value::I(n as i64);
    let FoldedWindow { key: _, start, end, state, timing, dropped } = window;
    let numbers = [number(*start), number(*end), Value::I(*timing as i64), number(*dropped)];
    Value::List([key, state.clone()].into_iter().chain(numbers).collect())
}

fn all(results: &[FoldedWindow<Value, Value>]) -> Value {
    Value::List(results.iter().map(|window| listed(window, window.key.clone())).collect())
}

fn all_of_stream(results: &[FoldedWindow<Value>]) -> Value {
    Value::List(results.iter().map(|window| listed(window, Value::I(7))).collect())
}

pub(crate) fn fold_windows<A: RandomShape>(of: FoldWindows, input: Kind, name: Option<&str>) -> Chain {
    let mut window = of.windows.window().refine_within(of.refine);
    if let Some(n) = of.early {
        window = window.early_every(n);
    }
    if of.own_watermark {
        window = window.watermark_by_key();
    }
    let time = move |slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| of.windows.time(value));
    let add = |state: &mut Value, slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| folded(state, value));
    let join = |state: &mut Value, later: Value| {
        of_value(later, |later| *state = later.like(state.digest().wrapping_mul(31).wrapping_add(later.digest())));
    };
    let (stage, chain, start) = (id::<A>(), Chain::empty(input), Value::I(of.start));
    let key = |keys| move |slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| keyed(value, keys));
    match (of.keys, of.windows.every) {
        (None, Some(_)) => {
            let folded = stage.fold_windows(window, time, start, add);
            then_called!(chain, name, folded, |folded| Boxed::new(folded.map(|results| all_of_stream(results))))
        }
        (None, None) => {
            let folded = stage.fold_sessions(window, time, start, add, join);
            then_called!(chain, name, folded, |folded| Boxed::new(folded.map(|results| all_of_stream(results))))
        }
        (Some(0), sliding) => {
            let (values, time) = (stage.map(|slot| A::value(slot)), move |value: &Value| of.windows.time(value));
            if sliding.is_some() {
                let folded = values.fold_windows_by_ref(|value| value, window, time, start, folded);
                return then_called!(chain, name, folded, |folded| Boxed::new(folded.map(|results| all(results))));
            }
            let folded = values.fold_sessions_by_ref(|value| value, window, time, start, folded, join);
            then_called!(chain, name, folded, |folded| Boxed::new(folded.map(|results| all(results))))
        }
        (Some(keys), Some(_)) => {
            let folded = stage.fold_windows_by(key(keys), window, time, start, add);
            then_called!(chain, name, folded, |folded| Boxed::new(folded.map(|results| all(results))))
        }
        (Some(keys), None) => {
            let folded = stage.fold_sessions_by(key(keys), window, time, start, add, join);
            then_called!(chain, name, folded, |folded| Boxed::new(folded.map(|results| all(results))))
        }
    }
}

impl fmt::Display for FoldWindows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FoldWindows { windows, keys, own_watermark, early, refine, start } = self;
        let name = if windows.every.is_some() { "fold_windows" } else { "fold_sessions" };
        let by = keys.map_or(String::new(), |keys| format!("_by({keys})"));
        let early = early.map_or("none".to_owned(), |n| n.to_string());
        write!(f, "{name}{by}({windows}, own {own_watermark}, early {early}, refine {refine}, start {start})")
    }
}

impl fmt::Debug for FoldWindows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
