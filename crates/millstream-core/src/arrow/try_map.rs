use super::Arrow;
use crate::failure::{Cause, Retry};
use crate::pipe::{
    DeadLetter, DeadLetters, GiveFault, LeaveEmpty, Made, StageFn, Stop, Then, Threaded, TryMap, TryMapOrDeadLetter,
};
use crate::{Item, Shape, ToOwnedItem};

/// Maps whose functions can fail, with every way to go on. For every [`Arrow`].
pub trait TryMapExt: Arrow {
    /// Applies a function that can fail to every value; an error ends the run.
    ///
    /// The run's error names the stage, the number, the error and the sources of the error.
    ///
    /// To keep the failures beside the values, at their own numbers, use [`map`](Arrow::map): its output is then a
    /// `Result`.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let parse = pipeline::<&str>().try_map(|s| s.parse::<u64>());
    /// assert_eq!(parse.model(["1", "2"]), [1, 2]);
    /// let skip = pipeline::<&str>().try_map_or_empty(|s| s.parse::<u64>());
    /// assert_eq!(skip.model_slots(["1", "x", "3"]), [Some(1), None, Some(3), None]);
    /// ```
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn try_map<'x, B, E, F, X, By>(
        self,
        f: F,
    ) -> Made<'x, Self::Out, F, X, Result<B, E>, By, Then<Self, TryMap<Self::Out, F, B, E, Stop>>>
    where
        B: Item,
        E: Cause,
        F: Threaded<X, Result<B, E>> + StageFn<Self::Out, <Self::Out as Shape>::Ref<'x>, X, Result<B, E>, By>,
    {
        F::made(Then::new(self, TryMap::new(f, Stop)))
    }

    /// Applies a function that can fail to every value; an error or a panic leaves the slot empty.
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn try_map_or_empty<'x, B, E, F, X, By>(
        self,
        f: F,
    ) -> Made<'x, Self::Out, F, X, Result<B, E>, By, Then<Self, TryMap<Self::Out, F, B, E, LeaveEmpty>>>
    where
        B: Item,
        E: Cause,
        F: Threaded<X, Result<B, E>> + StageFn<Self::Out, <Self::Out as Shape>::Ref<'x>, X, Result<B, E>, By>,
    {
        F::made(Then::new(self, TryMap::new(f, LeaveEmpty)))
    }

    /// Applies a function that can fail to every value; a failure is the output.
    ///
    /// So a later stage, or the caller of a service, gets to know why: an error or the message of a panic, as a
    /// [`Fault`](crate::Fault). A `map` that returns a `Result` does the same with errors, and ends the run at a
    /// panic. The report of a run counts the failures.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let invert = pipeline::<i32>().try_map_or_error(|x| if *x < 0 { Err("negative") } else { Ok(60 / x) });
    /// let outputs = invert.model([5, -1, 0]);
    /// let panic = Fault::Panic("panicked: attempt to divide by zero".to_owned());
    /// assert_eq!(outputs, [Ok(12), Err(Fault::Error("negative")), Err(panic)]);
    /// ```
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn try_map_or_error<'x, B, E, F, X, By>(
        self,
        f: F,
    ) -> Made<'x, Self::Out, F, X, Result<B, E>, By, Then<Self, TryMap<Self::Out, F, B, E, GiveFault>>>
    where
        B: Item,
        E: Cause + Item,
        F: Threaded<X, Result<B, E>> + StageFn<Self::Out, <Self::Out as Shape>::Ref<'x>, X, Result<B, E>, By>,
    {
        F::made(Then::new(self, TryMap::new(f, GiveFault)))
    }

    /// Applies a function that can fail to every value; a failure leaves the slot empty and goes to `dead`.
    ///
    /// A failure is an error or a panic of `f`. `dead` receives the stage's name, the number, the input and the error.
    /// The stage has the name `name`, unless [`named`](Arrow::named) gives it another, or an earlier stage has it; its
    /// letters say the one that it has in the plan.
    ///
    /// `dead` is called once for each failure of a run, in the order of the numbers; on queues each tasklet of a shard
    /// keeps its own order. Inside a `shard_by`, the model and queues keep the order of each key alone. When the run
    /// returns, `dead` has had every failure. If `dead` panics, the run fails.
    ///
    /// `dead` may wait: it has a thread of its own, and the stage gets no further ahead of it than a ring. A `dead`
    /// that waits for ever therefore stops the run, and delays its end. Sending to a bounded channel waits while the
    /// channel is full; it does not wait once the receiver is dropped.
    ///
    /// If a stage downstream ends the stream, as an outer [`take`](crate::StreamsExt::take) does, `dead` receives
    /// every failure up to that end. Stages upstream of the `take` run ahead. `dead` may therefore receive some
    /// failures after that end as well; how many depends on timing and on the deployment. A program that needs the
    /// same dead letters in every run puts the `take` first.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (dead, letters) = std::sync::mpsc::sync_channel(100);
    /// let tell = move |letter: DeadLetter<'_, &'static str, _>| {
    ///     let DeadLetter { stage, number, input, fault } = letter;
    ///     // A dropped receiver wants no more letters.
    ///     let _ = dead.send(format!("{stage} {number} {input:?}: {fault}"));
    /// };
    /// let parse = pipeline::<&str>().try_map_or_dead_letter("parse", |s| s.parse::<u64>(), tell);
    /// assert_eq!(parse.model_slots(["1", "x", "3"]), [Some(1), None, Some(3), None]);
    /// assert_eq!(
    ///     letters.try_iter().collect::<Vec<_>>(),
    ///     [r#"parse 1 "x": invalid digit found in string"#]
    /// );
    /// ```
    #[doc(alias = "catch")]
    fn try_map_or_dead_letter<B, E, F, G>(
        self,
        name: impl Into<String>,
        f: F,
        dead: G,
    ) -> Then<Self, TryMapOrDeadLetter<Self::Out, F, B, E, G>>
    where
        Self::Out: ToOwnedItem,
        B: Item,
        E: Cause + Item,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
        G: for<'a> Fn(DeadLetter<'a, <Self::Out as ToOwnedItem>::Owned, E>) + Send + Sync + 'static,
    {
        Then::new(self, TryMapOrDeadLetter::new(f, DeadLetters::new(name.into(), dead)))
    }

    /// Applies a function that can fail to every value, and tries again after an error.
    ///
    /// If every try fails, the run ends with the last error. A panic is not tried again. The number is held meanwhile,
    /// and later numbers wait. On rings the stage has a thread of its own, as [`map_blocking`](Arrow::map_blocking)
    /// has, since it may sleep between two tries. The model does not sleep.
    #[doc(alias = "retry")]
    #[expect(clippy::type_complexity, reason = "its last type is what it is")]
    fn try_map_retry<'x, B, E, F, X, By>(
        self,
        retry: Retry,
        f: F,
    ) -> Made<'x, Self::Out, F, X, Result<B, E>, By, Then<Self, TryMap<Self::Out, F, B, E, Retry>>>
    where
        B: Item,
        E: Cause,
        F: Threaded<X, Result<B, E>> + StageFn<Self::Out, <Self::Out as Shape>::Ref<'x>, X, Result<B, E>, By>,
    {
        F::made(Then::new(self, TryMap::new(f, retry)))
    }
}

impl<P: Arrow> TryMapExt for P {}
