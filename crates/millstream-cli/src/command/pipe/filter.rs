use super::admission::Admission;
use super::answer::{Answer, Ending};
use super::job_log::JobLog;
use super::processes::Processes;
use crate::message::{cause, quoted};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A command that reads its standard input and writes its standard output.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    words: Arc<[OsString]>,
    /// Answers of fewer bytes stay in memory.
    most: usize,
    /// The exit statuses that are not failures.
    accepted: Arc<[u8]>,
    /// Whether the run goes on after a failure.
    keeps_going: bool,
    /// The time limit of a block.
    timeout: Option<Duration>,
    /// How often a failed block is tried again.
    retries: u64,
    /// Whether each line of the output begins with its number.
    tags: bool,
    line_end: u8,
    /// The beginning of each block.
    header: Arc<[u8]>,
    log: Option<Arc<JobLog>>,
    processes: Arc<Processes>,
    admission: Arc<Admission>,
}

impl Filter {
    /// A filter that runs a program, by its name, with arguments.
    ///
    /// # Panics
    ///
    /// If there is no name.
    pub(crate) fn new(words: impl Into<Arc<[OsString]>>) -> Self {
        let words = words.into();
        assert!(!words.is_empty(), "a command has a name");
        let processes = Arc::<Processes>::default();
        let admission = Admission::of(processes.clone()).into();
        Filter {
            words,
            most: usize::MAX,
            accepted: [0].into(),
            keeps_going: false,
            timeout: None,
            retries: 0,
            tags: false,
            line_end: b'\n',
            header: [].into(),
            log: None,
            processes,
            admission,
        }
    }

    /// Keeps answers of at least this many bytes in temporary files, not in memory.
    #[must_use]
    pub(crate) fn most_in_memory(self, bytes: usize) -> Self {
        Filter { most: bytes, ..self }
    }

    /// Accepts these exit statuses, besides 0.
    #[must_use]
    pub(crate) fn accepting(self, statuses: &[u8]) -> Self {
        let mut accepted = [&[0], statuses].concat();
        accepted.sort_unstable();
        accepted.dedup();
        Filter { accepted: accepted.into(), ..self }
    }

    /// Goes on after a failure, if `keeps_going`.
    #[must_use]
    pub(crate) fn keeping_going(self, keeps_going: bool) -> Self {
        Filter { keeps_going, ..self }
    }

    /// Sets the time limit of a block, and how often a failed block is tried again.
    #[must_use]
    pub(crate) fn trying(self, timeout: Option<Duration>, retries: u64) -> Self {
        Filter { timeout, retries, ..self }
    }

    /// Begins each line of the output with the number, if `tags`.
    #[must_use]
    pub(crate) fn tagging(self, tags: bool) -> Self {
        Filter { tags, ..self }
    }

    /// Sets the byte at the end of a line.
    #[must_use]
    pub(crate) fn with_line_end(self, line_end: u8) -> Self {
        Filter { line_end, ..self }
    }

    /// Begins each block with these lines.
    #[must_use]
    pub(super) fn with_header(self, header: Vec<u8>) -> Self {
        Filter { header: header.into(), ..self }
    }

    /// Logs each process as a line of a file.
    #[must_use]
    pub(super) fn logging(self, log: Arc<JobLog>) -> Self {
        Filter { log: Some(log), ..self }
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    pub(super) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    pub(super) fn retries(&self) -> u64 {
        self.retries
    }

    pub(super) fn tags(&self) -> bool {
        self.tags
    }

    pub(super) fn line_end(&self) -> u8 {
        self.line_end
    }

    pub(super) fn header(&self) -> &[u8] {
        &self.header
    }

    pub(super) fn log(&self) -> Option<&JobLog> {
        self.log.as_deref()
    }

    /// Whether the run goes on after a failure.
    pub(super) fn keeps_going(&self) -> bool {
        self.keeps_going
    }

    /// The processes of the command.
    pub(super) fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    /// The numbers for which the command is run.
    pub(super) fn admission(&self) -> &Arc<Admission> {
        &self.admission
    }

    /// A filter for uses in which any command will do.
    pub(crate) fn cat() -> Self {
        Filter::new(["cat".into()])
    }

    /// The program's name, as messages write it.
    pub(super) fn name(&self) -> String {
        quoted(&self.words[0])
    }

    /// The program and its arguments, as a shell reads them.
    pub(super) fn line(&self) -> String {
        self.words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// Prepares a process of the command, with pipes for its input and its output.
    ///
    /// The process has a process group of its own: an interrupt from the keyboard reaches only this program, which lets
    /// the process finish its work.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        command
    }

    /// Starts a process for the block or line of this number.
    pub(super) fn start(&self, mut command: Command, number: u64) -> Result<Child, String> {
        self.processes
            .start(&mut command, number)
            .map_err(|error| format!("{} cannot be started: {}{}", self.name(), cause(&error), self.hint(&error)))
    }

    /// Advice for a line that was meant for a shell: a single word with a space, and no program has that name.
    fn hint(&self, error: &io::Error) -> String {
        let [line] = &*self.words else { return String::new() };
        if error.kind() != ErrorKind::NotFound || !line.as_bytes().contains(&b' ') {
            return String::new();
        }
        format!(" (--shell {} runs it as a line of a shell)", self.name())
    }

    /// Whether a process that ended with this status has succeeded.
    pub(super) fn accepts(&self, status: ExitStatus) -> bool {
        status.code().and_then(|code| u8::try_from(code).ok()).is_some_and(|code| self.accepted.contains(&code))
    }

    /// Adds advice to a message.
    pub(super) fn advised(&self, status: Option<ExitStatus>, what: &str) -> String {
        let accept = status.and_then(|status| status.code()).filter(|code| (1..=255).contains(code)).map(|code| {
            let codes: Vec<String> = self.accepted.iter().map(u8::to_string).collect();
            format!("--accept {},{code} counts that as success", codes.join(","))
        });
        let go_on = (!self.keeps_going).then(|| "--keep-going continues after it".to_owned());
        let advice: Vec<String> = accept.into_iter().chain(go_on).collect();
        if advice.is_empty() { what.to_owned() } else { format!("{what} ({})", advice.join(", ")) }
    }

    /// Takes the answer to a number. The answer of a stopped process does not count. A failure ends the run, unless the
    /// filter keeps going.
    pub(super) fn answered(&self, answer: Answer) -> Answer {
        self.admission.answered();
        let number = answer.number;
        if self.admission.is_over(number) {
            return Answer::empty(number, Ending::Skipped);
        }
        match &answer.ending {
            Ending::Failed(_) if self.keeps_going => {}
            Ending::Failed(_) | Ending::Broken(_) => self.admission.end_at(number + 1),
            Ending::Well | Ending::Skipped => {}
        }
        answer
    }
}

/// Writes all bytes. A process that closes its input early is not a failure.
pub(super) fn feed(mut input: impl Write, bytes: &[u8]) -> io::Result<()> {
    match input.write_all(bytes) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        fed => fed,
    }
}

/// How a process ended, for a message.
pub(super) fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
