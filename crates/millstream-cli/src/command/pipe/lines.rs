use super::filter::{Filter, feed, how_it_ended};
use super::processes::Processes;
use crate::message::{cause, say};
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Processes of one command, each of which answers a line with a line.
///
/// A process is given its next line once it has answered the one before: output has no numbers, so only this tells whose
/// answer a line is. There are as many as are asked at once.
///
/// No silence says whether an answer will still come. So after a while the process is told that no more lines come: then it
/// answers if it only was slow, or held its output back, and otherwise it ends and has shown which line it left out.
#[derive(Debug)]
pub(super) struct Talks {
    filter: Filter,
    patience: Duration,
    longest: usize,
    /// Those that nobody asks at the moment.
    idle: Mutex<Vec<Talk>>,
    /// Whether somebody was told of late answers, or wants to hear nothing.
    told: AtomicBool,
}

/// A process that has answered all that it was asked.
#[derive(Debug)]
struct Talk {
    child: Child,
    /// None once it was told that no more lines come.
    input: Option<ChildStdin>,
    answers: Receiver<io::Result<Answer>>,
    /// The line that was answered last, or 0.
    last: u64,
}

#[derive(Debug)]
struct Answer {
    line: Vec<u8>,
    /// Whether more came with it.
    more: bool,
}

/// Room for one answer, and for one that nobody has asked for.
const ANSWERS: usize = 2;

impl Talks {
    pub(super) fn new(filter: Filter, patience: Duration, longest: usize, quiet: bool) -> Self {
        Talks { filter, patience, longest, idle: Mutex::default(), told: AtomicBool::new(quiet) }
    }

    /// The answer to a line, with a line end if the line has one.
    pub(super) fn answer(&self, number: u64, line: &[u8]) -> Result<Vec<u8>, String> {
        let used = self.idle().pop();
        let mut talk = used.map_or_else(|| self.start(), Ok).map_err(|why| format!("line {number}: {why}"))?;
        let answer = talk.ask(line, self.patience).map_err(|why| self.blame(number, &mut talk, why))?;
        talk.last = number;
        if talk.input.is_some() {
            self.idle().push(talk);
        } else {
            self.tell_of_late_answers();
            talk.end(self.filter.processes()).map_err(|why| self.blame(number, &mut talk, why))?;
        }
        Ok(ended_as(answer, line))
    }

    /// Tells all processes that no more lines come. What they then do wrong is told with the line that they answered last.
    pub(super) fn end(&self) -> Result<(), (u64, String)> {
        let mut talks = std::mem::take(&mut *self.idle());
        talks.sort_by_key(|talk| talk.last);
        talks.iter_mut().for_each(|talk| drop(talk.input.take()));
        for mut talk in talks {
            let line = talk.last;
            talk.end(self.filter.processes()).map_err(|why| (line, self.blame(line, &mut talk, why)))?;
        }
        Ok(())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Talk>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> Result<Talk, String> {
        let mut child = self.filter.start()?;
        let output = child.stdout.take().expect("it is piped");
        let (tell, answers) = sync_channel(ANSWERS);
        let longest = self.longest;
        let reader = thread::Builder::new().name("millstream-answers".to_owned());
        let reading = reader.spawn(move || read_answers(output, longest, &tell));
        reading.map_err(|error| format!("a thread cannot be started: {}", cause(&error)))?;
        Ok(Talk { input: child.stdin.take(), child, answers, last: 0 })
    }

    fn blame(&self, number: u64, talk: &mut Talk, why: Wrong) -> String {
        let name = self.filter.name();
        let what = match why {
            Wrong::None => {
                // It has closed its output; its end follows from that of its input.
                talk.input = None;
                let how = self.filter.processes().end(&mut talk.child).map_or_else(|error| cause(&error), how_it_ended);
                format!("{name} gave no line for it and {how}")
            }
            Wrong::More => format!("{name} gave more than one line for it"),
            Wrong::Earlier => {
                return format!("line {}: {name} gave more than one line for it, or for one before it", talk.last);
            }
            Wrong::Failed(how) => format!("{name} {how} behind it"),
            Wrong::Broken(error) => format!("{name}: {}", cause(&error)),
        };
        format!("line {number}: {what}")
    }

    fn tell_of_late_answers(&self) {
        if !self.told.swap(true, Ordering::Relaxed) {
            let name = self.filter.name();
            say(&format!(
                "millstream pipe: {name} answered only when its input ended, so it is started anew after each such line; \
                 it should write each line at once (`sed -u`, `grep --line-buffered`, `stdbuf -oL`), or --patience be longer"
            ));
        }
    }
}

/// What is wrong about an answer.
enum Wrong {
    None,
    More,
    /// It was already there before this line was asked.
    Earlier,
    /// The process has answered, and then failed.
    Failed(String),
    Broken(io::Error),
}

impl Talk {
    /// The one line that comes for this one.
    fn ask(&mut self, line: &[u8], patience: Duration) -> Result<Vec<u8>, Wrong> {
        match self.answers.try_recv() {
            Ok(_) => return Err(Wrong::Earlier),
            Err(TryRecvError::Disconnected) => return Err(Wrong::None),
            Err(TryRecvError::Empty) => {}
        }
        let mut input = self.input.as_ref().expect("it was told of no end");
        let fed =
            if line.ends_with(b"\n") { feed(&mut input, line) } else { feed(&mut input, &[line, b"\n"].concat()) };
        fed.map_err(Wrong::Broken)?;
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

    /// Waits until it has ended, once its input has.
    fn end(&mut self, processes: &Processes) -> Result<(), Wrong> {
        match self.answers.recv() {
            Ok(Ok(_)) => return Err(Wrong::More),
            Ok(Err(error)) => return Err(Wrong::Broken(error)),
            Err(_) => {}
        }
        let status = processes.end(&mut self.child).map_err(Wrong::Broken)?;
        if status.success() { Ok(()) } else { Err(Wrong::Failed(how_it_ended(status))) }
    }
}

/// Passes on lines until there are none, or none are wanted. Never leaves the process with a full pipe: it could not read
/// its input then, and who writes that would wait for ever.
fn read_answers(output: ChildStdout, longest: usize, tell: &SyncSender<io::Result<Answer>>) {
    let mut output = BufReader::with_capacity(64 * 1024, output);
    loop {
        let mut line = Vec::new();
        // A line end may make it longer than the longest line that had none.
        let read = output.by_ref().take(longest as u64 + 2).read_until(b'\n', &mut line);
        let answer = match read {
            Ok(0) => return,
            Ok(read) if read > longest + 1 => {
                Err(io::Error::other(format!("its answer is longer than {longest} bytes")))
            }
            Ok(_) => Ok(Answer { line, more: !output.buffer().is_empty() }),
            Err(error) => Err(error),
        };
        if tell.try_send(answer).is_err() {
            // Nobody reads on after this many, and what they show is enough.
            let _ = io::copy(&mut output, &mut io::sink());
            return;
        }
    }
}

/// With a line end if `line` has one, and without if not.
fn ended_as(mut answer: Vec<u8>, line: &[u8]) -> Vec<u8> {
    if answer.ends_with(b"\n") {
        answer.pop();
    }
    if line.ends_with(b"\n") {
        answer.push(b'\n');
    }
    answer
}
