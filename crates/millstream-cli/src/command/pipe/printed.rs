use super::answer::{Answer, Ending};
use crate::deploy::Hashed;
use crate::output::Output;
use millstream_core::SequenceNumber;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The answers printed so far, which arrive in order, and the failures among them.
#[derive(Debug)]
pub(super) struct Printed {
    output: Output,
    keeps_going: bool,
    over: Over,
    numbers: u64,
    failures: u64,
    /// The number of the first failure, and its cause.
    first: Option<(u64, String)>,
    /// Whether the run cannot go on after that failure.
    broken: bool,
}

/// Whether printing has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Over(Arc<AtomicBool>);

impl Over {
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The number and the bytes of the next answer, for a hash; `None` if it will not be printed. Later blocks may be
    /// answered before one fails.
    pub(super) fn hashed<'a>(
        &self,
        number: SequenceNumber,
        answer: &'a Answer,
    ) -> Option<(SequenceNumber, Cow<'a, [u8]>)> {
        (answer.is_output() && !self.is_set()).then(|| (number, answer.bytes()))
    }
}

/// The result of all answers.
pub(super) enum Verdict {
    Well,
    /// The run ended at this number.
    Failed(u64, String),
    /// The run went on, and this message counts its failures.
    WentOn(String),
}

impl Printed {
    pub(super) fn into(output: Output, keeps_going: bool) -> Self {
        Printed { output, keeps_going, over: Over::default(), numbers: 0, failures: 0, first: None, broken: false }
    }

    /// Takes the next answer. Output that a command wrote before it failed is printed, too.
    pub(super) fn print(&mut self, answer: &Answer) {
        if self.over.is_set() {
            return;
        }
        match &answer.ending {
            Ending::Skipped => self.over.set(),
            Ending::Well => self.write(answer),
            Ending::Failed(cause) => {
                self.write(answer);
                self.failed(answer.number, cause);
            }
            Ending::Broken(cause) => {
                self.write(answer);
                self.broken = true;
                // This failure ends the run, whatever failed before.
                self.first = None;
                self.failed(answer.number, cause);
            }
        }
    }

    fn write(&mut self, answer: &Answer) {
        self.numbers += 1;
        answer.written.write_to(&mut self.output);
    }

    /// Records that the command failed at this number.
    pub(super) fn failed(&mut self, number: u64, cause: &str) {
        self.failures += 1;
        self.first.get_or_insert_with(|| (number, cause.to_owned()));
        if self.broken || !self.keeps_going {
            self.over.set();
        }
    }

    /// Whether printing has ended early.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_set()
    }

    pub(super) fn over(&self) -> Over {
        self.over.clone()
    }

    pub(super) fn verdict(self, units: &str) -> Verdict {
        match self.first {
            None => Verdict::Well,
            Some((number, cause)) if !self.keeps_going || self.broken => Verdict::Failed(number, cause),
            Some((number, cause)) => {
                let (failures, numbers) = (self.failures, self.numbers);
                Verdict::WentOn(format!(
                    "{failures} of {numbers} {units} failed, the first is number {number}: {cause}"
                ))
            }
        }
    }
}
