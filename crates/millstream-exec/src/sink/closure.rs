use super::{Sink, SinkResult};
use crate::RunOutcome;
use millstream_core::{SequenceNumber, Shape};
use std::fmt;
use std::marker::PhantomData;

/// A state, and a closure that gets it with every value: see [`fold`].
pub struct Fold<S, F, R = ()> {
    state: S,
    f: F,
    result: PhantomData<fn() -> R>,
}

/// A sink that has a state, and returns it: `f` gets the state, every number and every value.
///
/// The compiler must know the types of the closure's arguments here; a closure that is written in
/// [`Job::to_fold`](crate::Job::to_fold) gets them from the job. `f` returns nothing, or a `Result` whose error ends
/// the run.
///
/// ```
/// use millstream::prelude::*;
/// let sum = sink::fold(0, |sum: &mut u64, _: SequenceNumber, x: &u64| *sum += x);
/// assert_eq!(pipeline().from(1..=4).to(sum).run()?.0, 10);
/// # Ok::<(), RunError>(())
/// ```
pub fn fold<S, F, R>(state: S, f: F) -> Fold<S, F, R> {
    Fold { state, f, result: PhantomData }
}

impl<A: Shape, S, F, R> Sink<A> for Fold<S, F, R>
where
    S: Send + 'static,
    R: SinkResult,
    F: for<'a> FnMut(&mut S, SequenceNumber, A::Ref<'a>) -> R + Send + 'static,
{
    type Output = S;
    type Error = R::Error;

    #[inline(always)]
    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), R::Error> {
        (self.f)(&mut self.state, number, value).result()
    }

    fn finish(self, _: RunOutcome) -> Result<S, R::Error> {
        Ok(self.state)
    }
}

impl<S, F, R> Fold<S, F, R> {
    /// Calls `pause` on the state when no further value waits: see [`Sink::pause`].
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::io::{BufWriter, Write};
    /// let file = BufWriter::new(Vec::new());
    /// let job = pipeline().from(1..=3).to_fold(file, |file, _, n: &u64| writeln!(file, "{n}"));
    /// let (file, _) = job.on_pause(|file| file.flush()).run()?;
    /// assert_eq!(file.buffer().len(), 0);
    /// # Ok::<(), RunError>(())
    /// ```
    pub fn on_pause<G>(self, pause: G) -> OnPause<S, F, G, R>
    where
        G: FnMut(&mut S) -> R + Send + 'static,
    {
        OnPause { fold: self, pause }
    }
}

/// A [`Fold`] with a function for the moments when no further value waits: see [`Fold::on_pause`].
pub struct OnPause<S, F, G, R = ()> {
    fold: Fold<S, F, R>,
    pause: G,
}

impl<A: Shape, S, F, G, R> Sink<A> for OnPause<S, F, G, R>
where
    S: Send + 'static,
    R: SinkResult,
    F: for<'a> FnMut(&mut S, SequenceNumber, A::Ref<'a>) -> R + Send + 'static,
    G: FnMut(&mut S) -> R + Send + 'static,
{
    type Output = S;
    type Error = R::Error;

    #[inline(always)]
    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), R::Error> {
        <Fold<S, F, R> as Sink<A>>::put(&mut self.fold, number, value)
    }

    fn pause(&mut self) -> Result<(), R::Error> {
        (self.pause)(&mut self.fold.state).result()
    }

    fn finish(self, _: RunOutcome) -> Result<S, R::Error> {
        Ok(self.fold.state)
    }
}

/// A closure that gets every value: see [`each`].
pub struct Each<F, R = ()> {
    f: F,
    result: PhantomData<fn() -> R>,
}

/// A sink of a closure alone: `f` gets every number and every value, and returns nothing, or a `Result` whose error
/// ends the run.
///
/// The compiler must know the types of the closure's arguments here; a closure that is written in
/// [`Job::to_each`](crate::Job::to_each) gets them from the job.
///
/// ```
/// use millstream::prelude::*;
/// let (out, outputs) = std::sync::mpsc::channel();
/// let send = sink::each(move |_: SequenceNumber, x: &u64| out.send(*x));
/// pipeline().from(1..=3).to(send).run()?;
/// assert_eq!(outputs.iter().collect::<Vec<_>>(), [1, 2, 3]);
/// # Ok::<(), RunError>(())
/// ```
pub fn each<F, R>(f: F) -> Each<F, R> {
    Each { f, result: PhantomData }
}

impl<A: Shape, F, R> Sink<A> for Each<F, R>
where
    R: SinkResult,
    F: for<'a> FnMut(SequenceNumber, A::Ref<'a>) -> R + Send + 'static,
{
    type Output = ();
    type Error = R::Error;

    #[inline(always)]
    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), R::Error> {
        (self.f)(number, value).result()
    }

    fn finish(self, _: RunOutcome) -> Result<(), R::Error> {
        Ok(())
    }
}

impl<S: Clone, F: Clone, R> Clone for Fold<S, F, R> {
    fn clone(&self) -> Self {
        fold(self.state.clone(), self.f.clone())
    }
}

impl<S: Clone, F: Clone, G: Clone, R> Clone for OnPause<S, F, G, R> {
    fn clone(&self) -> Self {
        OnPause { fold: self.fold.clone(), pause: self.pause.clone() }
    }
}

impl<F: Clone, R> Clone for Each<F, R> {
    fn clone(&self) -> Self {
        each(self.f.clone())
    }
}

impl<S: fmt::Debug, F, R> fmt::Debug for Fold<S, F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fold").field("state", &self.state).finish_non_exhaustive()
    }
}

impl<S: fmt::Debug, F, G, R> fmt::Debug for OnPause<S, F, G, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnPause").field("fold", &self.fold).finish_non_exhaustive()
    }
}

impl<F, R> fmt::Debug for Each<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Each").finish_non_exhaustive()
    }
}
