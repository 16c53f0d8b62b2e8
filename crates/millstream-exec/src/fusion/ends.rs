//! The ends of a run on one thread: a source and a sink that the loop between them may use in its own step.

use super::link::{EndsOfRun, Link};
use crate::lock::try_lock;
use crate::sink_tasklet::SinkTasklet;
use crate::source::SourceTasklet;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::{Sink, Wiring};
use millstream_core::{Item, RunOutcome, SequenceNumber, Shape};
use millstream_ring::{Mark, RingLayout};
use std::any::Any;
use std::convert::Infallible;
use std::iter::Empty;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The two ends of a run, as types: the iterator over its source's values, and the sink of an edge of shape `O`.
pub(crate) trait RunEnds<O: Shape>: Send + 'static {
    /// Whether the ends are not known, or no loop may use them.
    const APART: bool;
    /// Whether a loop may take values from the source itself.
    const TAKES_VALUES: bool = false;
    /// Whether the source may wait: then the loop asks it for a value only when the sink has what came before.
    const ONE_BY_ONE: bool = false;
    /// The ends of a loop that takes values from the source's ring.
    type Behind: RunEnds<O>;
    /// The same ends, of a source that may wait, on the calling thread.
    type OneByOne: RunEnds<O>;
    /// The source's values.
    type Values: Iterator<Item: Item> + Send + 'static;
    /// The sink of the output.
    type Sink: Sink<O>;
}

/// Ends that are not known.
pub(crate) enum NoEnds {}

impl<O: Shape> RunEnds<O> for NoEnds {
    const APART: bool = true;
    type Behind = Self;
    type OneByOne = Self;
    type Values = Empty<()>;
    type Sink = Self;
}

impl<O: Shape> Sink<O> for NoEnds {
    type Output = ();
    type Error = Infallible;

    fn put(&mut self, _: SequenceNumber, _: O::Ref<'_>) -> Result<(), Infallible> {
        match *self {}
    }

    fn finish(self, _: RunOutcome) -> Result<(), Infallible> {
        match self {}
    }
}

/// The ends of a job.
pub(crate) struct JobEnds<I, K>(PhantomData<fn() -> (I, K)>);

impl<O: Shape, I: Iterator<Item: Item> + Send + 'static, K: Sink<O>> RunEnds<O> for JobEnds<I, K> {
    const APART: bool = false;
    const TAKES_VALUES: bool = true;
    type Behind = BehindRing<I::Item, K>;
    type OneByOne = OneByOne<I, K>;
    type Values = I;
    type Sink = K;
}

/// The ends of a job on the calling thread, whose source may wait.
pub(crate) struct OneByOne<I, K>(PhantomData<fn() -> (I, K)>);

impl<O: Shape, I: Iterator<Item: Item> + Send + 'static, K: Sink<O>> RunEnds<O> for OneByOne<I, K> {
    const APART: bool = false;
    const TAKES_VALUES: bool = true;
    const ONE_BY_ONE: bool = true;
    type Behind = BehindRing<I::Item, K>;
    type OneByOne = Self;
    type Values = I;
    type Sink = K;
}

/// The ends of a loop after the source's ring.
pub(crate) struct BehindRing<T, K>(PhantomData<fn() -> (T, K)>);

impl<O: Shape, T: Item, K: Sink<O>> RunEnds<O> for BehindRing<T, K> {
    const APART: bool = false;
    type Behind = Self;
    type OneByOne = Self;
    type Values = Empty<T>;
    type Sink = K;
}

/// An end or a stage, which the loop may use while its own tasklet rests. None once it has ended.
pub(crate) struct Lent<X>(Arc<Mutex<Option<X>>>);

impl<X> Clone for Lent<X> {
    fn clone(&self) -> Self {
        Lent(self.0.clone())
    }
}

impl<X> Lent<X> {
    pub(super) fn of(end: X) -> Self {
        Lent(Arc::new(Mutex::new(Some(end))))
    }

    pub(crate) fn nothing() -> Self {
        Lent(Arc::new(Mutex::new(None)))
    }

    /// Waits for the lock. A step must not, since the user's code may hold it.
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<X>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while it is in use, perhaps in the user's code on this very thread.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Option<X>>> {
        try_lock(&self.0)
    }

    /// Drops the end. One that the loop uses is dropped with the loop.
    pub(super) fn give_up(&self) {
        // Dropping it runs the user's code, which must not run under the lock.
        let end = self.try_lock().and_then(|mut end| end.take());
        drop(end);
    }
}

/// The tasklet of a source that a loop may use.
pub(crate) struct LentSource<T: Item, I> {
    source: Lent<SourceTasklet<T, I>>,
    link: Arc<Link>,
    probe: TaskProbe,
}

impl<T: Item, I: Iterator<Item = T> + Send + 'static> LentSource<T, I> {
    pub(crate) fn new(source: SourceTasklet<T, I>, wiring: &mut Wiring) -> Self {
        let (probe, source, link) = (source.probe(), Lent::of(source), Arc::new(Link::default()));
        let lent = Some(Box::new(source.clone()) as Box<dyn Any>);
        wiring.ends = Some(EndsOfRun { link: link.clone(), source: lent, sink: None });
        LentSource { source, link, probe }
    }
}

impl<T: Item, I: Iterator<Item = T> + Send> Tasklet for LentSource<T, I> {
    fn step(&mut self, most: usize) -> Progress {
        let elsewhere = self.link.has_passed_source();
        let Some(mut lent) = self.source.try_lock() else { return Progress { elsewhere, ..Progress::NONE } };
        let progress = match lent.as_mut() {
            None => Progress::DONE,
            Some(source) if self.link.takes_source() && !source.ends() => {
                Progress { worked: source.lay(), ..Progress::NONE }
            }
            Some(source) => source.step(most),
        };
        drop(lent);
        Progress { elsewhere, worked: progress.worked | self.link.is_awaited(), ..progress }
    }

    fn passed_elsewhere(&mut self) -> usize {
        self.link.passed_source()
    }

    fn failed_at(&self) -> Option<u64> {
        self.source.try_lock()?.as_ref()?.failed_at()
    }

    fn backlog(&self) -> u64 {
        0
    }

    fn probe(&self) -> TaskProbe {
        self.probe.clone()
    }
}

impl<T: Item, I> Drop for LentSource<T, I> {
    fn drop(&mut self) {
        self.source.give_up();
    }
}

/// The tasklet of a sink that a loop may use.
pub(crate) struct LentSink<A: RingLayout, K> {
    sink: Lent<SinkTasklet<A, K>>,
    link: Arc<Link>,
    probe: TaskProbe,
}

/// The tasklet of this sink. If a loop has a place for it, the loop may use it.
pub(crate) fn sink_tasklet<A: RingLayout, K: Sink<A>>(
    sink: SinkTasklet<A, K>,
    wiring: &mut Wiring,
) -> Box<dyn Tasklet> {
    let ends = wiring.ends.take().and_then(|EndsOfRun { link, sink, .. }| Some((link, sink?)));
    let Some((link, place)) = ends else { return Box::new(sink) };
    match place.downcast::<Lent<SinkTasklet<A, K>>>() {
        Ok(place) => {
            let probe = sink.probe();
            *place.lock() = Some(sink);
            Box::new(LentSink { sink: *place, link, probe })
        }
        Err(_) => Box::new(sink),
    }
}

impl<A: RingLayout, K: Sink<A>> AtMarks for LentSink<A, K> {
    fn pass(&mut self) -> Option<Mark> {
        self.sink.try_lock()?.as_mut()?.pass()
    }

    fn resume(&mut self) {
        self.sink.lock().iter_mut().for_each(AtMarks::resume);
    }
}

impl<A: RingLayout, K: Sink<A>> Tasklet for LentSink<A, K> {
    fn step(&mut self, most: usize) -> Progress {
        if self.link.has_passed_sink() {
            // More may be there: it is not yet the time for a pause.
            return Progress { elsewhere: true, ..Progress::NONE };
        }
        let Some(mut lent) = self.sink.try_lock() else { return Progress::NONE };
        let progress = lent.as_mut().map_or(Progress::DONE, |sink| sink.step(most));
        drop(lent);
        Progress { worked: progress.worked | self.link.is_awaited(), ..progress }
    }

    fn pause(&mut self) {
        if let Some(mut lent) = self.sink.try_lock() {
            lent.iter_mut().for_each(Tasklet::pause);
        }
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn passed_elsewhere(&mut self) -> usize {
        self.link.passed_sink()
    }

    fn failed_at(&self) -> Option<u64> {
        self.sink.try_lock()?.as_ref()?.failed_at()
    }

    fn backlog(&self) -> u64 {
        self.sink.try_lock().and_then(|sink| Some(sink.as_ref()?.backlog())).unwrap_or(0)
    }

    fn probe(&self) -> TaskProbe {
        self.probe.clone()
    }
}

impl<A: RingLayout, K> Drop for LentSink<A, K> {
    fn drop(&mut self) {
        self.sink.give_up();
    }
}
