//! Runs work in a process of its own, whose memory no other work has used. The bench starts itself as that process.

use crate::failure::Failure;
use crate::memory::{peak_of, taken};
use crate::setting::Setting;
use std::ffi::OsString;
use std::io::{Write, stdout};
use std::process::{Command, Stdio};

/// The variable with the task of such a process: `CASE WHO ITEMS`.
const TASK: &str = "MILLSTREAM_BENCH_ALONE";

/// The work of such a process: from a case, a contestant and a number of items to a checksum.
pub(crate) type Go = fn(&Setting, &str, &str, u64) -> Result<u64, Failure>;

/// The cost of some work, measured from the start of its process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Alone {
    pub(crate) checksum: u64,
    /// All bytes that the work allocated, freed ones included.
    pub(crate) allocated: u64,
    /// The peak resident memory of the process, with its code and stacks, if the system reports it.
    pub(crate) peak: Option<u64>,
    /// Processor seconds of all threads in user mode, if the system counts that finely.
    pub(crate) user: Option<f64>,
}

/// Runs the work in another process.
pub(crate) fn run(case: &str, who: &str, items: u64) -> Result<Alone, Failure> {
    run_by(&[], case, who, items)
}

/// As [`run`], in a process that another program starts: `PREFIX.. PROGRAM`.
pub(crate) fn run_by(prefix: &[&str], case: &str, who: &str, items: u64) -> Result<Alone, Failure> {
    let exe = std::env::current_exe().map_err(Failure::io("this program's file"))?;
    let shown = format!("{case} {who} {items}");
    let mut words = prefix.iter().map(OsString::from).chain([exe.into_os_string()]);
    let mut command = Command::new(words.next().expect("this program is the last word"));
    command.args(words);
    // The options are the same, since they contain the rings' sizes.
    command.args(std::env::args_os().skip(1)).env(TASK, &shown).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(Failure::io(shown.clone()))?;
    let answer = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(Failure::Program(shown, output.status.to_string()));
    }
    parsed(&answer).ok_or_else(|| Failure::Program(shown, format!("it answered `{answer}`")))
}

/// In such a process, runs its task and prints the cost. Returns `None` in any other process.
pub(crate) fn asked(setting: impl FnOnce() -> Setting, go: Go) -> Option<Result<(), Failure>> {
    let task = std::env::var(TASK).ok()?;
    let work = || {
        let words: Vec<_> = task.split(' ').collect();
        let [case, who, items] = words[..] else { return Err(Failure::Program(task.clone(), "no task".to_owned())) };
        let items = items.parse().map_err(|error| Failure::Program(task.clone(), format!("{error}")))?;
        let (checksum, taken) = taken(|| go(&setting(), case, who, items))?;
        let numbers = [checksum, taken.allocated, peak_of("self").unwrap_or(0), user_ticks().unwrap_or(0)];
        let answer = numbers.map(|number| number.to_string()).join(" ");
        writeln!(stdout(), "{answer}").map_err(Failure::io("standard output"))
    };
    Some(work())
}

fn parsed(answer: &str) -> Option<Alone> {
    let numbers: Vec<u64> = answer.split_whitespace().map_while(|number| number.parse().ok()).collect();
    let [checksum, allocated, peak, ticks] = numbers[..] else { return None };
    let user = (ticks > 0).then(|| ticks as f64 / rustix::param::clock_ticks_per_second() as f64);
    Some(Alone { checksum, allocated, peak: (peak > 0).then_some(peak), user })
}

/// The user-mode processor time of this process until now: field 14, counted after the name.
fn user_ticks() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_four_numbers() {
        let ticks = rustix::param::clock_ticks_per_second();
        let answer = parsed(&format!("7 100 2000 {}\n", 2 * ticks)).unwrap();
        assert_eq!(answer, Alone { checksum: 7, allocated: 100, peak: Some(2000), user: Some(2.0) });
        let unknown = parsed("7 100 0 0").unwrap();
        assert_eq!((unknown.peak, unknown.user), (None, None));
        assert_eq!(parsed("7 100"), None);
        assert_eq!(parsed("thread panicked"), None);
    }
}
