//! Rivals in a program of their own: `peers/rust`, built when it is first needed, and kept running as a child process.

use crate::failure::Failure;
use crate::latency::Waiter;
use crate::peers;
use crate::progress::Progress;
use crate::turns::Contestant;
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The rivals, if they were requested.
#[derive(Debug)]
pub(crate) struct Rivals {
    wanted: bool,
    progress: Progress,
    peers: RefCell<Option<Peers>>,
}

/// The task of a rival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) workload: &'static str,
    pub(crate) who: &'static str,
    pub(crate) items: u64,
    /// The slots of its rings or channels.
    pub(crate) size: usize,
}

impl Rivals {
    pub(crate) fn new(wanted: bool, progress: Progress) -> Self {
        Rivals { wanted, progress, peers: RefCell::new(None) }
    }

    pub(crate) fn wanted(&self) -> bool {
        self.wanted
    }

    /// The id of the running process, if there is one.
    pub(crate) fn id(&self) -> Option<u32> {
        self.peers.borrow().as_ref().map(|peers| peers.child.id())
    }

    /// A rival as a contestant, if rivals were requested.
    pub(crate) fn contestant(&self, who: &'static str, expected: u64, task: Task) -> Option<Contestant<'_, u64>> {
        let run = move || match *self.ask(task)? {
            [nanoseconds, checksum] => Ok((checksum, Duration::from_nanos(nanoseconds))),
            ref other => Err(Failure::Answer(task.who, other.len())),
        };
        self.wanted.then(|| Contestant::away(who, expected, run))
    }

    /// A rival that measures waits, if rivals were requested.
    pub(crate) fn waiter(&self, who: &'static str, task: Task) -> Option<Waiter<'_>> {
        self.wanted.then(|| Waiter::new(who, move || self.ask(task)))
    }

    /// Sends a task. Returns the rival's answer.
    fn ask(&self, task: Task) -> Result<Vec<u64>, Failure> {
        let mut peers = self.peers.borrow_mut();
        let running = match peers.take() {
            Some(running) => running,
            None => Peers::start(&self.progress)?,
        };
        peers.insert(running).ask(task)
    }
}

/// The process. It ends when this is dropped.
#[derive(Debug)]
struct Peers {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peers {
    fn start(progress: &Progress) -> Result<Self, Failure> {
        progress.say("building the rivals");
        let program = peers::built("rust", "millstream-peers")?;
        let shown = program.display().to_string();
        let child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(Failure::io(shown.clone()))?;
        let requests = child.stdin.take();
        let answers = child.stdout.take().ok_or_else(|| Failure::Program(shown, "no standard output".to_owned()))?;
        Ok(Peers { child, requests, answers: BufReader::new(answers) })
    }

    fn ask(&mut self, task: Task) -> Result<Vec<u64>, Failure> {
        let Task { workload, who, items, size } = task;
        let request = format!("{workload} {who} {items} {size}");
        let cannot = || Failure::io(format!("the rivals' program, asked for `{request}`"));
        if let Some(requests) = &mut self.requests {
            writeln!(requests, "{request}").and_then(|()| requests.flush()).map_err(cannot())?;
        }
        let mut answer = String::new();
        self.answers.read_line(&mut answer).map_err(cannot())?;
        let numbers: Result<Vec<u64>, _> = answer.split_whitespace().map(str::parse).collect();
        numbers.ok().filter(|numbers| !numbers.is_empty()).ok_or(Failure::Answer(who, 0))
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // It ends at the end of its input.
        self.requests = None;
        let _ = self.child.wait();
    }
}
