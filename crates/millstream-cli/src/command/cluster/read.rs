//! `cluster read`: the output edge.

mod position;

use super::presence::{Presence, removed};
use super::servers::{Servers, answered, log_failed, servers};
use crate::flags;
use crate::interrupts::Interrupts;
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_cluster::{App, Batch, Entry, JetStream, Log, LogError, Text};
use position::{Position, Unfit};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How many batches are read at once.
const AT_ONCE: usize = 64;
/// The time to wait for a silent edge before looking at it.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the servers may be silent without a message.
const SOON: Duration = Duration::from_secs(2);
/// An edge that is shorter than it was for this long has lost batches. A server that the network has cut off from the
/// others may take itself for the leader for up to twenty seconds.
const LOST: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Read {
    servers: Servers,
    from: Option<u64>,
    position: Option<PathBuf>,
    so_far: bool,
    trim: bool,
}

pub(super) fn resolved(flags: flags::Read) -> Result<Read, String> {
    let flags::Read { servers: asked, from, position, so_far, trim } = flags;
    Ok(Read { servers: servers(asked)?, from: from.map(|from| from as u64), position, so_far, trim })
}

impl Read {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("cluster");
        let (log, interrupts) = match self.servers.open_until_a_signal(&complaints) {
            Ok(opened) => opened,
            Err(outcome) => return outcome,
        };
        Output::opened(&complaints, |output| {
            let reading = Reading { read: &self, log: &log, output, interrupts: &interrupts, complaints: &complaints };
            match reading.print() {
                Ok(()) => interrupts.first().map_or(Outcome::Done, Outcome::Interrupted),
                Err(outcome) => outcome,
            }
        })
    }
}

struct Reading<'a> {
    read: &'a Read,
    log: &'a JetStream,
    output: Output,
    interrupts: &'a Interrupts,
    complaints: &'a Complaints,
}

impl Reading<'_> {
    fn print(mut self) -> Result<(), Outcome> {
        let mut position = self.position()?;
        let mut quiet = Silence::new();
        let until = match self.read.so_far {
            true => {
                let last = answered(|| self.log.last(App::OUTPUT));
                Some(last.map_err(|error| log_failed(&error, self.complaints))?)
            }
            false => None,
        };
        let begins = position.as_ref().map_or(self.read.from.unwrap_or(1), Position::next);
        // The batch before is read again: it shows that the edge is the same one, and whether it is the last.
        let again = position.as_ref().filter(|position| position.has_begun()).map(|_| begins - 1);
        // A reader that died may have printed batches that it has not trimmed.
        let trimmed = if again.is_some() { 0 } else { begins - 1 };
        let (mut next, mut trimmed, mut ended) = (again.unwrap_or(begins), trimmed, false);
        while self.interrupts.first().is_none() && until.is_none_or(|until| next <= until) {
            let (entries, why) = match self.log.read_from(App::OUTPUT, next, AT_ONCE) {
                Ok(entries) => (entries, None),
                Err(LogError::Unavailable(why)) => (Vec::new(), Some(why)),
                Err(error) => return Err(log_failed(&error, self.complaints)),
            };
            if entries.is_empty() {
                self.is_there(&mut quiet, why)?;
                self.log.wait(PAUSE);
            } else {
                quiet = Silence::new();
            }
            let before = next.max(begins);
            for Entry { number, bytes } in entries {
                let batch = Batch::<Text>::from_bytes(&bytes).map_err(|error| {
                    self.complaints.complain(&format!("batch {number}: {error}"));
                    Outcome::InputOrOutputFailed
                })?;
                ended |= batch.end;
                if Some(number) == again {
                    if let Some(position) = position.as_ref().filter(|position| !position.is_last(&bytes)) {
                        return Err(self.is_another(position, &format!("batch {number} of the edge is another one")));
                    }
                    next = begins;
                    continue;
                }
                if number > next.max(begins) {
                    self.lacks(next.max(begins), number, begins, position.as_ref())?;
                }
                let text: Vec<u8> = batch.values.iter().flat_map(|(_, text)| text.0.iter().copied()).collect();
                self.output.write(&text);
                next = number + 1;
                if let Some(position) = &mut position {
                    position.printed(number, &bytes, &text);
                }
            }
            if let Some(position) = position.as_mut().filter(|_| next > before) {
                position.save().map_err(|unfit| self.unfit(unfit))?;
            }
            // The last batch stays, and shows where the edge ends. A trim without an answer is tried again, also when
            // nothing comes: a full edge gets no batch before it.
            if self.read.trim && next >= begins && next - 1 > trimmed {
                match self.log.trim(App::OUTPUT, next - 1) {
                    Ok(()) => trimmed = next - 1,
                    Err(LogError::Unavailable(_)) => {}
                    Err(error) => return Err(log_failed(&error, self.complaints)),
                }
            }
            if ended {
                return Ok(());
            }
        }
        if position.is_none() {
            self.complaints.note(&format!("stopped before batch {next}: `--from {next}` goes on there"));
        }
        Ok(())
    }

    /// Looks for the application from time to time while nothing comes, for this reason if there is one.
    fn is_there(&self, quiet: &mut Silence, mut why: Option<String>) -> Result<(), Outcome> {
        if !quiet.presence.is_due() {
            return Ok(());
        }
        match quiet.presence.look(self.log) {
            Ok(()) if quiet.presence.is_missed() => why = None,
            Ok(()) => {}
            Err(LogError::Unavailable(silent)) => _ = why.get_or_insert(silent),
            Err(error) => return Err(log_failed(&error, self.complaints)),
        }
        if quiet.presence.is_removed() {
            return Err(removed(&self.read.servers.access.app, "reader", self.complaints));
        }
        quiet.note(why, self.complaints);
        Ok(())
    }

    /// The place of `--position`, in an edge that goes that far.
    fn position(&self) -> Result<Option<Position>, Outcome> {
        let Some(path) = &self.read.position else { return Ok(None) };
        let (app, from) = (&self.read.servers.access.app, self.read.from.unwrap_or(1));
        let position = Position::open(path, app, from, self.complaints).map_err(|unfit| self.unfit(unfit))?;
        let (mut quiet, mut short) = (Silence::new(), None);
        // An old copy of the edge may answer first.
        while position.has_begun() && self.interrupts.first().is_none() {
            let had = position.next() - 1;
            let why = match self.log.last(App::OUTPUT) {
                Ok(last) if last >= had => break,
                Ok(last) if short.get_or_insert_with(Instant::now).elapsed() > LOST => {
                    return Err(self.is_short(&position, last));
                }
                Ok(last) => format!("the edge ends with batch {last}, and had batch {had}"),
                Err(LogError::Unavailable(why)) => {
                    short = None;
                    why
                }
                Err(error) => return Err(log_failed(&error, self.complaints)),
            };
            self.is_there(&mut quiet, Some(why))?;
            std::thread::sleep(PAUSE);
        }
        Ok(Some(position))
    }

    fn unfit(&self, Unfit(why, outcome): Unfit) -> Outcome {
        self.complaints.complain(&why);
        outcome
    }

    /// Says that the edge is not the one whose place is noted.
    fn is_another(&self, position: &Position, why: &str) -> Outcome {
        let (file, next) = (position.shown(), position.next());
        self.complaints.complain(&format!(
            "--position: {file} notes batch {next} as the next, but {why}: this is another application of that name; \
             remove {file} to read it from its beginning"
        ));
        Outcome::WrongUse
    }

    /// Says that the edge has lost batches that were printed, as a worker says it of its edges.
    fn is_short(&self, position: &Position, last: u64) -> Outcome {
        let (file, had) = (position.shown(), position.next() - 1);
        self.complaints.complain(&format!(
            "--position: the edge ends with batch {last}, and had batch {had}, which {file} notes: its servers have \
             lost the batches between, or the application was removed and made again; once it has them again, go on; \
             or remove {file} to read it from its beginning"
        ));
        Outcome::InputOrOutputFailed
    }

    /// Says which batches were dropped. That is an error, except at the beginning of a reader that asked for none.
    fn lacks(&self, from: u64, kept: u64, begins: u64, position: Option<&Position>) -> Result<(), Outcome> {
        let dropped = match kept - from {
            1 => format!("batch {from} was dropped from the edge"),
            _ => format!("batches {from} to {} were dropped from the edge", kept - 1),
        };
        let has_begun = position.is_some_and(Position::has_begun);
        if self.read.from.is_none() && from == begins && !has_begun {
            self.complaints.note(&format!("begins with batch {kept}, the first that is kept: {dropped}"));
            return Ok(());
        }
        self.complaints.complain(&match position.filter(|_| has_begun) {
            Some(position) => format!(
                "--position: {dropped}, and not printed here: has another reader trimmed it? The first that is kept \
                 is {kept}: to go on there, in a new output, remove {} and write `--from {kept}`",
                position.shown()
            ),
            None => format!("{dropped}: the first that is kept is {kept}: write `--from {kept}`"),
        });
        Err(Outcome::InputOrOutputFailed)
    }
}

/// A time in which nothing comes.
struct Silence {
    presence: Presence,
    /// Since when the servers do not answer, if they do not.
    since: Option<Instant>,
    said: bool,
}

impl Silence {
    fn new() -> Self {
        Silence { presence: Presence::new(), since: None, said: false }
    }

    fn note(&mut self, why: Option<String>, complaints: &Complaints) {
        let Some(why) = why else {
            (self.since, self.said) = (None, false);
            return;
        };
        if self.since.get_or_insert_with(Instant::now).elapsed() > SOON && !self.said {
            self.said = true;
            complaints.note(&format!("waiting for the servers: {why}"));
        }
    }
}
