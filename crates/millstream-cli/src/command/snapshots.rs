use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_state::{Manifest, Retention, SnapshotEntry, StateDir, StateError};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// `snapshots`: lists, checks and removes the snapshots of a state directory.
#[derive(Debug)]
pub(crate) struct Snapshots {
    pub(crate) dir: PathBuf,
    pub(crate) verify: bool,
    pub(crate) prune: Option<usize>,
    pub(crate) json: bool,
}

impl Snapshots {
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
            let keep = Retention { count: Some(keep), confirmed_from: newest, ..Retention::default() };
            for removed in locked.prune(keep)? {
                complaints.note(&format!("removed snapshot {} at number {}", removed.id, removed.at));
            }
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

    fn line(&self, manifest: &Manifest, whole: bool) -> String {
        let Manifest { id, at, output_at, epoch, written_unix_ms, parts, .. } = manifest;
        if self.json {
            let parts: Vec<_> = parts.iter().map(|part| json!({ "name": part.name, "bytes": part.length })).collect();
            let line = json!({
                "id": id, "at": at, "output_at": output_at, "epoch": epoch, "written_unix_ms": written_unix_ms,
                "bytes": manifest.bytes(), "parts": parts, "source": manifest.source, "sink": manifest.sink,
                "whole": whole,
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
