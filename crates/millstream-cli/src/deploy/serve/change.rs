//! The change of a service to a new process: `--take-over`.

use super::super::{Failed, Runs};
use super::{LOOK, Refused, Serves, Serving, Started};
use crate::config::{Doing, Keep};
use crate::message::quoted;
use crate::outcome::Outcome;
use millstream_core::AnyEdge;
use millstream_exec::BoxShape;
use millstream_net::http::Server;
use millstream_net::http::hand_over::{self, HandOverError, Offer, Predecessor, Settled, Successor};
use millstream_state::{JobError, StateDir, StateError};
use std::fmt::Display;
use std::time::{Duration, Instant};

/// The time in which the old process answers what it has, and lets its state go.
const LETS_GO_WITHIN: Duration = Duration::from_secs(60);

/// The time in which the new process opens the state, and could answer.
const UP_WITHIN: Duration = Duration::from_secs(30);

/// The time in which the state of a process that was killed becomes free, or another one offers it.
const FOUND_WITHIN: Duration = Duration::from_secs(10);

/// The time between two looks at whether it is.
const AGAIN: Duration = Duration::from_millis(20);

/// A request on an old connection has at most this time for its answer.
const FORWARDED_WITHIN: Duration = Duration::from_secs(30);

/// A run of a service, and the process that had the service before.
type First<S> = (Option<Predecessor>, Started<S>);

impl Runs {
    /// Starts the run, where that of the old process was if this one is to take over.
    pub(super) fn first<S>(&self, service: &S, take_over: bool) -> Result<Result<First<S>, Failed>, Refused>
    where
        S: Serves,
        AnyEdge<S::Request>: BoxShape,
    {
        let since = Instant::now();
        loop {
            let before = if take_over { self.before()? } else { None };
            let is_alone = take_over && before.is_none();
            match self.start(service) {
                // The old process was killed, or another one is about to offer its service.
                Err(failed) if is_alone && is_in_use(&failed) && since.elapsed() < FOUND_WITHIN => {
                    std::thread::sleep(AGAIN);
                }
                started => {
                    if is_alone && started.is_ok() {
                        self.note("--take-over: no process has this state, so nothing is taken over");
                    }
                    return Ok(started.map(|started| (before, started)));
                }
            }
        }
    }

    /// The process that has the service, when it has let it go.
    fn before(&self) -> Result<Option<Predecessor>, Refused> {
        let Some(keep @ Keep { doing: Doing::Run { program, .. }, .. }) = &self.config.keep else { return Ok(None) };
        // Another program is not disturbed: the start says whose state it is.
        if StateDir::read(&keep.dir).is_ok_and(|dir| dir.program() != program) {
            return Ok(None);
        }
        match hand_over::ask(&keep.dir, LETS_GO_WITHIN) {
            Ok(before) => Ok(before),
            // It was killed. Its state is free.
            Err(HandOverError::Gone) => Ok(None),
            Err(error) => {
                let dir = quoted(keep.dir.as_os_str());
                Err((format!("--take-over: the process that has {dir}: {error}"), Outcome::InputOrOutputFailed))
            }
        }
    }

    /// Lets other processes take over, and begins where this one does.
    pub(super) fn offer(&self, server: &Server, before: Option<Predecessor>) -> Result<Option<Offer>, Refused> {
        let Some(keep) = &self.config.keep else { return Ok(None) };
        let Some(before) = before else {
            return match server.offer(&keep.dir) {
                Ok(offer) => Ok(Some(offer)),
                Err(error) => {
                    self.note(&format!("--state: no process can take over from this one: {error}"));
                    Ok(None)
                }
            };
        };
        let of = process(before.process());
        let offer = before.up(server, UP_WITHIN).map_err(|error| {
            (format!("--take-over: {of} does not let this one begin: {error}"), Outcome::InputOrOutputFailed)
        })?;
        self.note(&format!("took over from {of}"));
        Ok(Some(offer))
    }

    /// Waits for a process that wants to take over; none if the service has to end.
    pub(super) fn asked(&self, serving: &Serving, offer: Option<&Offer>) -> Option<Successor> {
        while self.interrupts.first().is_none() && !serving.is_finished() {
            if let Some(successor) = offer.and_then(|offer| offer.asked(Duration::ZERO)) {
                return Some(successor);
            }
            self.interrupts.wait_at_most(LOOK);
        }
        None
    }

    /// Hands a service over whose requests are held and whose run has ended, and forwards requests until no connection
    /// is left. `false` if this process has to go on.
    pub(super) fn hands_over(
        &self,
        server: &Server,
        offer: &mut Option<Offer>,
        successor: Successor,
        left: u64,
        idle: Duration,
    ) -> bool {
        let Some(offered) = offer.take() else { return false };
        let to = process(successor.process());
        if left > 0 {
            self.note(&format!("{left} requests were not answered in time, and were refused"));
        }
        let handed_over = match successor.hand_over(server, &offered, UP_WITHIN) {
            Ok(handed_over) => handed_over,
            Err(error) => {
                self.note(&format!("{to} did not take over, and this one goes on: {error}"));
                *offer = Some(offered);
                return false;
            }
        };
        loop {
            match handed_over.settled(server, &offered, LOOK) {
                Settled::Yes => break,
                Settled::Lost => {
                    self.note(&format!("{to} has ended before it answered anything, and this one goes on"));
                    *offer = Some(offered);
                    return false;
                }
                _ if self.interrupts.first().is_some() => break,
                _ => {}
            }
        }
        // A process that asks from now on reaches the other one alone.
        drop(offered);
        self.note(&format!("handed over to {to}; {} connections are left", server.counters().open()));
        let since = Instant::now();
        while server.counters().open() > 0 && since.elapsed() < idle + FORWARDED_WITHIN {
            if self.interrupts.first().is_some() {
                break;
            }
            self.interrupts.wait_at_most(LOOK);
        }
        true
    }

    /// Starts the run again, when no other process has the state.
    pub(super) fn again<S>(&self, service: &S) -> Result<Started<S>, Failed>
    where
        S: Serves,
        AnyEdge<S::Request>: BoxShape,
    {
        let since = Instant::now();
        let mut said = false;
        loop {
            match self.start(service) {
                Err(failed) if is_in_use(&failed) && self.interrupts.first().is_none() => {
                    if !said && since.elapsed() > FOUND_WITHIN {
                        said = true;
                        self.note(&format!("nothing is answered: {failed}"));
                    }
                    self.interrupts.wait_at_most(AGAIN);
                }
                started => return started,
            }
        }
    }

    fn note(&self, text: &str) {
        if !self.config.quiet {
            self.complaints.note(text);
        }
    }
}

fn is_in_use(failed: &Failed) -> bool {
    matches!(failed, Failed::Job(JobError::State(StateError::InUse { .. })))
}

/// A process in words.
fn process(number: Option<u32>) -> impl Display {
    number.map_or("the other process".to_owned(), |number| format!("process {number}"))
}
