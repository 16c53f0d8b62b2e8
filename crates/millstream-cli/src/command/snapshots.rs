use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_state::dead_letters::KeptLetters;
use millstream_state::journal::JournalOptions;
use millstream_state::{Manifest, Retention, SnapshotEntry, StateDir, StateError};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// `snapshots`: lists, checks and removes the snapshots of a state directory.
#[derive(Debug)]
pub(crate) struct Snapshots {
    dir: PathBuf,
    verify: bool,
    prune: Option<usize>,
    /// The id of the snapshot to go back to.
    back_to: Option<u64>,
    /// Whether the rows since have been removed from a database.
    rows_removed: bool,
    json: bool,
}

impl Snapshots {
    pub(crate) fn of(flags: crate::flags::Snapshots) -> Self {
        let crate::flags::Snapshots { dir, verify, prune, back_to, rows_removed, json } = flags;
        Snapshots { dir, verify, prune, back_to, rows_removed, json }
    }

    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("snapshots");
        Output::opened(&complaints, |output| match self.list(output, &complaints) {
            Ok(outcome) => outcome,
            Err(error) => {
                complaints.note(&error.to_string());
                match error {
                    StateError::Io { .. } => Outcome::InputOrOutputFailed,
                    _ => Outcome::WrongUse,
                }
            }
        })
    }

    fn list(&self, mut output: Output, complaints: &Complaints) -> Result<Outcome, StateError> {
        let dir = StateDir::read(&self.dir)?;
        if let Some(keep) = self.prune {
            // Takes the directory's lock, so no run stores snapshots there meanwhile.
            let program = dir.program().to_owned();
            let locked = StateDir::open(&self.dir, &program)?;
            let newest = locked.newest()?.map(|manifest| manifest.id);
            let letters = match KeptLetters::open(&dir, JournalOptions::default()) {
                Ok(letters) => letters,
                Err(error) => {
                    complaints.note(&format!("--prune: the dead letters: {error}"));
                    return Ok(Outcome::InputOrOutputFailed);
                }
            };
            let before_letters = letters.needed(locked.snapshots()?.iter().filter_map(SnapshotEntry::manifest));
            if let Some(id) = before_letters {
                complaints
                    .note(&format!("all from snapshot {id} on stay: `redo` does the dead letters again from there"));
            }
            let confirmed_from = before_letters.or(newest);
            let keep = Retention { count: Some(keep), confirmed_from, ..Retention::default() };
            for removed in locked.prune(keep)? {
                complaints.note(&format!("removed snapshot {} at number {}", removed.id, removed.at));
            }
        }
        if let Some(id) = self.back_to
            && let Some(refused) = self.go_back(&dir, id, complaints)?
        {
            return Ok(refused);
        }
        let mut outcome = Outcome::Done;
        if !self.json {
            output.write(
                format!("{:>6} {:>14} {:>14} {:>12} {:>10}\n", "id", "number", "output", "bytes", "age").as_bytes(),
            );
        }
        for entry in dir.snapshots()? {
            match entry {
                SnapshotEntry::Whole(manifest) => {
                    let checked = if self.verify { dir.verify(&manifest) } else { Ok(()) };
                    output.write(self.line(&manifest, checked.is_ok()).as_bytes());
                    if let Err(error) = checked {
                        complaints.note(&error.to_string());
                        outcome = Outcome::CheckFailed;
                    }
                }
                SnapshotEntry::Unreadable { why, .. } => {
                    complaints.note(&why.to_string());
                    outcome = Outcome::CheckFailed;
                }
                _ => {}
            }
        }
        Ok(outcome)
    }

    /// Removes the snapshots that are newer than this one, under the lock. Returns the exit code of a refusal.
    fn go_back(&self, dir: &StateDir, id: u64, complaints: &Complaints) -> Result<Option<Outcome>, StateError> {
        let locked = StateDir::open(&self.dir, dir.program())?;
        let listed = locked.snapshots()?;
        let whole = listed.iter().filter_map(SnapshotEntry::manifest);
        let next = |manifest: &Manifest| in_database(&manifest.sink);
        let held = whole.clone().filter_map(next).max();
        if let Some(next) = whole.filter(|manifest| manifest.id == id).find_map(next)
            && held.is_some_and(|held| held > next)
            && !self.rows_removed
        {
            complaints.note(&format!(
                "--back-to {id}: the output is a database, which keeps the rows of the numbers from {next} on, so the run \
                 would skip these numbers: remove the rows, set `next = {next}` in the job's row of \
                 millstream_progress, and add --rows-removed"
            ));
            return Ok(Some(Outcome::WrongUse));
        }
        for removed in locked.back_to(id)? {
            complaints.note(&format!("removed snapshot {} at number {}", removed.id, removed.at));
        }
        if locked.effects_dir().exists() {
            complaints.note("the effects since are not performed again: the run gets their recorded answers");
        }
        Ok(None)
    }

    fn line(&self, manifest: &Manifest, whole: bool) -> String {
        let Manifest { id, at, output_at, epoch, written_unix_ms, parts, .. } = manifest;
        if self.json {
            let parts: Vec<_> = parts.iter().map(|part| json!({ "name": part.name, "bytes": part.length })).collect();
            let line = json!({
                "id": id, "at": at, "output_at": output_at, "epoch": epoch, "written_unix_ms": written_unix_ms,
                "bytes": manifest.bytes(), "parts": parts, "source": manifest.source, "sink": manifest.sink,
                "whole": self.verify.then_some(whole),
            });
            return format!("{line}\n");
        }
        let output = output_at.map_or("-".to_owned(), |at| at.to_string());
        let checked = match (self.verify, whole) {
            (false, _) => "",
            (true, true) => " whole",
            (true, false) => " damaged",
        };
        format!("{id:>6} {at:>14} {output:>14} {:>12} {:>10}{checked}\n", manifest.bytes(), age(*written_unix_ms))
    }
}

/// The number up to which a database holds everything, if this is the claim of one.
fn in_database(claim: &Value) -> Option<u64> {
    claim.as_object().filter(|claim| claim.len() == 1)?.get("next")?.as_u64()
}

/// The age of a snapshot, in words.
fn age(written_unix_ms: u64) -> String {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let seconds = since.saturating_sub(Duration::from_millis(written_unix_ms)).as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
