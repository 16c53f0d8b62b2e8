//! Windows of event time that aggregate: a window keeps the state of a fold, and none of its values.
//!
//! The stage keeps its clock. Its slot at a number holds the results that became known there, and is empty where none
//! did. So the results of two such stages join by number, and `flatten` makes a stream of them.

mod by_value;
mod open;
mod rules;

pub use open::OpenFolds;
pub use rules::{JoinStates, JoinedBy, NeverJoined, OneKey, WindowKey};

use super::scan_kernel::ScanKernel;
use super::window::{Late, Window, WindowShape};
use crate::model::ModelSlots;
use crate::plan::Filled;
use crate::{Item, SequenceNumber, Shape, Sparse};
use std::marker::PhantomData;

/// A result of a window: its state, and why it is output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FoldedWindow<S, K = ()> {
    /// The key of its values; `()` where there are no keys.
    pub key: K,
    /// The first time in it.
    pub start: u64,
    /// The first time after it; `u64::MAX` also if the window reaches beyond that.
    pub end: u64,
    /// The state, folded from its values so far.
    pub state: S,
    /// Whether it is the first result of a window that has closed, or another one.
    pub timing: Timing,
    /// The number of late values of its key that were dropped since the key's result before.
    pub dropped: u64,
}

/// When a result of a window is output: before the window closes, when it does, or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Timing {
    /// The window is open, and more values may come ([`Window::early_every`]).
    Early,
    /// The window has closed, and this is its first result since.
    OnTime,
    /// A value came after the window had closed ([`Window::refine_within`]). The result replaces the one before. That
    /// of a session replaces all results of its key that overlap it: late values can join sessions.
    Refined,
}

/// Windows of event time that aggregate. `L` says what the key of a value is, and `J` how the states of sessions are
/// joined.
pub struct FoldWindows<A, S, L, T, F, J> {
    /// The kind of windows.
    pub window: Window,
    /// The key of a value.
    pub key: L,
    /// The time of a value.
    pub time: T,
    /// The state of a window before its first value.
    pub state: S,
    /// Folds a value into its window's state.
    pub f: F,
    /// Joins the states of two sessions.
    pub join: J,
    shape: PhantomData<fn() -> A>,
}
super::debug!(FoldWindows<A, S, L, T, F, J>);

impl<A: Shape, S, L: WindowKey<A>, T, F, J: JoinStates<S>> FoldWindows<A, S, L, T, F, J> {
    pub(crate) fn new(window: Window, key: L, time: T, state: S, f: F, join: J) -> Self {
        match window.shape {
            WindowShape::Session { .. } => assert!(
                J::JOINS,
                "fold_windows: late values can join two sessions, and their states with them: use `fold_sessions` or \
                 `fold_sessions_by`"
            ),
            WindowShape::Sliding { .. } => assert!(
                !J::JOINS,
                "fold_sessions: tumbling and sliding windows are never joined: use `fold_windows` or `fold_windows_by`"
            ),
        }
        assert!(
            window.late != Late::Keep,
            "a window that is folded keeps no values, late ones neither: `Late::Drop` counts them, and `refine_within` \
             folds them in"
        );
        // One key's watermark is the stream's.
        let window = Window { by_key: window.by_key && L::BY_KEY, ..window };
        FoldWindows { window, key, time, state, f, join, shape: PhantomData }
    }
}

impl<A: Shape, S: Item + Clone, L, T, F, J> ScanKernel for FoldWindows<A, S, L, T, F, J>
where
    L: WindowKey<A>,
    T: for<'a> Fn(A::Ref<'a>) -> u64 + Send + Sync + 'static,
    F: for<'a> Fn(&mut S, A::Ref<'a>) + Send + Sync + 'static,
    J: JoinStates<S>,
{
    type In = A;
    type Out = Vec<FoldedWindow<S, L::Key>>;
    type Density = Sparse;
    type State = OpenFolds<L::Key, S>;
    const NAME: &'static str = match (L::BY_KEY, J::JOINS) {
        (false, false) => "fold_windows",
        (true, false) => "fold_windows_by",
        (false, true) => "fold_sessions",
        (true, true) => "fold_sessions_by",
    };

    fn start(&self) -> Self::State {
        OpenFolds::new()
    }

    #[inline]
    fn step(
        &self,
        folds: &mut Self::State,
        _: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        end: bool,
    ) -> Option<Self::Out> {
        let mut results = Vec::new();
        if let Some(value) = slot {
            let (time, key) = ((self.time)(value), self.key.find(value));
            let (add, join) =
                (|state: &mut S| (self.f)(state, value), |state: &mut S, other| self.join.join(state, other));
            folds.on(&self.window, &mut results).value(key, time, &self.state, add, join);
        }
        if end {
            std::mem::take(folds).finish(&self.window, &self.state, &mut results);
        }
        (!results.is_empty()).then_some(results)
    }

    fn fills(input: Filled) -> Filled {
        Filled { end: true, ..input }
    }

    fn keys(&self) -> Option<usize> {
        L::BY_KEY.then_some(self.window.most)
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<Self::Out>> {
        crate::model::folded_windows(self, slots)
    }
}
