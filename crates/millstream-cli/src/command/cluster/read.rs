//! `cluster read`: the output edge.

use super::servers::{Servers, log_failed, servers};
use crate::flags;
use crate::interrupts::Interrupts;
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_cluster::{App, Batch, JetStream, Log, LogError, Text};
use std::time::{Duration, Instant};

/// How many batches are read at once.
const AT_ONCE: usize = 64;
/// The time to wait for a silent edge before looking at it.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the servers may be silent without a message.
const SOON: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Read {
    servers: Servers,
    from: u64,
    so_far: bool,
    trim: bool,
}

pub(super) fn resolved(flags: flags::Read) -> Result<Read, String> {
    let flags::Read { servers: asked, from, so_far, trim } = flags;
    Ok(Read { servers: servers(asked)?, from: from as u64, so_far, trim })
}

impl Read {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("cluster");
        let (log, interrupts) = match self.servers.open_until_a_signal(&complaints) {
            Ok(opened) => opened,
            Err(outcome) => return outcome,
        };
        Output::opened(&complaints, |mut output| match self.print(&log, &mut output, &interrupts, &complaints) {
            Ok(()) => interrupts.first().map_or(Outcome::Done, Outcome::Interrupted),
            Err(outcome) => outcome,
        })
    }

    fn print(
        &self,
        log: &JetStream,
        output: &mut Output,
        interrupts: &Interrupts,
        complaints: &Complaints,
    ) -> Result<(), Outcome> {
        let mut quiet = Silence::default();
        let until = match self.so_far {
            true => Some(log.last(App::OUTPUT).map_err(|error| log_failed(&error, complaints))?),
            false => None,
        };
        let (mut next, mut trimmed, mut ended) = (self.from, self.from, false);
        while interrupts.first().is_none() && until.is_none_or(|until| next <= until) {
            let entries = match log.read_from(App::OUTPUT, next, AT_ONCE) {
                Ok(entries) => entries,
                Err(LogError::Unavailable(why)) => {
                    quiet.note(&why, complaints);
                    continue;
                }
                Err(error) => return Err(log_failed(&error, complaints)),
            };
            quiet = Silence::default();
            if entries.is_empty() {
                log.wait(PAUSE);
            }
            for entry in entries {
                if entry.number > next && next > self.from {
                    complaints.complain(&format!(
                        "batches {next} to {} were dropped from the edge and are not printed",
                        entry.number - 1
                    ));
                }
                let batch = Batch::<Text>::from_bytes(&entry.bytes).map_err(|error| {
                    complaints.complain(&format!("batch {}: {error}", entry.number));
                    Outcome::InputOrOutputFailed
                })?;
                let text: Vec<u8> = batch.values.iter().flat_map(|(_, text)| text.0.iter().copied()).collect();
                output.write(&text);
                next = entry.number + 1;
                ended |= batch.end;
            }
            if self.trim && next > trimmed {
                // The last batch stays, and shows where the edge ends. Without an answer the next trim removes these
                // batches.
                if let Err(refused @ LogError::Refused(_)) = log.trim(App::OUTPUT, next - 1) {
                    return Err(log_failed(&refused, complaints));
                }
                trimmed = next;
            }
            if ended {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Since when the servers do not answer.
#[derive(Default)]
struct Silence {
    since: Option<Instant>,
    said: bool,
}

impl Silence {
    fn note(&mut self, why: &str, complaints: &Complaints) {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() > SOON && !self.said {
            self.said = true;
            complaints.note(&format!("waiting for the servers: {why}"));
        }
        std::thread::sleep(PAUSE);
    }
}
