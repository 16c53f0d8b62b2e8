//! Scans whose functions fail.

use super::edge::{Boxed, Chain, then_called};
use super::kind::Kind;
use super::logs::Sinks;
use super::shape::{RandomShape, of_slot};
use super::steps::{keyed, scanned, tried};
use super::value::Value;
use millstream_core::pipe::DeadLetter;
use millstream_core::{Arrow, KeysExt, Retry, TryScanExt, UndoLog, id};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// The handling of a failure in a [`Pipe::TryScan`](super::Pipe::TryScan), and the way to restore the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TryScanBy {
    /// The slot is empty. The state was cloned.
    Empty,
    /// The slot is empty. A log records what to undo.
    EmptyUndo,
    /// The failure is the output, and is left out after it. The state was cloned.
    OrError,
    /// The failure is the output, and is left out after it. A log records what to undo.
    OrErrorUndo,
    /// A function receives the failures. The state was cloned.
    DeadLetter,
    /// A function receives the failures. A log records what to undo.
    DeadLetterUndo,
    /// A function receives the failures, and all later values of their keys. The number is the modulus of the
    /// [keys](super::Pipe::ShardBy).
    Park(i64),
    /// Some values fail, and are tried again. The state was cloned.
    Retry,
    /// Some values fail, and are tried again. A log records what to undo.
    RetryUndo,
}

impl TryScanBy {
    /// One of each kind.
    pub const EVERY: [TryScanBy; 9] = [
        TryScanBy::Empty,
        TryScanBy::EmptyUndo,
        TryScanBy::OrError,
        TryScanBy::OrErrorUndo,
        TryScanBy::DeadLetter,
        TryScanBy::DeadLetterUndo,
        TryScanBy::Park(3),
        TryScanBy::Retry,
        TryScanBy::RetryUndo,
    ];

    /// Whether another stage follows the one with the state.
    pub(super) fn is_followed(self) -> bool {
        !matches!(self, TryScanBy::Empty | TryScanBy::EmptyUndo) && !self.retries()
    }

    /// Whether every value succeeds in the end.
    #[must_use]
    pub fn retries(self) -> bool {
        matches!(self, TryScanBy::Retry | TryScanBy::RetryUndo)
    }
}

impl fmt::Display for TryScanBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryScanBy::Empty => f.write_str("try_scan"),
            TryScanBy::EmptyUndo => f.write_str("try_scan_undo"),
            TryScanBy::OrError => f.write_str("try_scan_or_error"),
            TryScanBy::OrErrorUndo => f.write_str("try_scan_or_error_undo"),
            TryScanBy::DeadLetter => f.write_str("try_scan_or_dead_letter"),
            TryScanBy::DeadLetterUndo => f.write_str("try_scan_or_dead_letter_undo"),
            TryScanBy::Park(keys) => write!(f, "try_scan_or_park by {keys}"),
            TryScanBy::Retry => f.write_str("scan_retry"),
            TryScanBy::RetryUndo => f.write_str("scan_retry_undo"),
        }
    }
}

/// The function changes the state before it fails. With a log, it changes it more often than a log has room for. The
/// name is for a stage that another one follows.
pub(crate) fn try_scan<A: RandomShape>(
    start: i64,
    modulus: i64,
    (by, name): (TryScanBy, Option<&str>),
    input: Kind,
    sinks: &Sinks,
) -> Chain {
    let stage_name = name.unwrap_or("tried");
    let note = || {
        let letters = sinks.letters();
        move |dead: DeadLetter<'_, A::Owned, &'static str>| letters.note(dead.number, dead.fault)
    };
    let tries = AtomicU32::new(0);
    let fails = move |value: &Value| match by.retries() {
        true if tries.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) => Err("busy"),
        true => Ok(()),
        false => tried(value, modulus, start).map(drop),
    };
    let (chain, seed, id) = (Chain::empty(input), Value::I(start), id::<A>());
    let undo = |state: &mut Value, before| *state = before;
    let logged = |state: &mut Value, log: &mut UndoLog<Value>, value: &Value| {
        let before = state.clone();
        for other in 0..5 {
            log.record(state.clone());
            *state = value.like(other);
        }
        log.record(state.clone());
        *state = before;
        log.record(state.clone());
        scanned(state, value)
    };
    // Every way has its own closures: `fails` is moved into one of them.
    macro_rules! cloned {
        () => {
            move |state: &mut Value, slot: A::Ref<'_>| {
                of_slot::<A, _>(slot, |value| {
                    let output = scanned(state, value);
                    fails(value).map(|()| output)
                })
            }
        };
    }
    macro_rules! undone {
        () => {
            move |state: &mut Value, log: &mut UndoLog<Value>, slot: A::Ref<'_>| {
                of_slot::<A, _>(slot, |value| {
                    let output = logged(state, log, value);
                    fails(value).map(|()| output)
                })
            }
        };
    }
    let retry = Retry::times(10_000);
    match by {
        TryScanBy::Empty => chain.then(Boxed::new(id.try_scan_or_empty(seed, cloned!()))),
        TryScanBy::EmptyUndo => chain.then(Boxed::new(id.try_scan_or_empty_undo(seed, undone!(), undo))),
        TryScanBy::OrError => {
            then_called!(chain, name, id.try_scan_or_error(seed, cloned!()), |tried| {
                Boxed::new(tried.filter_map(|output| output.as_ref().ok().cloned()))
            })
        }
        TryScanBy::OrErrorUndo => {
            then_called!(chain, name, id.try_scan_or_error_undo(seed, undone!(), undo), |tried| {
                Boxed::new(tried.filter_map(|output| output.as_ref().ok().cloned()))
            })
        }
        TryScanBy::Retry => chain.then(Boxed::new(id.try_scan_retry(retry, seed, cloned!()))),
        TryScanBy::RetryUndo => chain.then(Boxed::new(id.try_scan_retry_undo(retry, seed, undone!(), undo))),
        // Clones the values of the success lane into a ring, for the next stage.
        TryScanBy::DeadLetter => {
            let stage = id.try_scan_or_dead_letter(stage_name, seed, cloned!(), note());
            chain.then(Boxed::new(stage.filter_map(|value| Some(value.clone()))))
        }
        TryScanBy::DeadLetterUndo => {
            let stage = id.try_scan_or_dead_letter_undo(stage_name, seed, undone!(), undo, note());
            chain.then(Boxed::new(stage.filter_map(|value| Some(value.clone()))))
        }
        TryScanBy::Park(keys) => {
            let key = move |slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| keyed(value, keys));
            let stage = id.try_scan_or_park(stage_name, key, seed, cloned!(), note());
            chain.then(Boxed::new(stage.filter_map(|value| Some(value.clone()))))
        }
    }
}
