//! What `cargo test` says about the tests that failed. It stands among thousands of lines, so it is kept, and printed
//! again at the end of the chore.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// The most lines that are kept of what one test printed. The panic is in the last ones.
const LINES: usize = 24;
/// The most bytes that are kept of a line.
const BYTES: usize = 400;
/// The most tests of which the lines are kept.
const TESTS: usize = 20;

/// After this long without output, the command is asked whether it has ended.
const AFTER_THE_END: Duration = Duration::from_secs(1);

/// The part of the output that the lines come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Tests,
    /// Within `---- NAME stdout ----`.
    Printed,
}

/// Reads the output line by line, and keeps the failures.
#[derive(Debug)]
pub(crate) struct Failures {
    part: Part,
    kept: Vec<String>,
    /// The lines of the test whose output is read, the heading first.
    printed: Vec<String>,
    tests: usize,
}

impl Default for Failures {
    fn default() -> Self {
        Failures { part: Part::Tests, kept: Vec::new(), printed: Vec::new(), tests: 0 }
    }
}

impl Failures {
    /// A line that a test program printed on its standard output.
    fn line(&mut self, line: &str) {
        if line.starts_with("---- ") && line.ends_with(" ----") {
            self.end_of_test();
            self.part = Part::Printed;
            self.printed.push(line.to_owned());
        } else if line == "failures:" || line.starts_with("test result:") {
            self.end_of_test();
        } else if self.part == Part::Printed {
            self.printed.push(shortened(line));
        }
    }

    /// A line of cargo itself: a program that failed, or that a signal ended, which no test says.
    fn line_of_cargo(&mut self, line: &str) {
        let line = line.trim_end();
        if line.starts_with("error: test failed") || line.contains("process didn't exit successfully") {
            self.kept.push(shortened(line));
        }
    }

    fn end_of_test(&mut self) {
        self.part = Part::Tests;
        let printed = mem::take(&mut self.printed);
        let Some((heading, lines)) = printed.split_first() else { return };
        self.tests += 1;
        if self.tests > TESTS {
            return;
        }
        let lines = lines.strip_suffix(&[String::new()]).unwrap_or(lines);
        self.kept.push(heading.clone());
        let left_out = lines.len().saturating_sub(LINES);
        if left_out > 0 {
            self.kept.push(format!("[{left_out} lines]"));
        }
        self.kept.extend_from_slice(&lines[left_out..]);
    }

    /// What is kept, a line each; empty if no failure was seen.
    fn kept(mut self) -> Vec<String> {
        self.end_of_test();
        if self.tests > TESTS {
            self.kept.push(format!("[{} more tests failed]", self.tests - TESTS));
        }
        self.kept
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(BYTES) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line.to_owned(),
    }
}

/// Which output of a test command a line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Tests,
    Cargo,
}

/// Runs the command, passes both of its outputs on while it does, and returns what they say about failures.
pub(crate) fn watch(command: &mut Command) -> io::Result<(ExitStatus, Vec<String>)> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (sender, lines) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        read(stdout, Output::Tests, sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        read(stderr, Output::Cargo, sender);
    }
    let mut tests = Failures::default();
    let mut of_cargo = Failures::default();
    let mut ended = None;
    loop {
        match lines.recv_timeout(AFTER_THE_END) {
            Ok((output, line)) => {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end_matches(['\n', '\r']);
                // An output that takes nothing more ends with the command: the exit code says the rest.
                match output {
                    Output::Tests => {
                        drop(io::stdout().write_all(&line));
                        tests.line(text);
                    }
                    Output::Cargo => {
                        drop(io::stderr().write_all(&line));
                        of_cargo.line_of_cargo(text);
                    }
                }
            }
            // A process that a test left behind may keep the outputs open.
            Err(RecvTimeoutError::Timeout) if ended.is_none() => ended = child.try_wait()?,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = match ended {
        Some(status) => status,
        None => child.wait()?,
    };
    let mut kept = tests.kept();
    kept.extend(of_cargo.kept());
    Ok((status, kept))
}

/// Sends each line of an output, with its end.
fn read(output: impl Read + Send + 'static, which: Output, lines: Sender<(Output, Vec<u8>)>) {
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if lines.send((which, mem::take(&mut line))).is_err() {
                break;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(stdout: &str, stderr: &str) -> Vec<String> {
        let mut tests = Failures::default();
        stdout.lines().for_each(|line| tests.line(line));
        let mut of_cargo = Failures::default();
        stderr.lines().for_each(|line| of_cargo.line_of_cargo(line));
        [tests.kept(), of_cargo.kept()].concat()
    }

    const OUTPUT: &str = "\
running 3 tests
test a ... ok
test b::c ... FAILED
test d ... FAILED

failures:

---- b::c stdout ----
one
thread 'b::c' panicked at src/lib.rs:3:5:
left is not right

---- d stdout ----

thread 'd' panicked at src/lib.rs:9:5:
late

failures:
    b::c
    d

test result: FAILED. 1 passed; 2 failed
";

    #[test]
    fn what_failed_tests_printed_is_kept_and_nothing_else() {
        let stderr = "   Compiling a\nerror: test failed, to rerun pass `-p a --lib`\n\nCaused by:\n  \
                      process didn't exit successfully: `a` (signal: 6, SIGABRT)\n";
        let kept = failures(OUTPUT, stderr);
        assert_eq!(
            kept.join("\n"),
            "---- b::c stdout ----\none\nthread 'b::c' panicked at src/lib.rs:3:5:\nleft is not right\n\
             ---- d stdout ----\n\nthread 'd' panicked at src/lib.rs:9:5:\nlate\n\
             error: test failed, to rerun pass `-p a --lib`\n  \
             process didn't exit successfully: `a` (signal: 6, SIGABRT)"
        );
        assert_eq!(failures("test a ... ok\ntest result: ok. 1 passed\n", ""), Vec::<String>::new());
    }

    #[test]
    fn of_long_output_the_end_is_kept() {
        let lines: String = (0..30).map(|line| format!("{line}\n")).collect();
        let kept = failures(&format!("---- a stdout ----\n{lines}\nfailures:\n"), "");
        assert_eq!(kept.len(), 2 + LINES);
        assert_eq!(kept[..3], ["---- a stdout ----", "[6 lines]", "6"]);
        let many: String = (0..25).map(|test| format!("---- {test} stdout ----\nlate\n")).collect();
        assert_eq!(failures(&many, "").last().unwrap(), "[5 more tests failed]");
    }

    #[cfg(unix)]
    #[test]
    fn a_process_that_is_left_behind_does_not_hold_the_end_up() {
        let (status, kept) = watch(Command::new("sh").args(["-c", "sleep 60 & exit 3"])).unwrap();
        assert_eq!((status.code(), kept), (Some(3), Vec::new()));
    }
}
