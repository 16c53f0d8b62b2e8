use super::answer::{Answer, Ending, Written, Wrong};
use super::filter::{Filter, feed, how_it_ended};
use super::job_log::Job;
use super::tagged::Tagged;
use super::watchdog::Watchdog;
use crate::message::cause;
use std::io;
use std::process::{Child, ExitStatus};
use std::thread;

/// The environment variable that holds the number of a process's block.
const NUMBER: &str = "MILLSTREAM_BLOCK";

impl Filter {
    /// The answer of a new process to these bytes and their end. The process need not read all of them. No process is
    /// started if the answer is no longer needed. A process that fails is tried again as often as the filter allows.
    pub(super) fn answer(&self, number: u64, bytes: &[u8]) -> Answer {
        if !self.admission().asks(number) {
            return Answer::empty(number, Ending::Skipped);
        }
        let mut left = self.retries();
        let answer = loop {
            let answer =
                self.attempt(number, bytes).unwrap_or_else(|why| Answer::empty(number, Ending::Broken(why.into())));
            if left == 0 || !matches!(answer.ending, Ending::Failed(_)) || self.admission().is_over(number) {
                break answer;
            }
            // Another try would begin another process. The run ends before this block, as if it had not been read.
            if self.admission().is_draining() {
                self.admission().end_at(number);
                break answer;
            }
            left -= 1;
        };
        self.answered(answer)
    }

    fn attempt(&self, number: u64, bytes: &[u8]) -> Result<Answer, String> {
        let in_its_name = |error: io::Error| format!("{}: {}", self.name(), cause(&error));
        let job = Job::begin(number);
        let mut command = self.command();
        command.env(NUMBER, number.to_string());
        let mut child = self.start(command, number)?;
        let watchdog = match self.timeout().map(|time| Watchdog::over(&child, self.processes(), time)).transpose() {
            Ok(watchdog) => watchdog,
            Err(error) => {
                self.processes().kill(&mut child);
                return Err(in_its_name(error));
            }
        };
        let written = self.exchange(&mut child, number, bytes);
        let ended = self.processes().end(&mut child);
        let late = watchdog.is_some_and(Watchdog::has_bitten);
        let written = written.map_err(|wrong| match wrong {
            Wrong::Reading(error) => in_its_name(error),
            Wrong::Keeping(error) => {
                let (name, most) = (self.name(), self.most());
                format!(
                    "cannot keep the output of {name}, {most} bytes or more, in a temporary file: {}",
                    cause(&error)
                )
            }
        })?;
        let status = ended.map_err(in_its_name)?;
        if let Some(log) = self.log() {
            log.ended(job, self.header().len() + bytes.len(), written.len(), status);
        }
        Ok(Answer { number, written, ending: self.judged(status, late) })
    }

    /// Writes a process's input and reads its output, both at once: the process may write before it has read
    /// everything, and neither pipe holds a whole block.
    fn exchange(&self, child: &mut Child, number: u64, bytes: &[u8]) -> Result<Written, Wrong> {
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = (input.expect("it is piped"), output.expect("it is piped"));
        thread::scope(|scope| {
            let feeder = thread::Builder::new().name("millstream-feeder".to_owned());
            let write = move || {
                let mut input = input;
                feed(&mut input, self.header()).and_then(|()| feed(&mut input, bytes))
            };
            let feeder = feeder.spawn_scoped(scope, write).map_err(Wrong::Reading)?;
            // An error here closes the output, so that the process does not wait for a reader.
            let written = if self.tags() {
                Written::read(Tagged::new(output, number, self.line_end()), bytes.len(), self.most())
            } else {
                Written::read(output, bytes.len(), self.most())
            };
            // A process may close its output before it has read its input, so the feeder is joined in any case.
            let fed = feeder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            written.and_then(|written| fed.map(|()| written).map_err(Wrong::Reading))
        })
    }

    /// The ending of a process with this status, which may have reached the time limit.
    fn judged(&self, status: ExitStatus, late: bool) -> Ending {
        match self.timeout() {
            Some(time) if late => {
                let what = format!("{} took longer than {time:?}, and was stopped", self.name());
                Ending::Failed(self.advised(None, &what).into())
            }
            _ if self.accepts(status) => Ending::Well,
            _ => {
                let what = format!("{} {}", self.name(), how_it_ended(status));
                Ending::Failed(self.advised(Some(status), &what).into())
            }
        }
    }
}
