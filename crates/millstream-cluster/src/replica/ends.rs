//! The ends of the edges. A server that lags behind shows an earlier end for a while. An edge that stays shorter than
//! this replica knows it has lost what its servers had acknowledged.

use super::{Call, Replica, Running};
use crate::{Log, ReplicaError, Segment};
use std::time::{Duration, Instant};

/// After this many looks, one a pace, it is lost: ten seconds in a worker.
const LOOKS: u32 = 1_000;
/// After this many looks at an end that went back, what was behind it is lost: half a minute in a worker. A server that
/// the network has cut off from the others may take itself for the leader for up to twenty seconds.
const SHORT: u32 = 3 * LOOKS;
/// An idle replica asks for the end of its input once in this many paces: each second in a worker.
const ASKS: u32 = 100;

/// The looks for something that must be in the log, and that a server which lags behind does not have yet.
#[derive(Clone, Copy, Default)]
pub(super) struct Missing {
    looks: u32,
    last: Option<Instant>,
}

impl Missing {
    /// Counts a look. Returns whether there were at most this many.
    fn looks_again(&mut self, pace: Duration, most: u32) -> bool {
        if self.last.is_none_or(|last| last.elapsed() >= pace) {
            *self = Missing { looks: self.looks + 1, last: Some(Instant::now()) };
        }
        self.looks <= most
    }
}

/// What a replica knows of the ends of its edges.
pub(super) struct Ends {
    /// The looks at an end before the one that it knows.
    input: Missing,
    output: Missing,
    /// When it has asked for the end of its input last.
    asked: Instant,
    /// Whether it asks for it in place of the next read.
    asks: bool,
}

impl Default for Ends {
    fn default() -> Self {
        Ends { input: Missing::default(), output: Missing::default(), asked: Instant::now(), asks: false }
    }
}

impl Ends {
    /// Notes that a read has brought nothing.
    pub(super) fn quiet(&mut self, pace: Duration) {
        self.asks = self.asked.elapsed() >= pace * ASKS;
    }

    /// Whether to ask for the end of the input now.
    pub(super) fn asks(&self) -> bool {
        self.asks
    }
}

impl<S: Segment, L: Log> Replica<S, L> {
    /// Counts a look for something that must be in the log. Returns whether it may still be there.
    pub(super) fn looks_again(&self) -> bool {
        let mut missing = self.missing.get();
        let may_be = missing.looks_again(self.options.pace, LOOKS);
        self.missing.set(missing);
        may_be
    }

    /// Looks whether the input edge has what was read from it. Returns whether to read on.
    pub(super) fn input_ends(&self, running: &mut Running<S::Run>) -> Result<bool, ReplicaError> {
        let last = self.brought(Call::Reads, self.log.last(&self.edges.input))?;
        let (ends, known) = (&mut running.ends, running.begun);
        ends.asked = Instant::now();
        ends.asks = match last {
            Some(last) => self.is_short(&mut ends.input, &self.edges.input, last, known)?,
            None => false,
        };
        Ok(!ends.asks)
    }

    /// Passes over batches that were read and trimmed in the output edge, and over no other: a server that lags behind
    /// may not show yet what the edge has.
    pub(super) fn pass_trimmed(&self, running: &mut Running<S::Run>) -> Result<bool, ReplicaError> {
        let Some(kept) = self.brought(Call::Looks, self.log.kept(&self.edges.output))? else { return Ok(false) };
        let before = running.durable();
        // Nothing can be appended before the edge has what it had: the next look asks again.
        let last = kept.end.saturating_sub(1);
        running.refused = self.is_short(&mut running.ends.output, &self.edges.output, last, before)?;
        while running.durable() + 1 < kept.start && running.waiting.pop_front().is_some() {}
        // What the edge still has is compared before anything is appended after it.
        running.conflict = running.durable() != last;
        if running.conflict && !running.refused {
            running.silent = 0;
        }
        Ok(running.durable() > before)
    }

    /// Whether an edge ends before a batch that was in it. An error if it is so for too long.
    fn is_short(&self, missing: &mut Missing, edge: &str, last: u64, known: u64) -> Result<bool, ReplicaError> {
        if last >= known {
            *missing = Missing::default();
            return Ok(false);
        }
        if missing.looks_again(self.options.pace, SHORT) {
            return Ok(true);
        }
        Err(ReplicaError::Lost { edge: edge.to_owned(), last, known })
    }
}
