//! Rivals in their own programs below `peers`, one for each language and one for Flink. They are built when they are
//! first needed, and kept running as child processes.

use crate::failure::{Failure, skip};
use crate::latency::Waiter;
use crate::peers;
use crate::progress::Progress;
use crate::turns::Contestant;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The rivals, if they were requested.
#[derive(Debug)]
pub(crate) struct Rivals {
    wanted: bool,
    progress: Progress,
    peers: RefCell<BTreeMap<Language, Peers>>,
}

/// The language of a rival's program, or its system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Language {
    Rust,
    Go,
    Java,
    /// A local cluster of Apache Flink, in Java.
    Flink,
}

impl Language {
    /// The tools that its programs need.
    fn tools(self) -> &'static [&'static str] {
        match self {
            Language::Rust => &["cargo"],
            Language::Go => &["go"],
            Language::Java | Language::Flink => &["java", "mvn"],
        }
    }
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
        Rivals { wanted, progress, peers: RefCell::default() }
    }

    pub(crate) fn wanted(&self) -> bool {
        self.wanted
    }

    /// Why rivals of this language are left out: tools are missing, or rivals were requested and these cannot be built.
    /// If rivals were requested and every program is required, that is a failure.
    pub(crate) fn left_out(&self, language: Language) -> Result<Option<String>, Failure> {
        let missing: Vec<_> = language.tools().iter().copied().filter(|tool| !is_on_path(tool)).collect();
        let reason = if !missing.is_empty() {
            format!("there is no {}", missing.join(" and no "))
        } else if let Some(Err(failure)) = self.wanted.then(|| self.start(language)) {
            failure.to_string()
        } else {
            return Ok(None);
        };
        if self.wanted {
            skip(&format!("{language:?}"), &reason)?;
        }
        Ok(Some(reason))
    }

    /// Builds the rivals of this language and starts them, unless they run.
    fn start(&self, language: Language) -> Result<(), Failure> {
        if let Entry::Vacant(place) = self.peers.borrow_mut().entry(language) {
            place.insert(Peers::start(language, &self.progress)?);
        }
        Ok(())
    }

    /// A rival in Rust as a contestant, if rivals were requested.
    pub(crate) fn contestant(&self, who: &'static str, expected: u64, task: Task) -> Option<Contestant<'_, u64>> {
        self.contestant_in(Language::Rust, who, expected, task)
    }

    /// A rival as a contestant, if rivals were requested.
    pub(crate) fn contestant_in(
        &self,
        language: Language,
        who: &'static str,
        expected: u64,
        task: Task,
    ) -> Option<Contestant<'_, u64>> {
        let run = move || match *self.ask(language, task)? {
            [nanoseconds, checksum] => Ok((checksum, Duration::from_nanos(nanoseconds))),
            ref other => Err(Failure::Answer(task.who, other.len())),
        };
        self.wanted.then(|| Contestant::away(who, expected, run))
    }

    /// A rival that measures waits, if rivals were requested.
    pub(crate) fn waiter(&self, who: &'static str, task: Task) -> Option<Waiter<'_>> {
        self.wanted.then(|| Waiter::new(who, move || self.ask(Language::Rust, task)))
    }

    /// Sends a task. Returns the rival's answer.
    fn ask(&self, language: Language, task: Task) -> Result<Vec<u64>, Failure> {
        self.start(language)?;
        let mut peers = self.peers.borrow_mut();
        peers.get_mut(&language).expect("they run").ask(task)
    }
}

fn is_on_path(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(tool).is_file())
}

/// The process. It ends when this is dropped.
#[derive(Debug)]
struct Peers {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peers {
    fn start(language: Language, progress: &Progress) -> Result<Self, Failure> {
        progress.say("building the rivals");
        let mut command = match language {
            Language::Rust => Command::new(peers::built("rust", "millstream-peers")?),
            Language::Go => Command::new(peers::built_by_go()?),
            Language::Java => peers::built_by_maven("jvm", "millstream.Peers")?,
            Language::Flink => peers::built_by_maven("flink", "millstream.FlinkPeers")?,
        };
        let shown = format!("{command:?}");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
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
        // The rival ends at the end of its input.
        self.requests = None;
        let _ = self.child.wait();
    }
}
