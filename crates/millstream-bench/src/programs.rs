//! Programs in a shell's pipeline: one after the other, with a pipe between two.

use crate::failure::{Failure, skip};
use crate::hash::Hash;
use crate::turns::Contestant;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// `A < FILE | B | C`.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// The input file; without one there is nothing to read.
    input: Option<PathBuf>,
    links: Vec<Link>,
}

#[derive(Clone, Debug)]
struct Link {
    program: OsString,
    args: Vec<OsString>,
    locale: &'static str,
}

impl Chain {
    /// A chain whose first program reads this file.
    pub(crate) fn reading(file: &Path) -> Self {
        Chain { input: Some(file.to_owned()), links: Vec::new() }
    }

    /// A chain whose first program reads nothing.
    pub(crate) fn of_nothing() -> Self {
        Chain { input: None, links: Vec::new() }
    }

    /// Adds a program to the end, in the locale C.
    pub(crate) fn then<A: Into<OsString>>(
        mut self,
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        self.links.push(Link { program: program.into(), args, locale: "C" });
        self
    }

    /// The same chain, whose first program is run by another one: `PREFIX ARGS.. PROGRAM`.
    pub(crate) fn run_by(&self, prefix: &str, args: impl IntoIterator<Item = OsString>) -> Self {
        let mut chain = self.clone();
        if let Some(Link { program, args: own, .. }) = chain.links.first_mut() {
            let program = std::mem::replace(program, prefix.into());
            *own = args.into_iter().chain([program]).chain(std::mem::take(own)).collect();
        }
        chain
    }

    /// Sets the locale of the last program.
    pub(crate) fn in_locale(mut self, locale: &'static str) -> Self {
        if let Some(link) = self.links.last_mut() {
            link.locale = locale;
        }
        self
    }

    /// Runs it, and drops its output.
    pub(crate) fn timed(&self) -> Result<Duration, Failure> {
        let started = Instant::now();
        self.start(Stdio::null())?.0.end()?;
        Ok(started.elapsed())
    }

    /// Runs it. Returns its output.
    pub(crate) fn output(&self) -> Result<Vec<u8>, Failure> {
        self.read_by(|mut output| {
            let mut all = Vec::new();
            output.read_to_end(&mut all).map(|_| all)
        })
    }

    /// Runs it. Returns a hash of its output.
    pub(crate) fn hash(&self) -> Result<u64, Failure> {
        self.read_by(|output| {
            let mut hash = Hash::default();
            io::copy(&mut BufReader::with_capacity(1 << 16, output), &mut hash).map(|_| hash.finish())
        })
    }

    /// A contestant that runs this. Its output is hashed in a run of its own.
    pub(crate) fn contestant<'a>(self, who: &'static str, expected: u64) -> Result<Contestant<'a, u64>, Failure> {
        let hash = self.hash()?;
        Ok(Contestant::away(who, expected, move || Ok((hash, self.timed()?))))
    }

    fn read_by<R>(&self, read: impl FnOnce(ChildStdout) -> io::Result<R>) -> Result<R, Failure> {
        let (running, output) = self.start(Stdio::piped())?;
        let result = read(output.expect("it is piped")).map_err(Failure::io(self.shown()));
        running.end()?;
        result
    }

    fn start(&self, output: Stdio) -> Result<(Running, Option<ChildStdout>), Failure> {
        let mut running = Running(Vec::new());
        let mut input = match &self.input {
            None => Stdio::null(),
            Some(file) => File::open(file).map_err(Failure::io(format!("{}", file.display())))?.into(),
        };
        let mut output = Some(output);
        let mut last = None;
        for (left, link) in (0..self.links.len()).rev().zip(&self.links) {
            let mut command = Command::new(&link.program);
            command.args(&link.args).env("LC_ALL", link.locale).stdin(input);
            let to = if left > 0 { None } else { output.take() };
            command.stdout(to.unwrap_or_else(Stdio::piped));
            let shown = format!("{command:?}");
            let mut child = command.spawn().map_err(Failure::io(shown.clone()))?;
            let from = child.stdout.take();
            running.0.push((child, shown));
            input = Stdio::null();
            match from {
                Some(from) if left > 0 => input = from.into(),
                from => last = from,
            }
        }
        Ok((running, last))
    }

    fn shown(&self) -> String {
        let links = self.links.iter().map(|link| link.program.to_string_lossy());
        links.collect::<Vec<_>>().join(" | ")
    }
}

/// Whether a program is installed. If not, prints the contestants that are left out. With MILLSTREAM_REQUIRE=all that
/// is a failure.
pub(crate) fn is_here(program: &str, who: &str) -> Result<bool, Failure> {
    let here = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !here {
        skip(who, &format!("there is no {program}"))?;
    }
    Ok(here)
}

/// `yes | pv` for this many bytes: the speed of a pipe without any work. `None` if there is no `pv`.
pub(crate) fn yes_pv<'a>(bytes: u64) -> Result<Option<Contestant<'a, u64>>, Failure> {
    const LINE: &[u8] = b"abcdefg\n";
    if !is_here("pv", "yes-pv")? {
        return Ok(None);
    }
    let mut expected = Hash::default();
    let text = LINE.repeat(1 << 10);
    let mut left = bytes;
    while left > 0 {
        let piece = text.len().min(left.try_into().unwrap_or(usize::MAX));
        expected.write_all(&text[..piece]).map_err(Failure::io("a hash"))?;
        left -= piece as u64;
    }
    let size = bytes.to_string();
    let chain = Chain::of_nothing().then("yes", ["abcdefg"]).then("pv", ["-q", "-S", "-s", &size]);
    chain.contestant("yes-pv", expected.finish()).map(Some)
}

/// Running programs.
struct Running(Vec<(Child, String)>);

impl Running {
    /// Waits for all of them. Each must succeed, but all before the last may end with a broken pipe.
    fn end(mut self) -> Result<(), Failure> {
        let mut ended = Ok(());
        let last = self.0.len() - 1;
        for (i, (child, shown)) in self.0.iter_mut().enumerate() {
            let status = child.wait().map_err(Failure::io(shown.clone()))?;
            if !status.success() && (i == last || !is_broken_pipe(status)) {
                ended = ended.and(Err(Failure::Program(shown.clone(), status.to_string())));
            }
        }
        self.0.clear();
        ended
    }
}

impl Drop for Running {
    /// If one of them could not be started, the others would not end by themselves.
    fn drop(&mut self) {
        for (child, _) in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn is_broken_pipe(status: ExitStatus) -> bool {
    const SIGPIPE: i32 = 13;
    status.signal() == Some(SIGPIPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Chain {
        Chain::of_nothing().then("sh", ["-c", script])
    }

    #[test]
    fn programs_run_one_after_the_other() {
        let chain = shell("echo to be; echo or not").then("tail", ["-n", "1"]).then("tr", ["a-z", "A-Z"]);
        assert_eq!(chain.output().unwrap(), b"OR NOT\n");
        assert_eq!(chain.hash().unwrap(), shell("echo OR NOT").hash().unwrap());
        chain.timed().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "text").unwrap();
        assert_eq!(Chain::reading(file.path()).then("cat", [""; 0]).output().unwrap(), b"text");
    }

    #[test]
    fn a_failure_of_any_program_is_a_failure() {
        for chain in [shell("exit 3").then("cat", [""; 0]), shell("echo").then("false", [""; 0])] {
            assert!(matches!(chain.timed(), Err(Failure::Program(..))));
        }
        assert!(matches!(shell("echo").then("no-such-program", [""; 0]).timed(), Err(Failure::Io { .. })));
        // A broken pipe is no failure, except for the last program.
        shell("exec yes").then("head", ["-n", "1"]).timed().unwrap();
    }
}
