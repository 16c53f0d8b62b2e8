//! The step of a scan that can fail, and how it is undone.

use crate::failure::{Cause, Finished, caught};
use crate::{Item, Shape};
use std::fmt;
use std::marker::PhantomData;

/// A step with a state that can fail: the common part of the scans that survive a failure.
pub trait FallibleStep<A: Shape>: Send + Sync + 'static {
    /// The state from one value to the next.
    type State: Item + Clone;
    /// The output of a value.
    type Out: Item;
    /// The error of the user's function.
    type Error: Cause;
    /// The state before the first value.
    fn start(&self) -> Self::State;
    /// The result of one value. After an error or a panic the state is half changed.
    fn call(&self, state: &mut Self::State, value: A::Ref<'_>) -> Result<Self::Out, Self::Error>;
    /// The result of one value, or its panic. After an error or a panic the state is as before.
    fn attempt(&self, state: &mut Self::State, value: A::Ref<'_>) -> Finished<Result<Self::Out, Self::Error>>;
}

/// What a step means: the state after one value, and the output. A failure has no state after it.
pub(crate) fn after<A: Shape, T: FallibleStep<A>>(
    step: &T,
    state: &T::State,
    value: A::Ref<'_>,
) -> Result<(T::State, T::Out), T::Error> {
    let mut next = state.clone();
    let output = step.call(&mut next, value)?;
    Ok((next, output))
}

type Phantom<B, E, U = ()> = PhantomData<fn() -> (B, E, U)>;

/// A step that is undone by a clone of the state, made before it.
pub struct CloneStep<S, F, B, E> {
    state: S,
    f: F,
    result: Phantom<B, E>,
}
super::debug!(CloneStep<S, F, B, E>);

impl<S, F, B, E> CloneStep<S, F, B, E> {
    pub(crate) fn new(state: S, f: F) -> Self {
        CloneStep { state, f, result: PhantomData }
    }
}

impl<A: Shape, S: Item + Clone, F, B: Item, E: Cause> FallibleStep<A> for CloneStep<S, F, B, E>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
{
    type State = S;
    type Out = B;
    type Error = E;

    fn start(&self) -> S {
        self.state.clone()
    }

    #[inline]
    fn call(&self, state: &mut S, value: A::Ref<'_>) -> Result<B, E> {
        (self.f)(state, value)
    }

    #[inline]
    fn attempt(&self, state: &mut S, value: A::Ref<'_>) -> Finished<Result<B, E>> {
        let mut before = state.clone();
        let result = caught(|| (self.f)(state, value));
        if !matches!(result, Ok(Ok(_))) {
            std::mem::swap(state, &mut before);
        }
        // Here, and not on the way out: there a panic of the state's drop would leak the output (rust-lang/rust#47949).
        drop(before);
        result
    }
}

/// A step that is undone by the records that it has left in its log. No state is cloned.
pub struct LogStep<S, F, G, B, E, U> {
    state: S,
    f: F,
    undo: G,
    result: Phantom<B, E, U>,
}
super::debug!(LogStep<S, F, G, B, E, U>);

impl<S, F, G, B, E, U> LogStep<S, F, G, B, E, U> {
    pub(crate) fn new(state: S, f: F, undo: G) -> Self {
        LogStep { state, f, undo, result: PhantomData }
    }
}

impl<A: Shape, S: Item + Clone, F, G, B: Item, E: Cause, U: 'static> FallibleStep<A> for LogStep<S, F, G, B, E, U>
where
    F: for<'a> Fn(&mut S, &mut UndoLog<U>, A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: Fn(&mut S, U) + Send + Sync + 'static,
{
    type State = S;
    type Out = B;
    type Error = E;

    fn start(&self) -> S {
        self.state.clone()
    }

    #[inline]
    fn call(&self, state: &mut S, value: A::Ref<'_>) -> Result<B, E> {
        (self.f)(state, &mut UndoLog::new(), value)
    }

    #[inline]
    fn attempt(&self, state: &mut S, value: A::Ref<'_>) -> Finished<Result<B, E>> {
        let mut log = UndoLog::new();
        let result = caught(|| (self.f)(state, &mut log, value));
        if !matches!(result, Ok(Ok(_))) {
            while let Some(record) = log.pop() {
                (self.undo)(state, record);
            }
        }
        // As in a `CloneStep`.
        drop(log);
        result
    }
}

/// How many records a log has room for without an allocation.
const INLINE: usize = 4;

/// What a step has changed of its state so far, so that it can be undone: see
/// [`try_scan_or_empty_undo`](crate::TryScanExt::try_scan_or_empty_undo). Every step begins with an empty log.
///
/// Four records take no allocation.
pub struct UndoLog<U> {
    first: [Option<U>; INLINE],
    further: Vec<U>,
    records: usize,
}

impl<U> UndoLog<U> {
    fn new() -> Self {
        UndoLog { first: [const { None }; INLINE], further: Vec::new(), records: 0 }
    }

    /// Lays down how the next change is undone. Call this **before** the change.
    #[inline]
    pub fn record(&mut self, undo: U) {
        match self.first.get_mut(self.records) {
            Some(place) => *place = Some(undo),
            None => self.further.push(undo),
        }
        self.records += 1;
    }

    /// The latest record.
    fn pop(&mut self) -> Option<U> {
        self.records = self.records.checked_sub(1)?;
        self.first.get_mut(self.records).map_or_else(|| self.further.pop(), Option::take)
    }
}

impl<U> fmt::Debug for UndoLog<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UndoLog").field("records", &self.records).finish_non_exhaustive()
    }
}
