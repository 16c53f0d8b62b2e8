//! The output of a replica: what it has computed is compared with the edge, and appended there.

use super::{Options, Replica, Running, brought};
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
        let Some(entries) = brought(entries)? else { return Ok(false) };
        if entries.is_empty() {
            running.doubt = false;
            running.count(self.options.pace);
            // A batch that is missing for this long may be trimmed.
            running.refused = running.conflict && running.silent >= self.options.patience;
            return Ok(false);
        }
        (running.silent, running.conflict, running.doubt) = (0, false, false);
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
        while let Some(answer) = running.sent.front_mut().and_then(|sent| sent.answer()) {
            running.sent.pop_front();
            running.worked = true;
            match answer {
                Ok(()) => {
                    running.waiting.pop_front();
                    (running.active, running.silent, running.conflict, running.full) = (true, 0, false, None);
                    running.heard = Some(Instant::now());
                    continue;
                }
                Err(LogError::Conflict) => {
                    (running.active, running.silent, running.conflict, running.full) = (false, 0, true, None);
                }
                Err(refused @ (LogError::Refused(_) | LogError::TooLarge { .. })) => {
                    return Err(ReplicaError::Log(refused));
                }
                // It does not grow for this reason, and not since its replica is silent.
                Err(LogError::Full) => {
                    (running.full, running.silent, running.worked) = (Some(Instant::now()), 0, false);
                }
                Err(LogError::Unavailable(_)) => (running.doubt, running.worked) = (true, false),
            }
            // Later appends are refused, or have arrived with this one: the edge shows which.
            running.sent.clear();
            running.heard = None;
            return Ok(false);
        }
        let Options { rank, patience, window, pace, .. } = self.options;
        // After a conflict, the other replica's batches are compared before anything is appended after them.
        let may = !running.conflict && (running.active || running.silent >= rank.saturating_mul(patience));
        // A full edge gets one batch a pace, until its readers have made room.
        let rests = running.full.is_some_and(|since| since.elapsed() < pace);
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
