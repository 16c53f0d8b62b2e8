use super::answer::{Answer, Ending};
use crate::output::Output;

/// What has been printed of the answers, which come in order, and how the command ended.
#[derive(Debug)]
pub(super) struct Printed {
    output: Output,
    keeps_going: bool,
    /// Nothing behind it is printed.
    over: bool,
    numbers: u64,
    failures: u64,
    /// The first that failed, and how.
    first: Option<(u64, String)>,
    /// Whether it failed so that nothing could go on.
    broken: bool,
}

/// How all of it ended.
pub(super) enum Verdict {
    Well,
    /// Here it ended.
    Failed(u64, String),
    /// It went on, with this to be said.
    WentOn(String),
}

impl Printed {
    pub(super) fn into(output: Output, keeps_going: bool) -> Self {
        Printed { output, keeps_going, over: false, numbers: 0, failures: 0, first: None, broken: false }
    }

    /// The next answer. What a command wrote before it failed is printed as well.
    pub(super) fn print(&mut self, answer: &Answer) {
        if self.over {
            return;
        }
        match &answer.ending {
            Ending::Skipped => self.over = true,
            Ending::Well => self.write(answer),
            Ending::Failed(cause) => {
                self.write(answer);
                self.failed(answer.number, cause);
            }
            Ending::Broken(cause) => {
                self.write(answer);
                self.broken = true;
                // That is what ends it, whatever failed before.
                self.first = None;
                self.failed(answer.number, cause);
            }
        }
    }

    fn write(&mut self, answer: &Answer) {
        self.numbers += 1;
        answer.written.write_to(&mut self.output);
    }

    /// The command failed at this number.
    pub(super) fn failed(&mut self, number: u64, cause: &str) {
        self.failures += 1;
        self.first.get_or_insert_with(|| (number, cause.to_owned()));
        self.over |= self.broken || !self.keeps_going;
    }

    /// Whether it was given up.
    pub(super) fn is_over(&self) -> bool {
        self.over
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
