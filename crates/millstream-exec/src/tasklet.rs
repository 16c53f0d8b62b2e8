//! A tasklet is a stage at work. What its step claims, it publishes before it returns; and where it shares a worker
//! with others, it never blocks. (A stage that may block has a thread of its own, and so has a source that may wait.)
//!
//! **No deadlock.** Bounded rings cannot deadlock, for any capacity of at least 1, by four rules:
//!
//! - a gate is the next number that its reader needs;
//! - a claim is partial: it takes as many slots as are free;
//! - a claim is taken and finished within one step;
//! - a stage releases number n once it has published n, or sooner.
//!
//! Proof: of all work that is not done, take the least number, and of the stages that have it to do the first in
//! pipeline order. Its inputs are published. Every reader of its output needs a number of at least n next, so there is
//! room. So this stage can run.
//!
//! Three kinds of stage meet the rules in their own way. The ring of states of a loop has at least two slots
//! (`feedback.rs`). A stage of futures and a renumbering stage release an input sooner than the proof needs, when they
//! have made a future or an iterator of it. A stage that writes text waits for its pen as it waits for slots
//! (`ring/text.rs`).

use crate::in_place::InPlace;
use crate::kept::Kept;
use crate::task_probe::TaskProbe;
use millstream_core::SequenceNumber;
use millstream_ring::{Mark, RingEnd};
use std::any::Any;

/// The result of one step: how many numbers moved, and whether the tasklet is done. It fits two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// How many numbers moved, END counted; 0 if nothing could be done.
    pub(crate) moved: usize,
    /// END is published: the tasklet needs no further step.
    pub(crate) done: bool,
    /// The step did something that moved no number.
    pub(crate) worked: bool,
    /// Whether numbers have passed the tasklet in steps of another one: see
    /// [`passed_elsewhere`](Tasklet::passed_elsewhere).
    pub(crate) elsewhere: bool,
    /// Whether the time of the step is not this tasklet's alone, or not known.
    pub(crate) untimed: bool,
}

/// As more it would be returned through memory, which costs as much as a step that moves one number.
const _: () = assert!(size_of::<Progress>() <= 2 * size_of::<usize>());

impl Progress {
    pub(crate) const NONE: Progress =
        Progress { moved: 0, done: false, worked: false, elsewhere: false, untimed: false };
    /// END moved.
    pub(crate) const ENDED: Progress = Progress { moved: 1, done: true, ..Progress::NONE };
    /// Nothing is left to do.
    pub(crate) const DONE: Progress = Progress { done: true, ..Progress::NONE };
    /// The step did something that moved no number.
    pub(crate) const WORKED: Progress = Progress { worked: true, ..Progress::NONE };

    pub(crate) fn moved(numbers: usize) -> Self {
        Progress { moved: numbers, ..Progress::NONE }
    }
}

/// A running stage: its step never blocks, and moves at most one batch.
pub(crate) trait Tasklet: Send {
    /// Moves at most this many numbers.
    fn step(&mut self, most: usize) -> Progress;

    /// Called now and then between two steps, also while numbers keep coming: what it holds for a reader outside the
    /// run goes there.
    fn pause(&mut self) {}

    /// The number at which user code panicked in the last step.
    fn failed_at(&self) -> Option<u64>;

    /// The clock of that number, if it is not that of the input.
    fn failed_on(&self) -> Option<usize> {
        None
    }

    /// How many numbers have passed it in steps of another tasklet since this was called last.
    fn passed_elsewhere(&mut self) -> usize {
        0
    }

    /// The stage whose user code panicked in the last step, if the tasklet is several stages and that is not the last
    /// one.
    fn failed_in(&self) -> Option<&str> {
        None
    }

    /// How many numbers wait in its input.
    fn backlog(&self) -> u64;

    /// The cursors of its input and output, for observers.
    fn probe(&self) -> TaskProbe;

    /// The parts of it that a loop over several stages needs, if such a loop can do its work.
    fn in_loop(&mut self) -> Option<Parts<'_>> {
        None
    }

    /// How it acts at marks; none if it only copies them.
    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        None
    }
}

/// A stage in a loop over several.
pub(crate) struct Parts<'p> {
    pub(crate) input: &'p mut dyn RingEnd,
    pub(crate) output: &'p mut dyn RingEnd,
    pub(crate) state: &'p mut dyn Any,
    /// Whether the output has a clock of its own.
    pub(crate) renumbers: bool,
}

/// A tasklet that takes no number before it has passed the marks at it.
pub(crate) trait AtMarks {
    /// Passes the next mark, and passes it on to the output, if everything below its number is done and nothing from it
    /// on is begun. None if there is no such mark.
    fn pass(&mut self) -> Option<Mark>;

    /// At a mark that was just passed: the state that outlives the numbers below it. `None` if there is none.
    fn state(&mut self) -> Option<Kept> {
        None
    }

    /// The next number of its output, if it starts a clock.
    fn clock(&mut self) -> Option<SequenceNumber> {
        None
    }

    /// Its state in the stage, at a mark at which it has [retired](millstream_ring::MarkKind::Retire) or before its
    /// first step. `None` if it has none.
    fn in_place(&mut self) -> Option<Box<dyn InPlace + '_>> {
        None
    }

    /// Goes on after a mark at which it should have [retired](millstream_ring::MarkKind::Retire).
    fn resume(&mut self) {}
}
