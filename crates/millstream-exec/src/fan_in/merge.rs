use super::registry::Registry;
use super::rule::{Choice, Lanes, Rule};
use super::table::Table;
use super::{FanIn, ItemFormat, Record};
use crate::Sender;
use crate::external_source::ExternalSource;
use crate::shared::Shared;
use millstream_core::Item;
use millstream_core::failure::drop_all;
use millstream_ring::{mpsc, spsc};
use std::sync::Arc;

/// The consumer's end of a fan-in.
pub(crate) struct Merge<T: Item> {
    registry: Arc<Registry<T>>,
    known: u64,
    lanes: Lanes<T>,
    several: Option<Several<T>>,
    rule: Rule<T>,
    record: Option<Record>,
    turn: usize,
    /// How many producers in a row had no more values after their turn.
    caught_up: usize,
}

/// One ring of all producers.
struct Several<T: Item> {
    receiver: mpsc::Receiver<T>,
    /// The producer and the next number of each entry.
    table: Table,
}

/// A run below this length that was not cut short means that the producer is drained.
const FEW: usize = 64;

/// The next values of the stream, all from one producer.
pub(crate) struct Run<'m, T> {
    pub(crate) producer: u32,
    /// The number of the first one there.
    pub(crate) first: u64,
    pub(crate) values: spsc::Received<'m, T>,
}

impl<T: Item> Merge<T> {
    /// The producers of a fan-in, and its merge.
    pub(crate) fn new<O: ItemFormat<T>>(
        fan_in: FanIn<T, O>,
        shared: &Arc<Shared>,
        slots: usize,
    ) -> (Vec<Sender<T>>, Self) {
        let FanIn { producers, at_most, slots: own, turn, shared: several, isolated, rule, idle, record, .. } = fan_in;
        let rule = rule.with_bound(idle);
        let (registry, receiver) = Registry::new(shared.clone(), own.unwrap_or(slots), at_most, (several, isolated));
        let join = |_| Sender::of_many(registry.join().expect("there is room for the initial producers"));
        let senders = (0..producers).map(join).collect();
        let several = receiver.map(|receiver| Several { receiver, table: Table::default() });
        (senders, Merge { registry, known: 0, lanes: Lanes::new(turn), several, rule, record, turn, caught_up: 0 })
    }

    pub(crate) fn registry(&self) -> &Arc<Registry<T>> {
        &self.registry
    }

    /// Begins a batch.
    pub(crate) fn begin(&mut self) {
        self.caught_up = 0;
    }

    /// The next choice, with room for `room` values, or why the rule cannot go on. Chooses nothing once all producers
    /// are drained: looking again at once would find their next few values one by one.
    pub(crate) fn choose(&mut self, room: usize) -> Result<Choice, String> {
        if self.caught_up >= self.producers() {
            return Ok(Choice::Nothing);
        }
        if let Some(Several { receiver, .. }) = &self.several {
            return Ok(match (receiver.is_ready(), receiver.ended()) {
                (true, _) => Choice::Take { lane: 0, most: self.turn.min(room) },
                (false, true) => Choice::Ended,
                (false, false) => Choice::Nothing,
            });
        }
        self.registry.meet(&mut self.known, &mut self.lanes.all);
        self.lanes.choose(&mut self.rule, room, &self.registry)
    }

    /// The number of producers in a row after which all are drained.
    fn producers(&self) -> usize {
        if self.several.is_some() { usize::MAX } else { self.lanes.all.len().max(1) }
    }

    /// Takes the chosen values.
    pub(crate) fn take(&mut self, lane: usize, most: usize) -> Run<'_, T> {
        let (producer, first, values) = match &mut self.several {
            Some(Several { receiver, table }) => {
                let (entry, values) = receiver.take_run(most);
                self.registry.update(&mut self.known, table);
                let (producer, first) = table.take(entry, values.len() as u64);
                if table.is_over(entry) {
                    self.registry.is_over(entry);
                }
                (producer, first, values)
            }
            None => {
                let lane = &mut self.lanes.all[lane];
                let (producer, first) = (lane.producer, lane.receiver.taken());
                // The contiguous values may be fewer than chosen.
                let values = lane.receiver.take(most);
                self.rule.took(values.len() as u64);
                (producer, first, values)
            }
        };
        if let Some(record) = &mut self.record {
            record(producer, values.len() as u64);
        }
        self.caught_up = if values.len() < most.min(FEW) { self.caught_up + 1 } else { 0 };
        Run { producer, first, values }
    }

    /// Whether producers want marks.
    #[inline]
    pub(crate) fn wants_cuts(&self) -> bool {
        self.registry.cuts.any()
    }

    /// Lays the marks that producers want behind values that were taken. All those are published. `lay` returns a
    /// mark's id once it is laid. Returns whether a mark has to wait.
    #[cold]
    pub(crate) fn lay_cuts(&mut self, lay: impl FnMut(&mut Option<u64>) -> Option<u64>) -> bool {
        // The list comes first: a producer joins before it wants a mark, so it is met below, unless it is gone.
        let wanted = self.registry.cuts.wanted();
        match &mut self.several {
            Some(Several { table, .. }) => self.registry.update(&mut self.known, table),
            None => self.registry.meet(&mut self.known, &mut self.lanes.all),
        }
        let are_taken = |producer, sent| match &self.several {
            Some(Several { table, .. }) => table.has_taken(producer, sent),
            // A lane that is gone was emptied.
            None => self.lanes.of(producer).is_none_or(|lane| lane.receiver.taken() >= sent),
        };
        self.registry.cuts.lay(wanted, are_taken, lay)
    }

    /// How many values wait, as far as is known.
    pub(crate) fn backlog(&self) -> u64 {
        match &self.several {
            Some(Several { receiver, .. }) => receiver.backlog(),
            None => self.lanes.backlog() + self.registry.not_met(self.known),
        }
    }

    /// The number of entries in the table of a shared ring's producers.
    #[cfg(all(test, not(loom)))]
    pub(super) fn entries(&self) -> Option<usize> {
        self.several.as_ref().map(|several| several.table.len())
    }

    /// Refuses further values; the senders see that.
    pub(crate) fn end(&self) {
        self.registry.end();
    }
}

impl<T: Item> Drop for Merge<T> {
    /// Drops the values that were sent and not taken. The rings may outlive the run, with their senders: there a
    /// panicking drop would hit the sender, whereas here it fails the run.
    fn drop(&mut self) {
        self.registry.end();
        drop_all(|| self.drop_some());
    }
}

impl<T: Item> Merge<T> {
    /// Drops remaining values. Returns false if there are none.
    fn drop_some(&mut self) -> bool {
        if let Some(Several { receiver, .. }) = &mut self.several {
            let (_, values) = if receiver.is_ready() { receiver.take_run(usize::MAX) } else { return false };
            values.for_each(drop);
            return true;
        }
        self.registry.meet(&mut self.known, &mut self.lanes.all);
        let mut some = false;
        for lane in &mut self.lanes.all {
            let values = lane.receiver.take(usize::MAX);
            some |= values.len() > 0;
            values.for_each(drop);
        }
        some
    }
}
