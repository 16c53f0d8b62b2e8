//! The output of a replica: what it has computed is compared with the edge, and appended there.

use super::rest::Rest;
use super::{Call, Options, Replica, Running};
use crate::batch::hash;
use crate::{Log, LogError, ReplicaError, Segment};
use std::time::Instant;

impl<S: Segment, L: Log> Replica<S, L> {
    /// Looks which of the waiting batches are in the output edge, and whether they are the same there.
    pub(super) fn look(&self, running: &mut Running<S::Run>) -> Result<bool, ReplicaError> {
        // The replica that appends knows from the answers which batches are there.
        let knows = running.active && !running.doubt;
        if running.waiting.is_empty() || knows || !running.sent.is_empty() {
            return Ok(false);
        }
        if std::mem::take(&mut running.refused) {
            return self.pass_trimmed(running);
        }
        let next = running.durable() + 1;
        let entries = self.log.read_from(&self.edges.output, next, running.waiting.len());
        let Some(entries) = self.brought(Call::Looks, entries)? else { return Ok(false) };
        if entries.is_empty() {
            running.doubt = false;
            running.count(self.options.pace);
            // A batch that is missing for this long may be trimmed.
            running.refused = running.conflict && running.silent >= self.options.patience;
            return Ok(false);
        }
        (running.silent, running.conflict, running.doubt, running.rests) = (0, false, false, None);
        self.retries.end(Call::Appends);
        for entry in entries {
            // Trimmed batches were read by their readers.
            while running.durable() + 1 < entry.number && running.waiting.pop_front().is_some() {}
            let Some(ours) = running.waiting.pop_front() else { break };
            if ours != entry.bytes {
                let (edge, number) = (self.edges.output.clone(), entry.number);
                let (ours, theirs) = (hash(&[&ours]), hash(&[&entry.bytes]));
                return Err(ReplicaError::Diverged { edge, number, ours, theirs });
            }
        }
        Ok(true)
    }

    /// Takes the answers that have come, and sends the next waiting batch, if it is this replica's turn. Returns
    /// whether it has sent one.
    pub(super) fn append(&self, running: &mut Running<S::Run>) -> Result<bool, ReplicaError> {
        let Options { rank, patience, window, pace, .. } = self.options;
        while let Some(answer) = running.sent.front_mut().and_then(|sent| sent.answer()) {
            running.sent.pop_front();
            running.worked = true;
            match answer {
                Ok(()) => {
                    running.waiting.pop_front();
                    (running.active, running.silent, running.conflict, running.rests) = (true, 0, false, None);
                    running.heard = Some(Instant::now());
                    self.retries.end(Call::Appends);
                    continue;
                }
                Err(LogError::Conflict) => {
                    (running.active, running.silent, running.conflict, running.rests) = (false, 0, true, None);
                    self.retries.end(Call::Appends);
                }
                Err(refused @ (LogError::Refused(_) | LogError::TooLarge { .. })) => {
                    return Err(ReplicaError::Log(refused));
                }
                // It does not grow for this reason, and not since its replica is silent.
                Err(LogError::Full) => {
                    (running.silent, running.worked) = (0, false);
                    running.rests = Some(Rest::after(running.rests, pace));
                    self.retries.end(Call::Appends);
                }
                Err(error) => {
                    (running.doubt, running.worked) = (true, false);
                    running.rests = Some(Rest::after(running.rests, pace));
                    self.retries.failed(Call::Appends, error);
                }
            }
            // Later appends are refused, or have arrived with this one: the edge shows which.
            running.sent.clear();
            running.heard = None;
            return Ok(false);
        }
        // After a conflict, the other replica's batches are compared before anything is appended after them.
        let may = !running.conflict && (running.active || running.silent >= rank.saturating_mul(patience));
        // A full edge gets a batch from time to time, until its readers have made room.
        let rests = running.rests.is_some_and(Rest::goes_on);
        // The next rank may have appended meanwhile: then the first append is refused, and one behind it need not be.
        let is_heard =
            running.heard.is_some_and(|heard| pace.is_zero() || heard.elapsed() < pace.saturating_mul(patience));
        let window = if is_heard { window } else { 1 };
        let ahead = running.sent.len();
        if !may || rests || ahead >= window {
            return Ok(false);
        }
        let Some(batch) = running.waiting.get(ahead) else { return Ok(false) };
        running.sent.push_back(self.log.send_if(&self.edges.output, running.durable() + ahead as u64, batch.clone()));
        Ok(true)
    }
}
