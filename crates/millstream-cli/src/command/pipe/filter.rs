use super::answer::{Answer, Wrong};
use super::processes::Processes;
use crate::message::{cause, quoted};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;

/// A command that reads its standard input and writes its standard output.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    words: Arc<[OsString]>,
    /// The bytes of an answer that are kept in memory.
    most: usize,
    processes: Arc<Processes>,
}

impl Filter {
    /// A program by its name, and its arguments.
    ///
    /// # Panics
    ///
    /// Without a name.
    pub(crate) fn new(words: impl Into<Arc<[OsString]>>) -> Self {
        let words = words.into();
        assert!(!words.is_empty(), "a command has a name");
        Filter { words, most: usize::MAX, processes: Arc::default() }
    }

    /// With answers of at least so many bytes in temporary files and not in memory.
    #[must_use]
    pub(crate) fn most_in_memory(self, bytes: usize) -> Self {
        Filter { most: bytes, ..self }
    }

    /// Its processes.
    pub(super) fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    /// For those to whom it makes no difference which.
    pub(crate) fn cat() -> Self {
        Filter::new(["cat".into()])
    }

    /// The program's name, as messages write it.
    pub(super) fn name(&self) -> String {
        quoted(&self.words[0])
    }

    /// A process of it, both of whose ends are ours.
    ///
    /// It has a process group of its own: an interrupt from the keyboard is for us, who let it finish what was accepted.
    pub(super) fn start(&self) -> Result<Child, String> {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        self.processes
            .start(&mut command)
            .map_err(|error| format!("{} cannot be started: {}", self.name(), cause(&error)))
    }

    /// What a new process makes of these bytes and their end. It need not read them all, but must end with status 0.
    pub(super) fn answer(&self, bytes: &[u8]) -> Result<Answer, String> {
        let mut child = self.start()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = (input.expect("it is piped"), output.expect("it is piped"));
        // Both at once: it may write before it has read all, and neither pipe holds a block.
        let answer = thread::scope(|scope| {
            let feeder = thread::Builder::new().name("millstream-feeder".to_owned());
            let feeder = feeder.spawn_scoped(scope, move || feed(input, bytes)).map_err(Wrong::Reading)?;
            // Where this fails, the output is closed, so that the process does not wait for somebody who reads it.
            let answer = Answer::read(output, bytes.len(), self.most);
            // A process may close its output before it has read its input, so this is waited for in any case.
            let fed = feeder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            answer.and_then(|answer| fed.map(|()| answer).map_err(Wrong::Reading))
        });
        let ended = self.processes.end(&mut child);
        let in_its_name = |error: io::Error| format!("{}: {}", self.name(), cause(&error));
        let answer = answer.map_err(|wrong| match wrong {
            Wrong::Reading(error) => in_its_name(error),
            Wrong::Keeping(error) => {
                let (name, most) = (self.name(), self.most);
                format!("{name} wrote {most} bytes or more, and no temporary file takes them: {}", cause(&error))
            }
        })?;
        let status = ended.map_err(in_its_name)?;
        if status.success() { Ok(answer) } else { Err(format!("{} {}", self.name(), how_it_ended(status))) }
    }
}

/// Writes all that is wanted. Who has seen enough of it is no failure.
pub(super) fn feed(mut input: impl Write, bytes: &[u8]) -> io::Result<()> {
    match input.write_all(bytes) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        fed => fed,
    }
}

/// What a message says of a process that has ended.
pub(super) fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
