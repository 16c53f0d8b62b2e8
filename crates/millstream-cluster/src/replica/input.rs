//! The input of a replica: batches are read, given to the segment, and come back as output.

use super::{Call, Missing, Replica, Running};
use crate::{Batch, Entry, Log, ReplicaError, Segment, SegmentError, SegmentRun};
use millstream_core::failure::{caught, message};

impl<S: Segment, L: Log> Replica<S, L> {
    /// Reads if no batch is there, and begins with one, or computes those that it has begun with; `None` if the batch
    /// that it needs is trimmed.
    pub(super) fn read(&self, running: &mut Running<S::Run>) -> Result<Option<bool>, ReplicaError> {
        if running.fails.is_some() {
            return if running.under_way() > 0 { self.finish(running).map(Some) } else { Ok(Some(false)) };
        }
        let room = self.options.window.saturating_sub(running.waiting.len() + running.under_way());
        // A snapshot is taken when no batch is under way.
        let waits = self.one_by_one && running.under_way() > 0;
        if room == 0 || running.last.is_some() || waits || self.is_due(running) {
            return self.finish(running).map(Some);
        }
        let first = running.begun + 1;
        if running.inbox.is_empty() && running.ends.asks() {
            return self.input_ends(running).map(Some);
        }
        if running.inbox.is_empty() {
            let Some(entries) = self.brought(Call::Reads, self.log.read_from(&self.edges.input, first, room))? else {
                return self.finish(running).map(Some);
            };
            running.inbox = entries.into();
        }
        match running.inbox.front() {
            None if running.under_way() > 0 => return self.finish(running).map(Some),
            None => {
                running.ends.quiet(self.options.pace);
                self.quiet(running)?;
                return Ok(Some(false));
            }
            Some(entry) if entry.number > first && running.manifest.0.input >= first => return Ok(None),
            // The manifest that this replica knows may be old; but then there is a newer one.
            Some(entry) if entry.number > first => {
                running.inbox.clear();
                return self.trimmed(running, first);
            }
            Some(_) => {}
        }
        if let Some(entry) = running.inbox.pop_front() {
            self.missing.set(Missing::default());
            self.compute(running, &entry)?;
        }
        Ok(Some(true))
    }

    /// Begins with a batch, and takes the output of the one that the segment has computed by then.
    fn compute(&self, running: &mut Running<S::Run>, entry: &Entry) -> Result<(), ReplicaError> {
        let number = entry.number;
        running.begun = number;
        let batch = match self.calls(number, || Batch::<S::In>::from_bytes(&entry.bytes))? {
            Ok(batch) => batch,
            Err(cause) => {
                // Those before it are still under way.
                running.begun = number - 1;
                running.inbox.clear();
                running.fails = Some(ReplicaError::Batch { edge: self.edges.input.clone(), number, cause });
                return Ok(());
            }
        };
        running.last = batch.end.then_some(number);
        match self.calls(number, || running.run.begin_batch(batch.values, batch.end))?? {
            Some(output) => self.take(running, output),
            None => Ok(()),
        }
    }

    /// Calls the code of the segment, or of its values: a panic there is a failure of the segment, as one in a stage.
    pub(super) fn calls<T>(&self, number: u64, code: impl FnOnce() -> T) -> Result<T, ReplicaError> {
        caught(code).map_err(|panic| {
            let (edge, why) = (&self.edges.input, message(panic.as_ref()));
            SegmentError::Unfit(format!("edge {edge:?}, batch {number}: {why}")).into()
        })
    }

    /// Waits for the first batch under way, if there is one.
    fn finish(&self, running: &mut Running<S::Run>) -> Result<bool, ReplicaError> {
        let number = running.position + 1;
        let Some(output) = self.calls(number, || running.run.finish_batch())?? else { return Ok(false) };
        self.take(running, output)?;
        Ok(true)
    }

    /// Takes the output of the next batch.
    fn take(&self, running: &mut Running<S::Run>, output: Batch<S::Out>) -> Result<(), ReplicaError> {
        let number = running.position + 1;
        let output = Batch { generation: self.options.generation, ..output };
        let bytes = self.calls(number, || output.to_bytes())?;
        let edge = &self.edges.output;
        let bytes = bytes.map_err(|cause| ReplicaError::Batch { edge: edge.clone(), number, cause })?;
        running.waiting.push_back(bytes.into());
        (running.position, running.quiet) = (number, 0);
        running.end = running.last.filter(|last| *last == number);
        if running.under_way() == 0 { self.hold(running) } else { Ok(()) }
    }
}
