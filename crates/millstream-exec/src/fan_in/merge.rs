use super::registry::Registry;
use super::rule::{Choice, Lanes, Rule};
use super::table::Table;
use super::{FanIn, ItemFormat, Record};
use crate::Sender;
use crate::handle::ExternalSource;
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
    /// Producers that had no more when they were taken from, in a row.
    caught_up: usize,
}

/// One ring of all producers.
struct Several<T: Item> {
    receiver: mpsc::Receiver<T>,
    /// Who gives, and the next number of each.
    table: Table,
}

/// A run that is shorter, and than it might have been, is all that its producer had just then.
const FEW: usize = 64;

/// Values of one producer that come next.
pub(crate) struct Run<'m, T> {
    pub(crate) producer: u32,
    /// The first one's number there.
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
        let FanIn { producers, at_most, slots: own, turn, shared: several, isolated, rule, record, .. } = fan_in;
        let (registry, receiver) = Registry::new(shared.clone(), own.unwrap_or(slots), at_most, (several, isolated));
        let join = |_| Sender::of_many(registry.join().expect("there is room for all that there are to begin with"));
        let senders = (0..producers).map(join).collect();
        let several = receiver.map(|receiver| Several { receiver, table: Table::default() });
        (senders, Merge { registry, known: 0, lanes: Lanes::new(turn), several, rule, record, turn, caught_up: 0 })
    }

    pub(crate) fn registry(&self) -> &Arc<Registry<T>> {
        &self.registry
    }

    /// Begins to take what is there.
    pub(crate) fn begin(&mut self) {
        self.caught_up = 0;
    }

    /// What comes next, if there is room for so many values; or why nothing can. Nothing comes once all producers have been
    /// caught up with: to look at once again would find their next few values, one by one.
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

    /// So many in a row are all of them.
    fn producers(&self) -> usize {
        if self.several.is_some() { usize::MAX } else { self.lanes.all.len().max(1) }
    }

    /// Takes what was chosen.
    pub(crate) fn take(&mut self, lane: usize, most: usize) -> Run<'_, T> {
        let (producer, first, values) = match &mut self.several {
            Some(Several { receiver, table }) => {
                let (entry, values) = receiver.take_run(most);
                self.registry.hear(&mut self.known, table);
                let (producer, first) = table.take(entry, values.len() as u64);
                if table.is_over(entry) {
                    self.registry.is_over(entry);
                }
                (producer, first, values)
            }
            None => {
                let lane = &mut self.lanes.all[lane];
                let (producer, first) = (lane.producer, lane.receiver.taken());
                // What lies side by side may be less than what was chosen.
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

    /// How many values wait, as far as is known.
    pub(crate) fn backlog(&self) -> u64 {
        match &self.several {
            Some(Several { receiver, .. }) => receiver.backlog(),
            None => self.lanes.backlog() + self.registry.not_met(self.known),
        }
    }

    /// How many entries the table of a shared ring's producers has.
    #[cfg(all(test, not(loom)))]
    pub(super) fn entries(&self) -> Option<usize> {
        self.several.as_ref().map(|several| several.table.len())
    }

    /// Takes no more: every sender hears of it.
    pub(crate) fn end(&self) {
        self.registry.end();
    }
}

impl<T: Item> Drop for Merge<T> {
    /// What was sent and not taken goes here. The rings may outlive the run, with their senders: there a panic of a value's drop
    /// would be the sender's, and here it is the run's.
    fn drop(&mut self) {
        self.registry.end();
        drop_all(|| self.drop_some());
    }
}

impl<T: Item> Merge<T> {
    /// Drops values that are left; false if there are none.
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
