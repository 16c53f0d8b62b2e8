//! `cluster feed`: appends text to the ingress edge.

use super::presence::{Presence, removed};
use super::servers::{Servers, servers};
use crate::flags;
use crate::input::{Opening, never_waits, report};
use crate::interrupts::{Interrupts, is_end};
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::progress::{self, Writes};
use bytes::Bytes;
use memchr::memrchr;
use millstream_cluster::{FeedError, FeedWait, Feeder, JetStream};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::thread;
use std::time::{Duration, Instant};

/// The longest line with its end: servers take messages of up to 1 MiB.
const LONGEST: usize = 768 << 10;
/// The time between two looks at servers that do not answer, and the first one at a full edge.
const LOOKS_AGAIN: Duration = Duration::from_millis(20);
/// The longest time between two looks at a full edge. Each sends it the whole batch.
const LOOKS_LATER: Duration = Duration::from_millis(500);
/// The time after which a message reports a wait.
const SOON: Duration = Duration::from_secs(1);
/// What makes room in a full edge.
const FULL: &str = "the input edge is full: the workers' next snapshot makes room. They wait as long as the output is \
                    full; and a program without snapshots (`Program::lasting`) stores none: for it, `cluster apply \
                    --capacity` makes room";

#[derive(Debug)]
pub(crate) struct Feed {
    servers: Servers,
    files: Vec<OsString>,
    resume: bool,
    end: bool,
    batch: usize,
}

pub(super) fn resolved(flags: flags::Feed) -> Result<Feed, String> {
    let flags::Feed { files, servers: asked, resume, end, batch } = flags;
    if batch > LONGEST {
        return Err("--batch: at most 768K".to_owned());
    }
    let files = if files.is_empty() { vec!["-".into()] } else { files };
    Ok(Feed { servers: servers(asked)?, files, resume, end, batch })
}

/// The text that is fed.
struct Feeds<'a> {
    /// `None` if the input has ended already, which is right if it has all of the text.
    feeder: Option<Feeder<JetStream>>,
    /// The number of bytes that the edge had at the beginning.
    had: u64,
    /// How many bytes to skip.
    skips: u64,
    /// The text that is read, but not appended yet. A batch has at most `batch` bytes in whole lines, or a longer line.
    kept: Vec<u8>,
    batch: usize,
    /// Whether a part of the input is missing: what is after it would have another place than in the input.
    cut: bool,
    interrupts: Interrupts,
    complaints: Complaints,
    waits: &'a mut Waits,
}

impl Feed {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("cluster");
        let (log, interrupts) = match self.servers.open_until_a_signal(&complaints) {
            Ok(opened) => opened,
            Err(outcome) => return outcome,
        };
        progress::begin("feed", &self.files, false, Writes::Lines);
        let mut waits = Waits::new(&log, &interrupts, &complaints);
        let feeder = match Feeder::new(log, self.resume, &mut |wait| waits.goes_on(wait)) {
            Ok(feeder) => Ok((feeder.position(), Some(feeder))),
            Err(FeedError::Ended(had)) if self.resume => Ok((had, None)),
            Err(error) => Err(error),
        };
        let outcome = feeder.and_then(|(had, feeder)| {
            let skips = if self.resume { had } else { 0 };
            let (interrupts, complaints) = (interrupts.clone(), complaints.clone());
            let (kept, batch, cut) = (Vec::new(), self.batch, false);
            let waits = &mut waits;
            Feeds { feeder, had, skips, kept, batch, cut, interrupts, complaints, waits }.all(&self)
        });
        progress::end();
        match (outcome, interrupts.first()) {
            (Err(FeedError::Stopped), _) if waits.is_removed() => {
                removed(&self.servers.access.app, "feed", &complaints)
            }
            (Ok(()) | Err(FeedError::Stopped), Some(signal)) => Outcome::Interrupted(signal),
            (Ok(()), None) if complaints.any() => Outcome::InputOrOutputFailed,
            (Ok(()), None) => Outcome::Done,
            (Err(error), _) => {
                complaints.complain(&error.to_string());
                Outcome::InputOrOutputFailed
            }
        }
    }
}

impl Feeds<'_> {
    fn all(mut self, feed: &Feed) -> Result<(), FeedError> {
        for name in &feed.files {
            if let Err(error) = self.file(name)? {
                report(&self.complaints, name, &error);
                if !std::mem::replace(&mut self.cut, true) && feed.files.len() > 1 {
                    self.complaints.note("nothing after it is fed: `--resume` goes on there");
                }
            }
            if self.cut {
                break;
            }
        }
        // The last line may be a part of one, of which `--resume` brings the rest, unless the input has ended.
        if self.cut || feed.resume && !feed.end && self.feeder.is_some() {
            let whole = memrchr(b'\n', &self.kept).map_or(0, |end| end + 1);
            if whole < self.kept.len() && !self.cut {
                self.complaints.note(
                    "--resume: the last line has no end yet, and is not fed: the next `--resume` feeds it once it has, \
                     and `--end` feeds it as it is",
                );
            }
            self.kept.truncate(whole);
        }
        if !self.kept.is_empty() {
            self.append(self.kept.len())?;
        }
        if self.skips > 0 && !self.cut {
            let why = format!(
                "--resume: this input is {} bytes shorter than what the edge already got: feed the same input, from its beginning",
                self.skips
            );
            self.complaints.complain(&why);
        }
        let fed = self.skips == 0 && !self.cut;
        match &mut self.feeder {
            Some(feeder) if feed.end && fed => feeder.end(&mut |wait| self.waits.goes_on(wait))?,
            None if fed => {
                self.complaints
                    .note(&format!("--resume: the edge has all {} bytes of this input, and its end", self.had));
            }
            _ => {}
        }
        Ok(())
    }

    /// A file, unless a signal cuts it; the inner error is the file's.
    fn file(&mut self, name: &OsStr) -> Result<io::Result<()>, FeedError> {
        let opening = Opening { interrupts: Some(self.interrupts.clone()), watched: true, ..Opening::default() };
        let mut file = match opening.open(name) {
            Ok(Some(file)) => file,
            Ok(None) => {
                self.cut = true;
                return Ok(Ok(()));
            }
            Err(error) => return Ok(Err(error)),
        };
        let (whole, mut buffer) = (never_waits(name), vec![0; self.batch.max(1 << 16)]);
        let mut ends = 0;
        loop {
            if self.interrupts.first().is_some() {
                self.cut = true;
                return Ok(Ok(()));
            }
            let read = match file.read(&mut buffer) {
                Ok(0) => return Ok(Ok(())),
                Ok(read) => read,
                // A signal came.
                Err(error) if is_end(&error) => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Err(error)),
            };
            ends += line_ends(&buffer[..read]);
            let skipped = usize::try_from(self.skips).map_or(read, |skips| skips.min(read));
            self.skips -= skipped as u64;
            self.kept.extend(&buffer[skipped..read]);
            // Text that arrives slowly is not held back, also if a full buffer is all that has come.
            let goes_on = whole || read == buffer.len() && file.has_come();
            let least = if goes_on { self.batch } else { 1 };
            while let Some(end) = self.lines(least) {
                self.append(end)?;
            }
            if self.kept.len() > LONGEST {
                let line = ends - line_ends(&self.kept) + 1;
                (self.kept, self.cut) = (Vec::new(), true);
                let why = "is longer than 768 KiB: all before it is fed, neither it nor anything after it is";
                return Ok(Err(io::Error::other(format!("line {line} {why}"))));
            }
        }
    }

    /// The end of the first lines with at least this many bytes, within the limit of a batch.
    fn lines(&self, least: usize) -> Option<usize> {
        if self.kept.len() < least {
            return None;
        }
        let most = self.kept.len().min(self.batch);
        match memrchr(b'\n', &self.kept[..most]) {
            Some(end) => Some(end + 1),
            // A longer line is a batch of its own.
            None => memchr::memchr(b'\n', &self.kept).map(|end| end + 1).filter(|end| *end <= LONGEST),
        }
    }

    fn append(&mut self, end: usize) -> Result<(), FeedError> {
        let rest = self.kept.split_off(end);
        let text = Bytes::from(std::mem::replace(&mut self.kept, rest));
        let (feeder, waits) = (self.feeder.as_mut().ok_or(FeedError::Ended(self.had))?, &mut *self.waits);
        waits.next = LOOKS_AGAIN;
        let mut waited = false;
        let appended = feeder.append(text, &mut |wait| {
            waited = true;
            waits.goes_on(wait)
        });
        if !waited {
            waits.end();
        }
        appended
    }
}

fn line_ends(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// The pauses of a feeder.
pub(super) struct Waits {
    /// When the pauses that are not over began.
    since: Option<Instant>,
    /// How long the next pause for a full edge is.
    next: Duration,
    said: bool,
    presence: Presence,
    log: JetStream,
    interrupts: Interrupts,
    complaints: Complaints,
}

impl Waits {
    pub(super) fn new(log: &JetStream, interrupts: &Interrupts, complaints: &Complaints) -> Self {
        let (log, interrupts, complaints) = (log.clone(), interrupts.clone(), complaints.clone());
        Waits { since: None, next: LOOKS_AGAIN, said: false, presence: Presence::new(), log, interrupts, complaints }
    }

    /// Prints once what the feeder waits for, if that takes long, and pauses. Returns false after a signal, and if the
    /// application [was removed](Waits::is_removed).
    pub(super) fn goes_on(&mut self, wait: &FeedWait) -> bool {
        if matches!(wait, FeedWait::Unavailable(_)) && self.presence.is_due() {
            // Servers that do not answer are what the feeder waits for.
            _ = self.presence.look(&self.log);
        }
        let is_long = self.since.get_or_insert_with(Instant::now).elapsed() > SOON;
        if is_long && !self.said && !self.presence.is_missed() {
            self.said = true;
            self.complaints.note(&match wait {
                FeedWait::Full => FULL.to_owned(),
                FeedWait::Unavailable(why) => format!("waiting for the servers: {why}"),
            });
        }
        thread::sleep(match wait {
            FeedWait::Full => {
                let later = (self.next * 2).min(LOOKS_LATER);
                std::mem::replace(&mut self.next, later)
            }
            FeedWait::Unavailable(_) => LOOKS_AGAIN,
        });
        self.interrupts.first().is_none() && !self.is_removed()
    }

    pub(super) fn is_removed(&self) -> bool {
        self.presence.is_removed()
    }

    /// A batch went in at once.
    fn end(&mut self) {
        (self.since, self.said) = (None, false);
    }
}
