use crate::pipe::{
    CloneStep, DeadLetters, LeaveEmpty, LogStep, ScanBy, Stop, Then, TryScan, TryScanOrDeadLetter, TryScanOrError,
    TryScanRetry, UndoLog,
};
use crate::{Arrow, Cause, DeadLetter, Item, Retry, Shape, ToOwnedItem};

/// Scans whose functions can fail. For every [`Arrow`].
///
/// A failure is an error or a panic. Unless it ends the run, the state is then put back to what it was before the
/// value, in one of two ways:
///
/// - **A clone.** The state is cloned before every value, so it should be cheap to clone: numbers, a small struct, an
///   `Arc` of something that does not change, a persistent map.
/// - **An undo**, in the methods whose names end in `_undo`, for a state that is too large to be cloned. The function
///   gets an [`UndoLog`] beside the state, and before each change it records there how to undo the change. After a
///   failure, `undo` gets the records of that value, the latest first. Nothing is cloned, and values that do not fail
///   cost only their records. [`try_scan_or_empty_undo`](TryScanExt::try_scan_or_empty_undo) shows how to write it.
pub trait TryScanExt: Arrow {
    /// Runs a [`scan`](Arrow::scan) whose function can fail; an error ends the run.
    ///
    /// The run's error has the stage, the number, the error and its sources.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let spend = |left: &mut u64, cost: &u64| {
    ///     *left = left.checked_sub(*cost).ok_or("not enough")?;
    ///     Ok::<_, &str>(*left)
    /// };
    /// assert_eq!(pipeline::<u64>().try_scan(10, spend).model([3, 4]), [7, 3]);
    /// ```
    #[doc(alias = "try_fold")]
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn try_scan<S, B, E, F>(self, state: S, f: F) -> Then<Self, ScanBy<TryScan<Self::Out, CloneStep<S, F, B, E>, Stop>>>
    where
        S: Item + Clone,
        B: Item,
        E: Cause,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(TryScan::new(CloneStep::new(state, f), Stop)))
    }

    /// Runs a [`scan`](Arrow::scan) whose function can fail; a failure leaves the slot empty and changes no state.
    ///
    /// The state is cloned before every value.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let spend = |left: &mut u64, cost: &u64| {
    ///     *left = left.checked_sub(*cost).ok_or("not enough")?;
    ///     Ok::<_, &str>(*left)
    /// };
    /// let p = pipeline::<u64>().try_scan_or_empty(10, spend);
    /// assert_eq!(p.model_slots([3, 9, 4]), [Some(7), None, Some(3), None]);
    /// ```
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn try_scan_or_empty<S, B, E, F>(
        self,
        state: S,
        f: F,
    ) -> Then<Self, ScanBy<TryScan<Self::Out, CloneStep<S, F, B, E>, LeaveEmpty>>>
    where
        S: Item + Clone,
        B: Item,
        E: Cause,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(TryScan::new(CloneStep::new(state, f), LeaveEmpty)))
    }

    /// Runs a [`scan`](Arrow::scan) whose function can fail; a failure is the output, and changes no state.
    ///
    /// A caller thus learns why its request failed: the answer is a value or its [`Fault`](crate::Fault). The state is
    /// cloned before every value.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let spend = |left: &mut u64, cost: &u64| {
    ///     *left = left.checked_sub(*cost).ok_or("not enough")?;
    ///     assert!(*cost > 1, "too small");
    ///     Ok::<_, &str>(*left)
    /// };
    /// let p = pipeline::<u64>().try_scan_or_error(10, spend);
    /// let panic = Fault::Panic("panicked: too small".to_owned());
    /// assert_eq!(p.model([3, 9, 1, 4]), [Ok(7), Err(Fault::Error("not enough")), Err(panic), Ok(3)]);
    /// ```
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn try_scan_or_error<S, B, E, F>(
        self,
        state: S,
        f: F,
    ) -> Then<Self, ScanBy<TryScanOrError<Self::Out, CloneStep<S, F, B, E>>>>
    where
        S: Item + Clone,
        B: Item,
        E: Cause + Item,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(TryScanOrError::new(CloneStep::new(state, f))))
    }

    /// Runs a [`scan`](Arrow::scan) whose function can fail and undo what it did; a failure is the output.
    ///
    /// `f` and `undo` are those of [`try_scan_or_empty_undo`](TryScanExt::try_scan_or_empty_undo).
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn try_scan_or_error_undo<S, B, E, U, F, G>(
        self,
        state: S,
        f: F,
        undo: G,
    ) -> Then<Self, ScanBy<TryScanOrError<Self::Out, LogStep<S, F, G, B, E, U>>>>
    where
        S: Item + Clone,
        B: Item,
        E: Cause + Item,
        U: 'static,
        F: for<'a> Fn(&mut S, &mut UndoLog<U>, <Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
        G: Fn(&mut S, U) + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(TryScanOrError::new(LogStep::new(state, f, undo))))
    }

    /// Runs a [`scan`](Arrow::scan) whose function can fail and undo what it did; a failure leaves the slot empty.
    ///
    /// `f` records in the log how to undo each change, **before** it makes the change. After an error or a panic,
    /// `undo` gets the records of that value, the latest first, and puts the state back to what it was before the
    /// value.
    ///
    /// A panic can come between a record and its change. A record should therefore say what was there before, such as
    /// "the account had 3", and not what to subtract: putting that back is right whether or not the change was made.
    /// After a panic within a change, as in the `Hash` of a key, the collection is as the panic left it. If `undo`
    /// panics, the run ends.
    ///
    /// The model does not call `undo`: it clones the state at every value. A test that compares a run with the model
    /// therefore finds a change without a record.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::collections::BTreeMap;
    ///
    /// // Moves an amount between two accounts, of which there may be millions.
    /// let add = |accounts: &mut BTreeMap<char, i64>, log: &mut UndoLog<_>, account, amount| {
    ///     let before = accounts.get(&account).copied();
    ///     log.record((account, before));
    ///     let after = before.unwrap_or(0) + amount;
    ///     accounts.insert(account, after);
    ///     if after < 0 { Err("not enough") } else { Ok(after) }
    /// };
    /// let transfer = move |accounts: &mut _, log: &mut _, (from, to, amount): &(char, char, i64)| {
    ///     add(accounts, log, *to, *amount)?;
    ///     add(accounts, log, *from, -*amount)
    /// };
    /// let undo = |accounts: &mut BTreeMap<_, _>, (account, before): (char, Option<i64>)| match before {
    ///     Some(before) => _ = accounts.insert(account, before),
    ///     None => _ = accounts.remove(&account),
    /// };
    /// let p = pipeline().try_scan_or_empty_undo(BTreeMap::from([('a', 10)]), transfer, undo);
    /// let transfers = [('a', 'b', 7), ('a', 'b', 5), ('b', 'a', 2)];
    /// assert_eq!(p.collect(transfers)?, [3, 5]);
    /// assert_eq!(p.model_slots(transfers), [Some(3), None, Some(5), None]);
    /// # Ok::<(), RunError>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn try_scan_or_empty_undo<S, U, B, E, F, G>(
        self,
        state: S,
        f: F,
        undo: G,
    ) -> Then<Self, ScanBy<TryScan<Self::Out, LogStep<S, F, G, B, E, U>, LeaveEmpty>>>
    where
        S: Item + Clone,
        U: 'static,
        B: Item,
        E: Cause,
        F: for<'a> Fn(&mut S, &mut UndoLog<U>, <Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
        G: Fn(&mut S, U) + Send + Sync + 'static,
    {
        Then::new(self, ScanBy::new(TryScan::new(LogStep::new(state, f, undo), LeaveEmpty)))
    }

    /// Runs a [`scan`](Arrow::scan) whose function can fail; a failure changes no state and goes to `dead`.
    ///
    /// Its slot is empty. `dead` receives the stage's name, the number, the input and the error or panic, as with
    /// [`try_map_or_dead_letter`](crate::TryMapExt::try_map_or_dead_letter), which says when and in which order. The
    /// stage has the name `name`. The state is cloned before every value.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (dead, letters) = std::sync::mpsc::sync_channel(100);
    /// let spend = |left: &mut u64, cost: &u64| {
    ///     *left = left.checked_sub(*cost).ok_or("not enough")?;
    ///     Ok::<_, &str>(*left)
    /// };
    /// let p = pipeline::<u64>().try_scan_or_dead_letter("spend", 10, spend, move |letter| {
    ///     let DeadLetter { stage, number, input, fault } = letter;
    ///     let _ = dead.send(format!("{stage} {number} {input}: {fault}"));
    /// });
    /// assert_eq!(p.model_slots([3, 9, 4]), [Some(7), None, Some(3), None]);
    /// assert_eq!(letters.try_iter().collect::<Vec<_>>(), ["spend 1 9: not enough"]);
    /// ```
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn try_scan_or_dead_letter<S, B, E, F, H>(
        self,
        name: impl Into<String>,
        state: S,
        f: F,
        dead: H,
    ) -> Then<Self, TryScanOrDeadLetter<Self::Out, CloneStep<S, F, B, E>, E, H>>
    where
        Self::Out: ToOwnedItem,
        S: Item + Clone,
        B: Item,
        E: Cause + Item,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
        H: for<'a> Fn(DeadLetter<'a, <Self::Out as ToOwnedItem>::Owned, E>) + Send + Sync + 'static,
    {
        Then::new(self, TryScanOrDeadLetter::new(CloneStep::new(state, f), DeadLetters::new(name.into(), dead)))
    }

    /// Runs a [`scan`](Arrow::scan) whose function can fail and undo what it did; a failure goes to `dead`.
    ///
    /// Nothing is cloned: `f` and `undo` are those of
    /// [`try_scan_or_empty_undo`](TryScanExt::try_scan_or_empty_undo). Otherwise as
    /// [`try_scan_or_dead_letter`](TryScanExt::try_scan_or_dead_letter).
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn try_scan_or_dead_letter_undo<S, U, B, E, F, G, H>(
        self,
        name: impl Into<String>,
        state: S,
        f: F,
        undo: G,
        dead: H,
    ) -> Then<Self, TryScanOrDeadLetter<Self::Out, LogStep<S, F, G, B, E, U>, E, H>>
    where
        Self::Out: ToOwnedItem,
        S: Item + Clone,
        U: 'static,
        B: Item,
        E: Cause + Item,
        F: for<'a> Fn(&mut S, &mut UndoLog<U>, <Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
        G: Fn(&mut S, U) + Send + Sync + 'static,
        H: for<'a> Fn(DeadLetter<'a, <Self::Out as ToOwnedItem>::Owned, E>) + Send + Sync + 'static,
    {
        Then::new(self, TryScanOrDeadLetter::new(LogStep::new(state, f, undo), DeadLetters::new(name.into(), dead)))
    }

    /// Runs a [`scan`](Arrow::scan) whose function can fail, and tries again after an error, from the state before the
    /// value.
    ///
    /// If every try fails, the run ends with the last error. A panic is not tried again. The number is held meanwhile,
    /// and later numbers wait. On rings the stage has a thread of its own, as
    /// [`try_map_retry`](crate::TryMapExt::try_map_retry) has, since it may sleep between two tries; in a `shard_by`
    /// each of its tasklets has one. The model does not sleep. The state is cloned before every try.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// let was_busy = AtomicBool::new(false);
    /// let p = pipeline::<u64>().try_scan_retry(Retry::times(2), 0, move |sum, x| {
    ///     *sum += x;
    ///     if was_busy.swap(true, Ordering::Relaxed) { Ok(*sum) } else { Err("busy") }
    /// });
    /// assert_eq!(p.model([1, 2]), [1, 3]);
    /// ```
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn try_scan_retry<S, B, E, F>(
        self,
        retry: Retry,
        state: S,
        f: F,
    ) -> Then<Self, TryScanRetry<Self::Out, CloneStep<S, F, B, E>>>
    where
        S: Item + Clone,
        B: Item,
        E: Cause,
        F: for<'a> Fn(&mut S, <Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    {
        Then::new(self, TryScanRetry::new(CloneStep::new(state, f), retry))
    }

    /// Runs a [`scan`](Arrow::scan) whose function can fail and undo what it did, and tries again after an error.
    ///
    /// Nothing is cloned: `f` and `undo` are those of
    /// [`try_scan_or_empty_undo`](TryScanExt::try_scan_or_empty_undo). Otherwise as
    /// [`try_scan_retry`](TryScanExt::try_scan_retry).
    #[expect(clippy::type_complexity, reason = "the combinator says what it is made of")]
    fn try_scan_retry_undo<S, U, B, E, F, G>(
        self,
        retry: Retry,
        state: S,
        f: F,
        undo: G,
    ) -> Then<Self, TryScanRetry<Self::Out, LogStep<S, F, G, B, E, U>>>
    where
        S: Item + Clone,
        U: 'static,
        B: Item,
        E: Cause,
        F: for<'a> Fn(&mut S, &mut UndoLog<U>, <Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
        G: Fn(&mut S, U) + Send + Sync + 'static,
    {
        Then::new(self, TryScanRetry::new(LogStep::new(state, f, undo), retry))
    }
}

impl<P: Arrow> TryScanExt for P {}
