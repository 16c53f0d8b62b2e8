use crate::pipe::{Fed, Feedback, Id, Looped, Then, id};
use crate::{Arrow, Item, KeepsClock, Lens, lens};

/// Loops: what a body gives at one number, it gets at the next. For every [`Arrow`].
pub trait FeedbackExt: Arrow {
    /// The body reads its input and a state, and gives an output and the next state: Haskell's `loop`, with the delay that
    /// makes it productive.
    ///
    /// At every number at which the input is filled the body sees the pair of it and the state; where the body leaves its
    /// slot empty, the state stays. A loop without a delay cannot be written.
    ///
    /// A loop is serial: number n + 1 waits for number n, whatever the body. Its stages stay on one worker, and cost tens
    /// of nanoseconds a number and a stage; a [`scan`](Arrow::scan) is faster where a function will do. A body that waits
    /// (`map_blocking`) works, one number at a time. The state's ring has at least two slots. The model runs the body anew
    /// for every number: its time grows with the square of the input, and once more with every loop inside a loop.
    ///
    /// ```
    /// use millstream_core::{Arrow, FeedbackExt, ModelExt, pipeline};
    /// // What is left of a budget, spent by one stage and judged by another.
    /// let p = pipeline::<u64>().feedback(10, |p| {
    ///     p.map(|(want, left)| (*want, *left))
    ///         .filter(|(want, left)| want <= left)
    ///         .map(|(want, left)| (left - want, left - want))
    /// });
    /// assert_eq!(p.model_slots([3, 4, 9, 2]), [Some(7), Some(3), None, Some(1), None]);
    /// ```
    fn feedback<S, P>(
        self,
        state: S,
        body: impl FnOnce(Id<Looped<Self::Out, S>>) -> P,
    ) -> Then<Self, Feedback<Self::Out, S, P>>
    where
        S: Item + Clone,
        P: Arrow<In = Looped<Self::Out, S>, Out: Fed<S>> + KeepsClock,
        lens::First: Lens<P::Out>,
    {
        Then::new(self, Feedback::new(state, body(id())))
    }
}

impl<P: Arrow> FeedbackExt for P {}
