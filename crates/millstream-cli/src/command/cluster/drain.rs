//! `cluster drain`: ends the input and waits for the output.

use super::feed::Waits;
use super::presence::{Presence, removed};
use super::servers::{Servers, log_failed};
use super::status::Alarm;
use crate::message::Complaints;
use crate::outcome::Outcome;
use millstream_cluster::{App, Batch, FeedError, FeedWait, Feeder, JetStream, Log, LogError, Text};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time between two looks at the output.
const PAUSE: Duration = Duration::from_millis(50);
/// The time after which a message says that the output does not grow.
const SOON: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Drain {
    pub(super) servers: Servers,
    pub(super) within: Option<Duration>,
}

impl Drain {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("cluster");
        let (log, interrupts) = match self.servers.open_until_a_signal(&complaints) {
            Ok(opened) => opened,
            Err(outcome) => return outcome,
        };
        let begun = Instant::now();
        let goes_on = || interrupts.first().is_none() && self.within.is_none_or(|within| begun.elapsed() < within);
        let mut waits = Waits::new(&log, &interrupts, &complaints);
        let ended = ended(&log, &mut |wait| waits.goes_on(wait) && goes_on());
        let mut presence = Presence::new();
        let waited = ended.and_then(|()| complete(&log, &mut presence, &goes_on, &complaints));
        match (waited, interrupts.first()) {
            (Ok(true), _) => Outcome::Done,
            (Err(FeedError::Stopped) | Ok(false), _) if waits.is_removed() || presence.is_removed() => {
                removed(&self.servers.access.app, "drain", &complaints)
            }
            (Err(FeedError::Stopped) | Ok(false), Some(signal)) => Outcome::Interrupted(signal),
            (Err(FeedError::Stopped) | Ok(false), None) => {
                complaints.complain("the output was not complete within the time of --within");
                Outcome::InputOrOutputFailed
            }
            (Err(FeedError::Log(error)), _) => log_failed(&error, &complaints),
            (Err(error), _) => {
                complaints.complain(&error.to_string());
                Outcome::InputOrOutputFailed
            }
        }
    }
}

fn ended(log: &JetStream, waits: &mut dyn FnMut(&FeedWait) -> bool) -> Result<(), FeedError> {
    match Feeder::new(log.clone(), false, waits) {
        Ok(mut feeder) => feeder.end(waits),
        Err(FeedError::Ended(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Waits for the last batch of the output. Returns false if the time runs out, or the application was removed.
fn complete(
    log: &JetStream,
    presence: &mut Presence,
    goes_on: &impl Fn() -> bool,
    complaints: &Complaints,
) -> Result<bool, FeedError> {
    let (mut grown, mut last, mut said) = (Instant::now(), 0, false);
    while goes_on() && !presence.is_removed() {
        if presence.is_due() {
            match presence.look(log) {
                Ok(()) | Err(LogError::Unavailable(_)) => {}
                Err(error) => return Err(FeedError::Log(error)),
            }
        }
        let now = match log.last(App::OUTPUT) {
            Ok(now) => now,
            Err(LogError::Unavailable(_)) => last,
            Err(error) => return Err(FeedError::Log(error)),
        };
        if now > last {
            (grown, last) = (Instant::now(), now);
            let entries = match log.read_from(App::OUTPUT, now, 1) {
                Ok(entries) => entries,
                Err(LogError::Unavailable(_)) => Vec::new(),
                Err(error) => return Err(FeedError::Log(error)),
            };
            // `read` reports a batch of another program.
            if entries.iter().any(|entry| Batch::<Text>::from_bytes(&entry.bytes).is_ok_and(|batch| batch.end)) {
                return Ok(true);
            }
            if entries.is_empty() {
                last = 0;
            }
        } else if grown.elapsed() > SOON && !said && !presence.is_missed() {
            said = true;
            complaints.note(&match Alarm::first(log) {
                Some(alarm) => format!("the output does not grow: {alarm}"),
                None => "the output does not grow: check with `cluster status` that a worker is at work".to_owned(),
            });
        }
        sleep(PAUSE);
    }
    Ok(false)
}
