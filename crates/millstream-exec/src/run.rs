use crate::fan_in::{FanIn, ItemFormat};
use crate::start::{Threads, wire, wire_fan_in, wire_fed};
use crate::{Handle, Report, RingShape, Rings, RunError, Sender, Source, Through, runner};
use millstream_core::{Arrow, Deploy, Item, SequenceNumber, Shape, ToOwnedItem, Val};

/// Running a pipeline on rings.
pub trait Run<T: Item>: Deploy<Rings> + Arrow<In = Val<T>, Out: RingShape> {
    /// Runs the pipeline to its end. `sink` receives every value of the output with its number, in order, including
    /// END's value, on a worker.
    ///
    /// # Errors
    ///
    /// If a closure of the pipeline, the source or the sink panics: the error names the stage, the number and the
    /// message. Every worker has ended then, and the sink has received no number from that stage at or after the
    /// failure. If the options contradict each other.
    fn run(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        mut sink: impl for<'a> FnMut(SequenceNumber, <Self::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<Report, RunError> {
        let outcome = self.run_with(rings, source, (), move |(), number, value| sink(number, value));
        outcome.map(|((), report)| report)
    }

    /// As [`run`](Run::run), with a state that the sink receives with every value and that is returned at the end.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run).
    fn run_with<S: Send + 'static>(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<(S, Report), RunError> {
        self.start(rings, source, state, sink)?.wait()
    }

    /// Starts the pipeline and returns at once. The handle waits for the run, drains it, stops it, or changes the
    /// number of workers.
    ///
    /// # Errors
    ///
    /// If the options contradict each other, or a thread could not be started.
    fn start<S: Send + 'static>(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<Handle<S>, RunError> {
        wire(self, rings, source, Threads::Workers)?.start_into(rings, state, sink)
    }

    /// As [`start`](Run::start), with a sink that may buffer its output: `pause` is called with its state when no
    /// further value is available for now, and at the end. A sink can therefore collect its writes without delaying any
    /// of them.
    ///
    /// ```
    /// use millstream_core::pipeline;
    /// use millstream_exec::{Rings, Run};
    /// use std::io::{BufWriter, Write};
    /// let file = BufWriter::new(Vec::new());
    /// let run = pipeline().start_pausing(
    ///     &Rings::new(),
    ///     1..=3,
    ///     file,
    ///     |file, _, n: &u64| writeln!(file, "{n}").unwrap(),
    ///     |file| file.flush().unwrap(),
    /// )?;
    /// assert_eq!(run.wait()?.0.buffer().len(), 0);
    /// # Ok::<(), millstream_exec::RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](Run::start). A panic of `pause` is a failure of the sink.
    fn start_pausing<S: Send + 'static>(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Shape>::Ref<'a>) + Send + 'static,
        pause: impl FnMut(&mut S) + Send + 'static,
    ) -> Result<Handle<S>, RunError> {
        wire(self, rings, source, Threads::Workers)?.start_into_pausing(rings, state, sink, Some(Box::new(pause)))
    }

    /// As [`start`](Run::start), fed by a [`Sender`].
    ///
    /// # Errors
    ///
    /// As [`start`](Run::start).
    fn start_fed<S: Send + 'static>(
        &self,
        rings: &Rings,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<(Sender<T>, Handle<S>), RunError> {
        let (sender, wired) = wire_fed(self, rings)?;
        Ok((sender, wired.start_into(rings, state, sink)?))
    }

    /// As [`start_fed`](Run::start_fed), fed by several senders: a [`fan_in`](crate::fan_in). A worker merges their
    /// values.
    ///
    /// # Errors
    ///
    /// As [`start`](Run::start). If the options of the fan-in contradict each other, or if its rings and the pipeline's
    /// exceed the memory limit. During the run: if a producer panics, with an error that names it, such as `producer 2`
    /// for the third one, and how many values it had sent; or if the rule cannot go on.
    fn start_fan_in<V: Item, O, S: Send + 'static>(
        &self,
        rings: &Rings,
        fan_in: FanIn<V, O>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<(Vec<Sender<V>>, Handle<S>), RunError>
    where
        O: ItemFormat<V, Item = T>,
    {
        let (senders, wired) = wire_fan_in(self, rings, fan_in)?;
        Ok((senders, wired.start_into(rings, state, sink)?))
    }

    /// Starts a run that is fed by a [`Sender`] and read as an iterator: the program holds both ends, in any two
    /// threads or async tasks. Dropping either end ends the run: the sender ends the stream, the iterator stops it.
    ///
    /// A pipeline's rings are bounded. A thread that both feeds and reads must use [`try_send`](Sender::try_send);
    /// otherwise it waits for ever once the rings are full.
    ///
    /// ```
    /// use millstream_core::{Arrow, pipeline};
    /// use millstream_exec::{Rings, Run};
    ///
    /// let (sender, squares) = pipeline::<u64>().map(|x| x * x).channel(&Rings::new())?;
    /// let feeding = std::thread::spawn(move || (1..4).try_for_each(|x| sender.send(x)));
    /// assert_eq!(squares.collect::<Vec<_>>(), [1, 4, 9]);
    /// assert!(feeding.join().unwrap().is_ok());
    /// # Ok::<(), millstream_exec::RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](Run::start).
    fn channel(&self, rings: &Rings) -> Result<(Sender<T>, Through<Self::Out>), RunError>
    where
        Self::Out: ToOwnedItem,
    {
        let (sender, wired) = wire_fed(self, rings)?;
        Ok((sender, Through::start(wired, rings)?))
    }

    /// As [`run_with`](Run::run_with), entirely on the calling thread: no thread is started. A source that may wait is
    /// asked for its next value only after all stages have processed the one before it. That is slow for many values
    /// and cheap stages: mark a source that never waits with [`source::ready`](crate::source::ready), and its values
    /// are taken in batches.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run).
    fn run_inline<S: Send + 'static>(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<(S, Report), RunError> {
        self.start_inline(rings, source, state, sink)?.wait()
    }

    /// As [`run_inline`](Run::run_inline): the run has ended when this returns, and the handle's [`join`](Handle::join)
    /// returns the report even if it failed.
    ///
    /// # Errors
    ///
    /// If the options contradict each other.
    fn start_inline<S: Send + 'static>(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<Handle<S>, RunError> {
        wire(self, rings, source, Threads::Inline)?.start_into(rings, state, sink)
    }

    /// As [`start_inline`](Run::start_inline), with a sink that may buffer its output, as in
    /// [`start_pausing`](Run::start_pausing): `pause` is called before the source is asked for a value it may have to
    /// wait for.
    ///
    /// # Errors
    ///
    /// If the options contradict each other. A panic of `pause` is a failure of the sink.
    fn start_inline_pausing<S: Send + 'static>(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Shape>::Ref<'a>) + Send + 'static,
        pause: impl FnMut(&mut S) + Send + 'static,
    ) -> Result<Handle<S>, RunError> {
        wire(self, rings, source, Threads::Inline)?.start_into_pausing(rings, state, sink, Some(Box::new(pause)))
    }

    /// As [`run_inline`](Run::run_inline), with the stages' steps in an order that `seed` chooses: the same seed
    /// replays the same schedule. For tests.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run).
    ///
    /// # Panics
    ///
    /// If the stages deadlock.
    fn run_stepped<S: Send + 'static>(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        seed: u64,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<(S, Report), RunError> {
        wire(self, rings, source, Threads::Stepped(seed))?.start_into(rings, state, sink)?.wait()
    }

    /// Returns every value of the output, in order.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run).
    fn collect(&self, rings: &Rings, source: impl Source<T>) -> Result<Vec<<Self::Out as ToOwnedItem>::Owned>, RunError>
    where
        Self::Out: ToOwnedItem,
    {
        self.run_with(rings, source, Vec::new(), runner::push::<Self>).map(|(all, _)| all)
    }

    /// Returns every slot of the output by number, including empty ones and END: the equivalent of the model's
    /// `model_slots`.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run).
    fn collect_slots(
        &self,
        rings: &Rings,
        source: impl Source<T>,
    ) -> Result<Vec<Option<<Self::Out as ToOwnedItem>::Owned>>, RunError>
    where
        Self::Out: ToOwnedItem,
    {
        let (all, report) = self.run_with(rings, source, Vec::new(), runner::put::<Self>)?;
        Ok(runner::padded(all, report.numbers))
    }
}

impl<T: Item, P: Deploy<Rings> + Arrow<In = Val<T>, Out: RingShape>> Run<T> for P {}
