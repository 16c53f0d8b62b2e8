//! `--shard line`: processes that answer line by line. [`Talks`] describes how; this is the cost, and the guarantees:
//!
//! A process gets its next line when it has answered the one before. That costs a switch per line. Output has no
//! numbers, so this is the only way to know which line an answer belongs to. No time limit changes the output: a
//! process that is closed after some silence is started again, and the output is the same. A second line that comes
//! late can be taken for the next answer, but always leads to a failure: a line that is left over when the processes
//! end is one.

use super::answer::{Answer, Ending, Written};
use super::filter::{Filter, feed, how_it_ended};
use super::tagged::tag;
use crate::message::{cause, say};
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Processes of one command, each of which answers a line with a line.
///
/// A process gets its next line once it has answered the one before: output has no numbers, so only this shows which
/// line an answer belongs to. There are as many processes as lines that are asked at the same time.
///
/// Silence does not show whether an answer will still come. After some time the input of the process is therefore
/// closed. A process that was slow, or held its output back, then answers; any other process ends, which shows the line
/// that it left out. A command that answers only then is recognized after [some](LEARNED) such lines in a row: from
/// then on its input is closed right after each line.
#[derive(Debug)]
pub(super) struct Talks {
    filter: Filter,
    patience: Duration,
    longest: usize,
    /// Processes that have no line at the moment.
    idle: Mutex<Vec<Talk>>,
    /// The number of lines in a row that were answered only after the end of the input.
    late: AtomicU32,
    /// Whether the message about late answers was printed, or is not wanted.
    warned: AtomicBool,
}

/// A process that has answered all its lines.
#[derive(Debug)]
struct Talk {
    child: Child,
    /// `None` once the input is closed.
    input: Option<ChildStdin>,
    answers: Receiver<io::Result<Said>>,
    /// The line that was answered last, from 1, or 0.
    last: u64,
}

#[derive(Debug)]
struct Said {
    line: Vec<u8>,
    /// Whether more bytes came with it.
    more: bool,
}

/// Room for one answer, and for one that is too many.
const ANSWERS: usize = 2;

/// This many late answers in a row show that the command holds its output back. A single one may be a slow line.
const LEARNED: u32 = 2;

impl Talks {
    pub(super) fn new(filter: Filter, patience: Duration, longest: usize, quiet: bool) -> Self {
        Talks {
            filter,
            patience,
            longest,
            idle: Mutex::default(),
            late: AtomicU32::new(0),
            warned: AtomicBool::new(quiet),
        }
    }

    /// The answer to the line of this number, from 0. It has a line end if the line has one.
    pub(super) fn answer(&self, number: u64, line: &[u8]) -> Answer {
        if !self.filter.admission().asks(number) {
            return Answer::empty(number, Ending::Skipped);
        }
        let answer = match self.ask(number, line) {
            Ok(line) => Answer { number, written: Written::Held(self.tagged(number, line)), ending: Ending::Well },
            Err(Why { cause, written, fatal }) => {
                let ending = if fatal { Ending::Broken(cause.into()) } else { Ending::Failed(cause.into()) };
                Answer { number, written: Written::Held(self.tagged(number, written)), ending }
            }
        };
        self.filter.answered(answer)
    }

    /// The answer with a line end if `line` has one, else without.
    fn ended_as(&self, mut answer: Vec<u8>, line: &[u8]) -> Vec<u8> {
        let end = self.filter.line_end();
        answer.pop_if(|byte| *byte == end);
        answer.extend(line.last().filter(|byte| **byte == end));
        answer
    }

    /// The line after its number, if the filter tags lines.
    fn tagged(&self, number: u64, line: Vec<u8>) -> Vec<u8> {
        if self.filter.tags() && !line.is_empty() { [tag(number), line].concat() } else { line }
    }

    fn ask(&self, number: u64, line: &[u8]) -> Result<Vec<u8>, Why> {
        let used = self.idle().pop();
        let blame = |talk: &mut Talk, why| self.blame(number + 1, talk, why);
        let mut talk = match used {
            Some(talk) => {
                self.filter.processes().goes_on(&talk.child, number);
                talk
            }
            None => self.start(number).map_err(|why| Why::fatal(format!("line {}: {why}", number + 1)))?,
        };
        let patience = if self.late.load(Ordering::Relaxed) < LEARNED { self.patience } else { Duration::ZERO };
        let answer = talk.ask(line, self.filter.line_end(), patience).map_err(|why| blame(&mut talk, why))?;
        talk.last = number + 1;
        if talk.input.is_some() {
            self.late.store(0, Ordering::Relaxed);
            self.idle().push(talk);
        } else {
            self.late.fetch_add(1, Ordering::Relaxed);
            self.warn_of_late_answers();
            talk.end(&self.filter).map_err(|why| {
                let why = blame(&mut talk, why);
                Why { written: self.ended_as(answer.clone(), line), ..why }
            })?;
        }
        Ok(self.ended_as(answer, line))
    }

    /// Closes the input of all processes. Returns their failures, each with the number of the line that the process
    /// answered last.
    pub(super) fn end(&self) -> Vec<(u64, String)> {
        self.filter.admission().ends();
        let mut talks = std::mem::take(&mut *self.idle());
        talks.sort_by_key(|talk| talk.last);
        talks.iter_mut().for_each(|talk| drop(talk.input.take()));
        let ends = talks.iter_mut().filter_map(|talk| {
            let line = talk.last;
            talk.end(&self.filter).err().map(|why| (line - 1, self.blame(line, talk, why).cause))
        });
        let ends = ends.collect();
        self.filter.admission().answered();
        ends
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Talk>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, number: u64) -> Result<Talk, String> {
        let mut child = self.filter.start(self.filter.command(), number)?;
        let output = child.stdout.take().expect("it is piped");
        let (sender, answers) = sync_channel(ANSWERS);
        let (longest, line_end) = (self.longest, self.filter.line_end());
        let reader = thread::Builder::new().name("millstream-answers".to_owned());
        let reading = reader.spawn(move || read_answers(output, longest, line_end, &sender));
        reading.map_err(|error| format!("a thread cannot be started: {}", cause(&error)))?;
        Ok(Talk { input: child.stdin.take(), child, answers, last: 0 })
    }

    /// The failure of line `line`, counted from 1.
    fn blame(&self, line: u64, talk: &mut Talk, why: Wrong) -> Why {
        let name = self.filter.name();
        let (what, fatal) = match why {
            Wrong::None => {
                // Its output is closed. Closing its input ends it.
                talk.input = None;
                let status = self.filter.processes().end(&mut talk.child);
                let how = status.map_or_else(|error| cause(&error), how_it_ended);
                let what = format!("{name} wrote no line for it and {how}");
                let go_on = if self.filter.keeps_going() { "" } else { " (--keep-going continues after it)" };
                (what + go_on, false)
            }
            Wrong::More => (format!("{name} wrote more than one line for it"), true),
            Wrong::Earlier => {
                let cause = format!("line {}: {name} wrote more than one line for it, or for one before it", talk.last);
                return Why::fatal(cause);
            }
            Wrong::Failed(status) => {
                let what = format!("{name} {} after it", how_it_ended(status));
                (self.filter.advised(Some(status), &what), false)
            }
            Wrong::Broken(error) => (format!("{name}: {}", cause(&error)), true),
        };
        Why { cause: format!("line {line}: {what}"), written: Vec::new(), fatal }
    }

    fn warn_of_late_answers(&self) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            let name = self.filter.name();
            say(&format!(
                "millstream pipe: {name} answered only when its input ended. \
                 It is started again after each such line; if the next line is the same, its input then always \
                 ends at once. Make it write each line at once (`sed -u`, `grep --line-buffered`, \
                 `mawk -W interactive`, `stdbuf -oL`), or raise --patience"
            ));
        }
    }
}

/// Why a line has no valid answer.
struct Why {
    cause: String,
    /// The answer, if there is one.
    written: Vec<u8>,
    /// Whether the next lines of the output could not be matched to their lines of input.
    fatal: bool,
}

impl Why {
    fn fatal(cause: String) -> Self {
        Why { cause, written: Vec::new(), fatal: true }
    }
}

/// What is wrong with an answer.
enum Wrong {
    None,
    More,
    /// It was there before the line was sent.
    Earlier,
    /// The process has answered, and failed after that.
    Failed(ExitStatus),
    Broken(io::Error),
}

impl Talk {
    /// Sends a line, and returns the one line that answers it.
    fn ask(&mut self, line: &[u8], line_end: u8, patience: Duration) -> Result<Vec<u8>, Wrong> {
        match self.answers.try_recv() {
            Ok(_) => return Err(Wrong::Earlier),
            Err(TryRecvError::Disconnected) => return Err(Wrong::None),
            Err(TryRecvError::Empty) => {}
        }
        let mut input = self.input.as_ref().expect("its input is open");
        let whole = line.ends_with(&[line_end]);
        let fed = if whole { feed(&mut input, line) } else { feed(&mut input, &[line, &[line_end]].concat()) };
        fed.map_err(Wrong::Broken)?;
        if patience.is_zero() {
            self.input = None;
        }
        let answer = match self.answers.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Disconnected) => return Err(Wrong::None),
            Err(RecvTimeoutError::Timeout) => {
                self.input = None;
                self.answers.recv().map_err(|_| Wrong::None)?
            }
        };
        let answer = answer.map_err(Wrong::Broken)?;
        if answer.more || self.answers.try_recv().is_ok() { Err(Wrong::More) } else { Ok(answer.line) }
    }

    /// Waits until the process has ended, after the end of its input.
    fn end(&mut self, filter: &Filter) -> Result<(), Wrong> {
        match self.answers.recv() {
            Ok(Ok(_)) => return Err(Wrong::More),
            Ok(Err(error)) => return Err(Wrong::Broken(error)),
            Err(_) => {}
        }
        let status = filter.processes().end(&mut self.child).map_err(Wrong::Broken)?;
        if filter.accepts(status) { Ok(()) } else { Err(Wrong::Failed(status)) }
    }
}

/// Sends the lines of an output until it ends, or until no more are wanted. It never leaves the process with a full
/// pipe: the process could not read its input then, and the thread that writes that would wait for ever.
fn read_answers(output: ChildStdout, longest: usize, line_end: u8, sender: &SyncSender<io::Result<Said>>) {
    let mut output = BufReader::with_capacity(64 * 1024, output);
    loop {
        let mut line = Vec::new();
        // With a line end, an answer may be longer than the longest line without one.
        let read = output.by_ref().take(longest as u64 + 2).read_until(line_end, &mut line);
        let answer = match read {
            Ok(0) => return,
            Ok(read) if read > longest + 1 => {
                Err(io::Error::other(format!("its answer is longer than {longest} bytes")))
            }
            Ok(_) => Ok(Said { line, more: !output.buffer().is_empty() }),
            Err(error) => Err(error),
        };
        if sender.try_send(answer).is_err() {
            // No more lines are received, and these are enough to show the failure.
            let _ = io::copy(&mut output, &mut io::sink());
            return;
        }
    }
}
