use super::admission::Admission;
use super::answer::{Answer, Ending, Written, Wrong};
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
    /// The exit statuses that are no failure.
    accepted: Arc<[u8]>,
    /// Whether a failure is not the end.
    keeps_going: bool,
    processes: Arc<Processes>,
    admission: Arc<Admission>,
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
        let processes = Arc::<Processes>::default();
        let admission = Admission::of(processes.clone()).into();
        Filter { words, most: usize::MAX, accepted: [0].into(), keeps_going: false, processes, admission }
    }

    /// With answers of at least so many bytes in temporary files and not in memory.
    #[must_use]
    pub(crate) fn most_in_memory(self, bytes: usize) -> Self {
        Filter { most: bytes, ..self }
    }

    /// With these exit statuses as no failure, besides 0.
    #[must_use]
    pub(crate) fn accepting(self, statuses: &[u8]) -> Self {
        let mut accepted = [&[0], statuses].concat();
        accepted.sort_unstable();
        accepted.dedup();
        Filter { accepted: accepted.into(), ..self }
    }

    /// Asked on behind a failure, if `keeps_going`.
    #[must_use]
    pub(crate) fn keeping_going(self, keeps_going: bool) -> Self {
        Filter { keeps_going, ..self }
    }

    /// Whether a failure is not the end.
    pub(super) fn keeps_going(&self) -> bool {
        self.keeps_going
    }

    /// Its processes.
    pub(super) fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    /// What it is asked for.
    pub(super) fn admission(&self) -> &Arc<Admission> {
        &self.admission
    }

    /// For those to whom it makes no difference which.
    pub(crate) fn cat() -> Self {
        Filter::new(["cat".into()])
    }

    /// The program's name, as messages write it.
    pub(super) fn name(&self) -> String {
        quoted(&self.words[0])
    }

    /// A process of it, both of whose ends are ours, for a block or a line of this number.
    ///
    /// It has a process group of its own: an interrupt from the keyboard is for us, who let it finish what it has
    /// begun.
    pub(super) fn start(&self, number: u64) -> Result<Child, String> {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        self.processes
            .start(&mut command, number)
            .map_err(|error| format!("{} cannot be started: {}", self.name(), cause(&error)))
    }

    /// Whether a process that has ended so has not failed.
    pub(super) fn accepts(&self, status: ExitStatus) -> bool {
        status.code().and_then(|code| u8::try_from(code).ok()).is_some_and(|code| self.accepted.contains(&code))
    }

    /// With what can be done about it.
    pub(super) fn advised(&self, status: ExitStatus, what: &str) -> String {
        let accept = status.code().filter(|code| (1..=255).contains(code)).map(|code| {
            let codes: Vec<String> = self.accepted.iter().map(u8::to_string).collect();
            format!("--accept {},{code} takes that for success", codes.join(","))
        });
        let go_on = (!self.keeps_going).then(|| "--keep-going goes on behind it".to_owned());
        let advice: Vec<String> = accept.into_iter().chain(go_on).collect();
        if advice.is_empty() { what.to_owned() } else { format!("{what} ({})", advice.join(", ")) }
    }

    /// What a new process makes of these bytes and their end. It need not read them all. If nothing is to be asked any
    /// more, none is started.
    pub(super) fn answer(&self, number: u64, bytes: &[u8]) -> Answer {
        if !self.admission.asks(number) {
            return Answer::empty(number, Ending::Skipped);
        }
        let answer = self.run(number, bytes).unwrap_or_else(|why| Answer::empty(number, Ending::Broken(why.into())));
        self.answered(answer)
    }

    /// The answer to a number that was asked, as it counts: what was stopped is no answer. A failure is the end, unless
    /// it is one behind which it goes on.
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

    fn run(&self, number: u64, bytes: &[u8]) -> Result<Answer, String> {
        let mut child = self.start(number)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = (input.expect("it is piped"), output.expect("it is piped"));
        // Both at once: it may write before it has read all, and neither pipe holds a block.
        let written = thread::scope(|scope| {
            let feeder = thread::Builder::new().name("millstream-feeder".to_owned());
            let feeder = feeder.spawn_scoped(scope, move || feed(input, bytes)).map_err(Wrong::Reading)?;
            // Where this fails, the output is closed, so that the process does not wait for somebody who reads it.
            let written = Written::read(output, bytes.len(), self.most);
            // A process may close its output before it has read its input, so this is waited for in any case.
            let fed = feeder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            written.and_then(|written| fed.map(|()| written).map_err(Wrong::Reading))
        });
        let ended = self.processes.end(&mut child);
        let in_its_name = |error: io::Error| format!("{}: {}", self.name(), cause(&error));
        let written = written.map_err(|wrong| match wrong {
            Wrong::Reading(error) => in_its_name(error),
            Wrong::Keeping(error) => {
                let (name, most) = (self.name(), self.most);
                format!("{name} wrote {most} bytes or more, and no temporary file takes them: {}", cause(&error))
            }
        })?;
        let status = ended.map_err(in_its_name)?;
        let ending = if self.accepts(status) {
            Ending::Well
        } else {
            let what = format!("{} {}", self.name(), how_it_ended(status));
            Ending::Failed(self.advised(status, &what).into())
        };
        Ok(Answer { number, written, ending })
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
