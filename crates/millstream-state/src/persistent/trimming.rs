//! What a job keeps of its snapshots, and of what only they need.

use super::storing::Store;
use crate::claims::Held;
use crate::effects::Effects;
use crate::{Retention, SnapshotEntry};
use millstream_exec::Snapshot;

impl Store {
    /// The sink was looked at once more, at the number of the newest snapshot, by a later mark than that of the
    /// snapshot: it still holds what it claimed there.
    pub(super) fn look_again(&mut self, snapshot: &Snapshot, claims: Option<Held>) -> Result<(), String> {
        if self.room.is_wanted() && self.last.as_ref().is_some_and(|(newest, _)| newest.needs().next().is_some()) {
            // A whole one, which needs none before it.
            return self.store(snapshot, claims);
        }
        match self.unconfirmed {
            Some((_, mark)) if mark < snapshot.mark() => {
                self.confirm();
                self.prune()
            }
            // One look is enough: an idle job makes one a period.
            _ => Ok(()),
        }
    }

    /// The sink was looked at once more.
    pub(super) fn confirm(&mut self) {
        self.confirmed = self.unconfirmed.take().map(|(id, _)| id).or(self.confirmed);
    }

    /// Removes the snapshots that do not stay, and what only they needed.
    pub(super) fn prune(&mut self) -> Result<(), String> {
        let mut keep = Retention { confirmed_from: self.needed(), ..self.retention };
        let makes_room = self.room.is_wanted();
        if makes_room && (keep.count.is_some() || keep.age.is_some()) {
            (keep.count, keep.age) = (Some(1), None);
        }
        let removed = self.dir.prune(keep).map_err(|error| error.to_string())?;
        if removed.is_empty() && !makes_room {
            return Ok(());
        }
        let kept = self.dir.snapshots().map_err(|error| error.to_string())?;
        // No run can begin at a file that is damaged, or that is no snapshot.
        if let Some(oldest) = kept.iter().find_map(SnapshotEntry::manifest) {
            (self.forget)(&oldest.source["position"]);
            self.claimed.begin_at(oldest);
            self.forget_effects(oldest.id)?;
        }
        Ok(())
    }

    /// The oldest snapshot from which a start may begin: the last one that the sink has confirmed, and the last one in
    /// front of all dead letters.
    pub(super) fn needed(&self) -> Option<u64> {
        let Some(letters) = self.letters.as_ref().filter(|letters| !letters.is_empty()) else {
            return self.confirmed;
        };
        let before = self.numbers.iter().rev().find(|(_, at, stages)| letters.all_from(stages, *at));
        // Without one that is known, all stay.
        self.confirmed.zip(before).map(|(confirmed, (id, ..))| confirmed.min(*id))
    }

    /// No run begins before this snapshot any more.
    fn forget_effects(&mut self, oldest: u64) -> Result<(), String> {
        while self.numbers.front().is_some_and(|(id, ..)| *id < oldest) {
            self.numbers.pop_front();
        }
        let Some((.., numbers)) = self.numbers.front().filter(|(id, ..)| *id == oldest) else { return Ok(()) };
        let numbers = || numbers.iter().map(|(stage, number)| (&**stage, *number));
        let mut effects = self.effects.iter();
        effects
            .try_for_each(|effects: &Effects| effects.forget_below(numbers()))
            .map_err(|error| format!("effects: {error}"))
    }
}
