use super::inputs::{Ended, Work};
use crate::message::{Complaints, quoted, say};
use crate::output::Output;
use crate::progress;
use millstream_core::SequenceNumber;
use millstream_io::text::line_ends;
use millstream_jq::{Answer, Filter, Said, What};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

/// The answer to a block of an input.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    input: usize,
    answer: Answer,
}

impl Reply {
    pub(super) fn to(work: &Work, filter: &Filter, names: &[OsString]) -> Self {
        let name = |input: usize| match names[input].to_string_lossy() {
            name if name == "-" => Cow::Borrowed(""),
            name => name,
        };
        match work {
            Work::Nothing => Reply { input: 0, answer: filter.answer(b"") },
            Work::Of(input, block) => Reply { input: *input, answer: filter.answer_of(&name(*input), block) },
            Work::All(blocks) => {
                let named: Vec<_> = blocks.iter().map(|(input, block)| (name(*input), block)).collect();
                let named: Vec<(&str, &[u8])> = named.iter().map(|(name, block)| (&**name, &***block)).collect();
                let mut reply =
                    Reply { input: blocks.last().map_or(0, |(input, _)| *input), answer: filter.answer_to_all(&named) };
                // The values of all inputs are one, but those that are not JSON stand in a line of one input.
                if let [.., Said { block, line, what: What::Invalid(_), .. }] = &mut reply.answer.said[..] {
                    reply.input = blocks[*block].0;
                    let before = blocks.iter().take_while(|(input, _)| *input != reply.input);
                    *line -= before.map(|(_, block)| line_ends(block)).sum::<u64>();
                }
                reply
            }
        }
    }
}

impl Reply {
    /// The number and the bytes of the next answer, for a hash; `None` if nothing of it will be printed. How many
    /// blocks were read behind the end of an input depends on time, so that these do not count.
    pub(super) fn hashed(&self, number: SequenceNumber, ended: &Ended) -> Option<(SequenceNumber, Cow<'_, [u8]>)> {
        let out = &self.answer.out[..];
        (!out.is_empty() && !ended.has(self.input)).then(|| (SequenceNumber(number.0 - ended.left_out()), out.into()))
    }
}

/// The answers printed so far, which arrive in order.
pub(super) struct Printed {
    output: Output,
    names: Arc<[OsString]>,
    /// The index of the input that the last answer was about, and its lines and values so far.
    input: usize,
    lines: u64,
    values: u64,
    ended: Ended,
    /// Ends a wait for input.
    end_input: Box<dyn Fn() + Send>,
    /// Whether the filter has failed for a value.
    failed: bool,
    halted: Option<u8>,
    /// Whether an input was not read to its end, of those before the place where the filter halted.
    lacks_input: bool,
    last: Option<bool>,
    complaints: Complaints,
}

impl fmt::Debug for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Printed").field("input", &self.input).field("halted", &self.halted).finish_non_exhaustive()
    }
}

impl Printed {
    pub(super) fn into(
        output: Output,
        names: Arc<[OsString]>,
        ended: Ended,
        end_input: impl Fn() + Send + 'static,
        complaints: Complaints,
    ) -> Self {
        Printed {
            output,
            names,
            input: 0,
            lines: 0,
            values: 0,
            ended,
            end_input: Box::new(end_input),
            failed: false,
            halted: None,
            lacks_input: false,
            last: None,
            complaints,
        }
    }

    /// Takes the next answer.
    pub(super) fn print(&mut self, Reply { input, answer }: &Reply) {
        if self.ended.has(*input) {
            return self.ended.leave_out();
        }
        if *input != self.input {
            (self.input, self.lines, self.values) = (*input, 0, 0);
        }
        let mut written = 0;
        for said in &answer.said {
            self.write(&answer.out[written..said.at]);
            written = said.at;
            self.say(said);
        }
        self.write(&answer.out[written..]);
        self.lines += answer.lines;
        self.values += answer.values;
        self.last = answer.last.or(self.last);
    }

    fn write(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.output.write(bytes);
        }
    }

    fn say(&mut self, Said { line, number, what, .. }: &Said) {
        let name = quoted(self.names.get(self.input).map_or(OsStr::new("-"), |name| name));
        let (line, number) = (self.lines + line + 1, self.values + number + 1);
        match what {
            What::Failed(why) => {
                self.failed = true;
                self.complaints.note(&format!("{name}:{line}: value {number}: {why}"));
            }
            What::Invalid(why) => {
                self.ended.end(self.input);
                self.lacks_input = true;
                self.complaints.complain(&format!("{name}:{line}: value {number} is not JSON: {why}"));
            }
            What::Halted(code) => {
                // The system keeps only the lowest byte of an exit code.
                self.halted = Some(*code as u8);
                self.lacks_input |= self.ended.lacks_input(self.input);
                self.ended.end(usize::MAX);
                (self.end_input)();
            }
            What::Debug(line) => say(line),
            What::Stderr(bytes) => {
                let _ = progress::aside(|| io::stderr().write_all(bytes));
            }
        }
    }

    /// The exit code of a filter that has halted.
    pub(super) fn halted(&self) -> Option<u8> {
        self.halted
    }

    /// Whether an input before the place where the filter halted was not read to its end.
    pub(super) fn lacks_input(&self) -> bool {
        self.lacks_input
    }

    /// The same exit code as jq's, if all inputs could be read. With `exit_status` the last output decides.
    pub(super) fn code(&self, exit_status: bool) -> u8 {
        match self.last {
            _ if self.failed => 5,
            None if exit_status => 4,
            Some(false) if exit_status => 1,
            _ => 0,
        }
    }
}
