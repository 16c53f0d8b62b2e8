use crate::RunOutcome;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::{Report, RunEnd, RunError, Sink};
use millstream_core::SequenceNumber;
use millstream_core::failure::{Finished, caught, discard, fail};
use millstream_ring::{Mark, MarkKind, Reader, RingLayout};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The remains of a sink that gets no more values.
pub(crate) struct Left<A, K> {
    left: Mutex<Option<(K, Seen)>>,
    shape: PhantomData<fn() -> A>,
}

/// The numbers that a sink has seen.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    /// Where it began.
    pub(crate) first: SequenceNumber,
    /// END's number, or the number that comes next.
    pub(crate) numbers: SequenceNumber,
    pub(crate) values: u64,
    /// Whether it has seen END.
    pub(crate) ended: bool,
}

impl<A, K> Left<A, K> {
    /// The place of a sink that has not ended.
    pub(crate) fn nothing() -> Arc<Self> {
        Arc::new(Left { left: Mutex::new(None), shape: PhantomData })
    }

    /// The remains of a finished run's sink.
    pub(crate) fn of(sink: K, report: &Report) -> Self {
        let seen = Seen { first: report.first, numbers: report.numbers, values: report.values, ended: true };
        Left { left: Mutex::new(Some((sink, seen))), shape: PhantomData }
    }

    pub(crate) fn leave(&self, sink: K, seen: Seen) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some((sink, seen));
    }

    /// What this says of the sink; false if it is not left.
    pub(crate) fn look(&self, says: impl FnOnce(&K) -> bool) -> bool {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|(sink, _)| says(sink))
    }
}

/// The sink of a run that is over, whatever its type.
pub(crate) trait Finish<O>: Send + Sync {
    /// The numbers that it has seen; `None` if its thread was lost.
    fn seen(&self) -> Option<Seen>;

    /// Its result, or the payload of its panic; `None` if it is gone.
    fn finish(&self, outcome: RunOutcome) -> Option<Finished<O>>;

    /// The end of the run. A sink that cannot finish makes it a failure.
    fn end(&self, mut report: Report, mut failure: Option<RunError>) -> RunEnd<O> {
        let output = match self.finish(report.outcome) {
            Some(Ok(output)) => Some(output),
            Some(Err(payload)) if failure.is_none() => {
                report.outcome = RunOutcome::Failed;
                failure = Some(RunError::unwound_with("sink", Some(report.numbers.0), payload));
                None
            }
            Some(Err(payload)) => {
                discard(payload);
                None
            }
            None => None,
        };
        RunEnd { output, report, failure }
    }
}

impl<A: millstream_core::Shape, K: Sink<A>> Finish<K::Output> for Left<A, K> {
    fn seen(&self) -> Option<Seen> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, seen)| *seen)
    }

    fn finish(&self, outcome: RunOutcome) -> Option<Finished<K::Output>> {
        let (sink, _) = self.left.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(caught(|| sink.finish(outcome).unwrap_or_else(|error| fail(error))))
    }
}

/// The end of a run: a sink that sees every value, with its number.
pub(crate) struct SinkTasklet<A: RingLayout, K> {
    input: Reader<A>,
    /// None once the sink was left to the thread that waits for it.
    user: Option<User<K>>,
    batch: usize,
    first: SequenceNumber,
    at_end: Option<u64>,
    /// Whether anything was read since the sink's last pause.
    read: bool,
    left: Arc<Left<A, K>>,
    /// The edge that it reads after a mark at which the stages before it have retired.
    next: Arc<Splice<A>>,
}

/// The reader of the output of a new version of the pipeline, until the sink has it.
pub(crate) struct Splice<A: RingLayout> {
    next: Mutex<Option<Reader<A>>>,
    fork: Mutex<Fork<A>>,
    /// The reader that the sink has had before.
    old: Mutex<Fork<A>>,
}

/// A reader that the sink leaves at the next mark, if it is wanted.
enum Fork<A: RingLayout> {
    Unwanted,
    Wanted,
    Left(Reader<A>),
}

impl<A: RingLayout> Fork<A> {
    fn take(&mut self) -> Option<Reader<A>> {
        match std::mem::replace(self, Fork::Unwanted) {
            Fork::Left(reader) => Some(reader),
            Fork::Unwanted | Fork::Wanted => None,
        }
    }
}

impl<A: RingLayout> Splice<A> {
    pub(crate) fn new() -> Arc<Self> {
        let unwanted = || Mutex::new(Fork::Unwanted);
        Arc::new(Splice { next: Mutex::new(None), fork: unwanted(), old: unwanted() })
    }

    pub(crate) fn put(&self, reader: Reader<A>) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(reader);
    }

    fn take(&self) -> Option<Reader<A>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn fork(&self) -> MutexGuard<'_, Fork<A>> {
        self.fork.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At the next mark the sink leaves another reader of its input.
    pub(crate) fn want_fork(&self) {
        *self.fork() = Fork::Wanted;
    }

    /// That reader.
    pub(crate) fn take_fork(&self) -> Option<Reader<A>> {
        self.fork().take()
    }

    fn old(&self) -> MutexGuard<'_, Fork<A>> {
        self.old.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the sink gets its next reader, it leaves the present one.
    pub(crate) fn want_old(&self) {
        *self.old() = Fork::Wanted;
    }

    /// That reader.
    pub(crate) fn take_old(&self) -> Option<Reader<A>> {
        self.old().take()
    }

    fn leave_fork(&self, input: &Reader<A>) {
        let mut fork = self.fork();
        if matches!(*fork, Fork::Wanted) {
            *fork = Fork::Left(input.fork());
        }
    }
}

/// The part that changes with every value.
struct User<K> {
    sink: K,
    values: u64,
}

/// Passes a value to the sink.
#[inline(always)]
pub(crate) fn put<A: RingLayout, K: Sink<A>>(sink: &mut K, number: SequenceNumber, value: A::Ref<'_>) {
    if let Err(error) = sink.put(number, value) {
        fail(error);
    }
}

impl<K> User<K> {
    #[inline(always)]
    fn see<A: RingLayout>(&mut self, number: SequenceNumber, value: A::Ref<'_>)
    where
        K: Sink<A>,
    {
        put::<A, K>(&mut self.sink, number, value);
        self.values += 1;
    }
}

impl<A: RingLayout, K> SinkTasklet<A, K> {
    pub(crate) fn new(input: Reader<A>, sink: K, batch: usize, left: Arc<Left<A, K>>) -> Self {
        SinkTasklet::spliced(input, sink, batch, left, Splice::new())
    }

    /// A sink that goes on with another reader after a mark that retires the present one.
    pub(crate) fn spliced(
        input: Reader<A>,
        sink: K,
        batch: usize,
        left: Arc<Left<A, K>>,
        next: Arc<Splice<A>>,
    ) -> Self {
        let (first, input, user) = (input.position(), input.stops_at_marks(), Some(User { sink, values: 0 }));
        SinkTasklet { input, user, batch, first, at_end: None, read: false, left, next }
    }

    /// The ring that values go past, and the sink to which a loop passes them.
    pub(crate) fn for_loop(&mut self) -> Option<(&mut Reader<A>, &mut K)> {
        Some((&mut self.input, &mut self.user.as_mut()?.sink))
    }

    /// Notes that the loop has passed it this many values. If the run `goes_on`, the sink pauses later; after a failure
    /// it does not.
    pub(crate) fn has_read(&mut self, values: usize, goes_on: bool) {
        self.read = goes_on;
        self.user.iter_mut().for_each(|user| user.values += values as u64);
    }

    /// Leaves the sink to the thread that waits for it.
    fn leave(&mut self, numbers: SequenceNumber, ended: bool) {
        if let Some(User { sink, values }) = self.user.take() {
            self.left.leave(sink, Seen { first: self.first, numbers, values, ended });
        }
    }
}

/// A sink that is stopped is left as well.
impl<A: RingLayout, K> Drop for SinkTasklet<A, K> {
    fn drop(&mut self) {
        let abandoned = self.at_end.map(SequenceNumber).or_else(|| self.input.visited());
        self.leave(abandoned.unwrap_or_else(|| self.input.position()), false);
    }
}

impl<A: RingLayout, K: Sink<A>> AtMarks for SinkTasklet<A, K> {
    fn pass(&mut self) -> Option<Mark> {
        let mark = self.input.pass_mark()?;
        self.next.leave_fork(&self.input);
        // A snapshot promises that the sink has stored all values before it; and a sink that retires gets no further
        // step.
        self.pause();
        if mark.kind == MarkKind::Snapshot
            && let Some(user) = &mut self.user
            && let Err(error) = user.sink.mark(mark.at)
        {
            fail(error);
        }
        Some(mark)
    }

    fn resume(&mut self) {
        if let Some(next) = self.next.take() {
            debug_assert_eq!(next.position(), self.input.position(), "the sink gets every number once");
            let before = std::mem::replace(&mut self.input, next.stops_at_marks());
            let mut old = self.next.old();
            if matches!(*old, Fork::Wanted) {
                *old = Fork::Left(before);
            }
        }
    }
}

impl<A: RingLayout, K: Sink<A>> Tasklet for SinkTasklet<A, K> {
    fn step(&mut self, most: usize) -> Progress {
        let Some(user) = self.user.as_mut() else { return Progress::DONE };
        let most = self.batch.min(most);
        let mut left = most;
        while left > 0 {
            let Some(mut batch) = self.input.batch(left) else { break };
            batch.for_each_value(user, |user, number, value| user.see::<A>(number, value));
            left -= batch.len();
        }
        if left < most {
            self.read = true;
            return Progress::moved(most - left);
        }
        let Some(end) = self.input.end() else {
            self.pause();
            return Progress::NONE;
        };
        let numbers = end.number();
        self.at_end = Some(numbers.0);
        if let Err(error) = user.sink.end(numbers) {
            fail(error);
        }
        if let Some(value) = end.value() {
            user.see::<A>(numbers, value);
        }
        self.at_end = None;
        drop(end);
        self.read = true;
        self.pause();
        self.leave(numbers, true);
        Progress::ENDED
    }

    fn pause(&mut self) {
        if let (true, Some(user)) = (std::mem::take(&mut self.read), &mut self.user)
            && let Err(error) = user.sink.pause()
        {
            fail(error);
        }
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn failed_at(&self) -> Option<u64> {
        self.at_end.or_else(|| self.input.visited().map(|number| number.0))
    }

    fn backlog(&self) -> u64 {
        self.input.backlog()
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::of_sink(self.input.probe())
    }
}
