use crate::input::{Opening, message, report};
use crate::interrupts::is_end;
use crate::message::Complaints;
use millstream_io::{Block, Failure, WholeBlocks};
use millstream_jq::{Input, JsonValues};
use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::{fmt, mem};

/// The unit on which a filter runs.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// `null`.
    Nothing,
    /// A block of the input with this index.
    Of(usize, Block),
    /// All blocks of all inputs.
    All(Vec<(usize, Block)>),
}

/// The inputs before some index need no further blocks, even if they were not read to their end.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended(Arc<Before>);

#[derive(Debug, Default)]
struct Before {
    index: AtomicUsize,
    /// The blocks of these inputs that were read all the same.
    left_out: AtomicU64,
    /// The first input behind one that could not be read.
    behind_a_gap: OnceLock<usize>,
}

impl Ended {
    pub(super) fn end(&self, input: usize) {
        self.0.index.fetch_max(input.saturating_add(1), Ordering::Relaxed);
    }

    pub(super) fn has(&self, input: usize) -> bool {
        input < self.0.index.load(Ordering::Relaxed)
    }

    /// The answer to a block of such an input is left out.
    pub(super) fn leave_out(&self) {
        self.0.left_out.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether an answer about this input lacks an input that could not be read.
    pub(super) fn lacks_input(&self, input: usize) -> bool {
        self.0.behind_a_gap.get().is_some_and(|behind| *behind <= input)
    }

    /// How many answers were left out.
    pub(super) fn left_out(&self) -> u64 {
        self.0.left_out.load(Ordering::Relaxed)
    }
}

/// The blocks of several inputs. An input that fails is reported, and the next one follows.
pub(super) struct Inputs {
    kind: Input,
    names: Vec<OsString>,
    /// The index of the next input to open.
    next: usize,
    most: usize,
    opening: Opening,
    current: Option<(Box<dyn Iterator<Item = Block> + Send>, Failure)>,
    /// Whether the next block is JSON, and the first of its input.
    at_begin: bool,
    ended: Ended,
    complaints: Complaints,
    /// Whether the single block of all inputs has been passed on.
    passed_on: bool,
    /// Whether a signal has ended the stream.
    is_cut: bool,
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inputs").field("names", &self.names).field("next", &self.next).finish_non_exhaustive()
    }
}

impl Inputs {
    pub(super) fn new(
        kind: Input,
        names: Vec<OsString>,
        most: usize,
        opening: Opening,
        ended: Ended,
        complaints: Complaints,
    ) -> Self {
        let (next, current, at_begin, passed_on, is_cut) = (0, None, false, false, false);
        Inputs { kind, names, next, most, opening, current, at_begin, ended, complaints, passed_on, is_cut }
    }

    /// The next block, and the index of its input.
    fn block(&mut self) -> Option<(usize, Block)> {
        loop {
            if let Some((blocks, failure)) = &mut self.current {
                let input = self.next - 1;
                let block = if self.ended.has(input) { None } else { blocks.next() };
                let is_first = mem::take(&mut self.at_begin);
                if let Some(block) = block {
                    // A byte order mark is not a part of the first value.
                    let rest =
                        block.strip_prefix(b"\xef\xbb\xbf").filter(|_| is_first).map(|rest| rest.to_vec().into());
                    return Some((input, rest.unwrap_or(block)));
                }
                if let Some(error) = failure.take().filter(|_| !self.ended.has(input)) {
                    if is_end(&error) {
                        return self.interrupted();
                    }
                    self.note_gap(input);
                    report(&self.complaints, &self.names[input], &advised(error));
                }
                self.current = None;
            }
            self.advance()?;
        }
    }

    /// This input could not be read to its end. Inputs are read in order, so the first one that is noted is the first.
    fn note_gap(&self, input: usize) {
        let is_of_all = matches!(self.kind, Input::AllValues | Input::AllText);
        let _ = self.ended.0.behind_a_gap.set(if is_of_all { 0 } else { input + 1 });
    }

    /// A signal ends the whole stream: further inputs would come after a hole, and there is no answer to all of them.
    fn interrupted<T>(&mut self) -> Option<T> {
        (self.next, self.current, self.is_cut) = (self.names.len(), None, true);
        None
    }

    /// Opens the next input that can be opened.
    fn advance(&mut self) -> Option<()> {
        let name = self.names.get(self.next)?;
        self.next += 1;
        if self.ended.has(self.next - 1) {
            return Some(());
        }
        match self.opening.open(name) {
            Ok(Some(input)) => {
                self.at_begin = matches!(self.kind, Input::Values | Input::AllValues);
                self.current = Some(match self.kind {
                    Input::Lines | Input::AllText => kept(WholeBlocks::lines(input).longest(self.most)),
                    _ => kept(WholeBlocks::of(input, JsonValues::default()).longest(self.most)),
                });
            }
            Ok(None) => return self.interrupted(),
            Err(error) => {
                self.complaints.complain(&message(name, &error));
                self.note_gap(self.next - 1);
            }
        }
        Some(())
    }
}

/// The blocks, and the place of their error.
fn kept<K: millstream_io::Framing>(
    blocks: WholeBlocks<crate::input::Input, K>,
) -> (Box<dyn Iterator<Item = Block> + Send>, Failure) {
    let failure = blocks.failure();
    (Box::new(blocks), failure)
}

/// Adds advice to an error.
fn advised(error: Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidData => Error::other(format!("{error}: raise --max-value")),
        _ => error,
    }
}

impl Iterator for Inputs {
    type Item = Work;

    fn next(&mut self) -> Option<Work> {
        match self.kind {
            Input::Values | Input::Lines => self.block().map(|(input, block)| Work::Of(input, block)),
            _ if mem::replace(&mut self.passed_on, true) => None,
            Input::Null => Some(Work::Nothing),
            Input::AllValues | Input::AllText => {
                let mut all = Vec::new();
                while let Some(block) = self.block() {
                    all.push(block);
                }
                (!self.is_cut).then_some(Work::All(all))
            }
        }
    }
}
