//! A service passes to a new process: `--take-over`.

use super::super::keep::offered::named;
use super::super::{Failed, Runs};
use super::took_over::{Followed, TookOver, in_words};
use super::{FollowingOf, LOOK, Refused, Serves, Serving, Started, doing};
use crate::config::Keep;
use crate::message::quoted;
use crate::outcome::Outcome;
use millstream_core::AnyEdge;
use millstream_exec::BoxShape;
use millstream_net::http::Server;
use millstream_net::http::hand_over::{self, HandOverError, HandedOver, Offer, Predecessor, Settled, Successor};
use millstream_state::{Follower, JobError, StateDir, StateError};
use std::time::{Duration, Instant};

/// The time limit for the old process to answer open requests, and let its state go.
const LETS_GO_WITHIN: Duration = Duration::from_secs(60);

/// The time limit for the new process to open the state, and be ready to answer.
pub(super) const UP_WITHIN: Duration = Duration::from_secs(30);

/// The time limit for the state of a killed process to become free, or for another process to offer it.
const FOUND_WITHIN: Duration = Duration::from_secs(10);

/// The interval between checks whether the state is free.
const AGAIN: Duration = Duration::from_millis(20);

/// The new process is close to the old one if it can read everything that the old one has written within this time.
const CLOSE: Duration = Duration::from_millis(100);

/// If following takes longer, a message reports it.
const SAID_AFTER: Duration = Duration::from_secs(2);

/// How often the new process begins again, at a newer snapshot, because the old one has removed what it was reading.
const MOST_LEFT_BEHIND: u32 = 5;

/// The time limit for the answer to a request on an old connection.
const FORWARDED_WITHIN: Duration = Duration::from_secs(30);

/// A run of a service, and the process that had the service before.
type First<S> = (Option<Before>, Started<S>);

/// The process that had the service before, how this process followed it, and when it asked.
pub(super) struct Before {
    pub(super) process: Predecessor,
    followed: Option<Followed>,
    asked: Instant,
}

/// The offer to other processes, and how this process took over.
type Offered = (Option<Offer>, Option<TookOver>);

/// A service that another process has now, that process's name, and how long clients waited for it.
pub(in crate::deploy) type Away = (HandedOver, String, Duration);

impl Runs {
    /// Starts the run. If this process is to take over, the run begins where the old process's ended.
    pub(super) fn first<S>(&self, service: &S) -> Result<Result<First<S>, Failed>, Refused>
    where
        S: Serves,
        AnyEdge<S::Request>: BoxShape,
    {
        let take_over = self.config.keep.as_ref().is_some_and(|keep| keep.take_over);
        let (mut following, since) = (None, Instant::now());
        if take_over {
            match self.follow(service)? {
                Ok(followed) => following = followed,
                Err(failed) => return Ok(Err(failed)),
            }
        }
        let followed = following.as_ref().map(|following| Followed { took: since.elapsed(), to: following.reached() });
        let since = Instant::now();
        loop {
            let asked = Instant::now();
            let process = if take_over { self.before()? } else { None };
            let before = process.map(|process| Before { process, followed, asked });
            let is_alone = take_over && before.is_none();
            match self.start_or_own(service, &mut following) {
                // The old process was killed, or another process is about to offer its service.
                Err(failed) if is_alone && is_in_use(&failed) && since.elapsed() < FOUND_WITHIN => {
                    std::thread::sleep(AGAIN);
                }
                started => {
                    if is_alone && started.is_ok() {
                        self.say("--take-over: no process has this state, so nothing is taken over");
                    }
                    return Ok(started.map(|started| (before, started)));
                }
            }
        }
    }

    /// Starts a run, or goes on with the one that has followed.
    fn start_or_own<S>(&self, service: &S, following: &mut Option<FollowingOf<S>>) -> Result<Started<S>, Failed>
    where
        S: Serves,
        AnyEdge<S::Request>: BoxShape,
    {
        let (Some(keep), true) = (&self.config.keep, following.is_some()) else { return self.start(service) };
        let dir = StateDir::open(&keep.dir, doing(keep).1).map_err(JobError::State)?;
        let Some(following) = following.take() else { return self.start(service) };
        let (client, run) = following.own(dir)?;
        Ok((client, Serving::Kept(Box::new(run))))
    }

    /// A run that has read what the process with the service has written, while that process serves. `None` if there is
    /// nothing to read, or another program has the directory.
    fn follow<S: Serves>(&self, service: &S) -> Result<Result<Option<FollowingOf<S>>, Failed>, Refused> {
        let Some(keep) = self.config.keep.as_ref().filter(|keep| is_ours(keep)) else { return Ok(Ok(None)) };
        let mut left_behind = 0;
        loop {
            let followed = match self.beside(service, keep) {
                Ok(Some(mut following)) => self.catch_up(&mut following)?.map(|()| following),
                Ok(None) => return Ok(Ok(None)),
                Err(error) => Err(error),
            };
            match followed {
                Err(error) if error.is_left_behind() && left_behind < MOST_LEFT_BEHIND => left_behind += 1,
                Err(error) if error.is_left_behind() => {
                    let why = format!(
                        "--take-over: the other process removes its state faster than this one reads it: {error}"
                    );
                    return Err((why, Outcome::InputOrOutputFailed));
                }
                Err(error) => return Ok(Err(error.into())),
                Ok(following) => return Ok(Ok(Some(following))),
            }
        }
    }

    /// Follows until the rest takes little time to read. If the other process is fast, follows until a round takes no
    /// less time than the one before.
    pub(in crate::deploy) fn catch_up<O: Send>(
        &self,
        follower: &mut Follower<O>,
    ) -> Result<Result<(), JobError>, Refused> {
        let (since, mut last, mut said) = (Instant::now(), Duration::MAX, false);
        loop {
            let round = Instant::now();
            while !follower.catches_up(LOOK) {
                if let Err(error) = follower.check() {
                    return Ok(Err(error));
                }
                if let Some(signal) = self.interrupts.first() {
                    let why = "--take-over: interrupted before the take-over".to_owned();
                    return Err((why, Outcome::Interrupted(signal)));
                }
                if !said && since.elapsed() > SAID_AFTER {
                    said = true;
                    self.say(&format!("--take-over: following the other process, at number {}", follower.reached()));
                }
            }
            let took = round.elapsed();
            if took < CLOSE || took >= last {
                return Ok(Ok(()));
            }
            last = took;
        }
    }

    /// Asks the process that has the service for it, and returns that process once it has let it go.
    fn before(&self) -> Result<Option<Predecessor>, Refused> {
        // Does not disturb another program: the start reports whose state it is.
        let Some(keep) = self.config.keep.as_ref().filter(|keep| is_ours(keep)) else { return Ok(None) };
        match hand_over::ask(&keep.dir, LETS_GO_WITHIN) {
            Ok(before) => Ok(before),
            // The process was killed, so its state is free.
            Err(HandOverError::Gone) => Ok(None),
            Err(error) => {
                let dir = quoted(keep.dir.as_os_str());
                Err((format!("--take-over: the process that has {dir}: {error}"), Outcome::InputOrOutputFailed))
            }
        }
    }

    /// Lets other processes take over. If this process takes over itself, begins.
    pub(super) fn offer(&self, server: &Server, before: Option<Before>, at: u64) -> Result<Offered, Refused> {
        let Some(keep) = &self.config.keep else { return Ok((None, None)) };
        let Some(Before { process, followed, asked }) = before else {
            return match server.offer(&keep.dir) {
                Ok(offer) => Ok((Some(offer), None)),
                Err(error) => {
                    self.say(&format!("--state: no process can take over from this one: {error}"));
                    Ok((None, None))
                }
            };
        };
        let of = named(process.process());
        let offer = process.up(server, UP_WITHIN).map_err(|error| {
            (format!("--take-over: {of} does not let this process begin: {error}"), Outcome::InputOrOutputFailed)
        })?;
        let took_over = TookOver { at, followed, paused: asked.elapsed() };
        self.say(&format!("took over from {of} {took_over}"));
        Ok((Some(offer), Some(took_over)))
    }

    /// Waits for a process that wants to take over; `None` if the service must end.
    pub(super) fn asked(&self, serving: &Serving, offer: Option<&Offer>) -> Option<Successor> {
        while self.interrupts.first().is_none() && !serving.is_finished() {
            if let Some(successor) = offer.and_then(|offer| offer.asked(Duration::ZERO)) {
                return Some(successor);
            }
            self.interrupts.wait_at_most(LOOK);
        }
        None
    }

    /// Hands a service over to a process that begins within this time. Its requests are held, and its state is free.
    /// `None` if this process must go on, or must end because `ends` is true.
    pub(in crate::deploy) fn hands_over(
        &self,
        server: &Server,
        offer: &mut Option<Offer>,
        successor: Successor,
        (left, held): (u64, Instant),
        (within, ends): (Duration, &dyn Fn() -> bool),
    ) -> Option<Away> {
        let offered = offer.as_ref()?;
        let to = named(successor.process());
        if left > 0 {
            self.say(&format!("{left} requests were not answered in time, and were refused"));
        }
        match successor.hand_over_unless(server, offered, within, ends) {
            Ok(handed_over) => Some((handed_over, to, held.elapsed())),
            Err(_) if ends() => None,
            Err(error) => {
                self.say(&format!("{to} did not take over, so this process goes on: {error}"));
                None
            }
        }
    }

    /// Forwards requests until no connection is left. `false` if this process must go on.
    pub(in crate::deploy) fn forwards(
        &self,
        server: &Server,
        offer: &mut Option<Offer>,
        (handed_over, to, paused): Away,
        idle: Duration,
    ) -> bool {
        let Some(offered) = offer.take() else { return false };
        loop {
            match handed_over.settled(server, &offered, LOOK) {
                Settled::Yes => break,
                Settled::Lost => {
                    self.say(&format!("{to} ended before its take-over was complete, so this process goes on"));
                    *offer = Some(offered);
                    return false;
                }
                _ if self.interrupts.first().is_some() => break,
                _ => {}
            }
        }
        // The process before this one must not go on either.
        offered.settle();
        // A process that asks from now on must reach only the other process.
        drop(offered);
        let (paused, open) = (in_words(paused), server.counters().open());
        self.say(&format!("handed over to {to} after a pause of {paused}; {open} connections are left"));
        let since = Instant::now();
        while server.counters().open() > 0 && since.elapsed() < idle.saturating_add(FORWARDED_WITHIN) {
            if self.interrupts.first().is_some() {
                break;
            }
            self.interrupts.wait_at_most(LOOK);
        }
        true
    }

    /// Starts the run again, as soon as no other process has the state.
    pub(super) fn again<S>(&self, service: &S) -> Result<Started<S>, Failed>
    where
        S: Serves,
        AnyEdge<S::Request>: BoxShape,
    {
        self.when_free(|| self.start(service))
    }

    /// Repeats `start` until it finds the state free, or a signal comes. Returns its last result.
    pub(in crate::deploy) fn when_free<T>(&self, start: impl Fn() -> Result<T, Failed>) -> Result<T, Failed> {
        let since = Instant::now();
        let mut said = false;
        loop {
            match start() {
                Err(failed) if is_in_use(&failed) && self.interrupts.first().is_none() => {
                    if !said && since.elapsed() > FOUND_WITHIN {
                        said = true;
                        self.say(&format!("requests are not answered: {failed}"));
                    }
                    self.interrupts.wait_at_most(AGAIN);
                }
                started => return started,
            }
        }
    }
}

/// Whether the directory belongs to this program, or is new.
fn is_ours(keep: &Keep) -> bool {
    !StateDir::read(&keep.dir).is_ok_and(|dir| dir.program() != doing(keep).1)
}

fn is_in_use(failed: &Failed) -> bool {
    matches!(failed, Failed::Job(JobError::State(StateError::InUse { .. })))
}
