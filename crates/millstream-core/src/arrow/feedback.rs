use crate::pipe::{Fed, Feedback, Id, Looped, Then, id};
use crate::{Arrow, Item, KeepsClock, Lens, lens};

/// Loops: the state that a body returns at one number is its input at the next. For every [`Arrow`].
pub trait FeedbackExt: Arrow {
    /// Runs a body that reads its input and a state, and yields an output and the next state: Haskell's `loop`.
    ///
    /// The state reaches the body one value later. This delay makes the loop productive, and a loop without it cannot
    /// be written.
    ///
    /// At every number at which the input is filled, the body reads the pair of the input and the state. If the body
    /// leaves its slot empty, the state does not change.
    ///
    /// A loop is serial: number n + 1 waits for number n. Its stages stay on one worker, and each costs tens of
    /// nanoseconds a number. A [`scan`](Arrow::scan) is faster if one function is enough. A body that waits
    /// (`map_blocking`) works, one number at a time. The state's ring has at least two slots.
    ///
    /// The model runs a body without a state twice for every value. A body has a state of its own if its plan shows
    /// one: a `scan`, a `take`, another loop. The model runs such a body again for every number, on all values up to
    /// it: its time grows with the square of the input's length, and further with every loop inside a loop.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// // One stage checks a budget, and the next one spends it.
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
