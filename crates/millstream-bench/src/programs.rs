//! Programs as a shell puts them together: one behind the other, a pipe between two.

use crate::failure::Failure;
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
    /// None: there is nothing to read.
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
    /// Programs, of which the first reads this file.
    pub(crate) fn reading(file: &Path) -> Self {
        Chain { input: Some(file.to_owned()), links: Vec::new() }
    }

    /// Programs, of which the first reads nothing.
    pub(crate) fn of_nothing() -> Self {
        Chain { input: None, links: Vec::new() }
    }

    /// And behind them this one, in C's own locale.
    pub(crate) fn then<A: Into<OsString>>(
        mut self,
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        self.links.push(Link { program: program.into(), args, locale: "C" });
        self
    }

    /// The same with another program in front of the first one, which it is to run: `PREFIX ARGS.. PROGRAM`.
    pub(crate) fn behind(&self, prefix: &str, args: impl IntoIterator<Item = OsString>) -> Self {
        let mut chain = self.clone();
        if let Some(Link { program, args: own, .. }) = chain.links.first_mut() {
            let program = std::mem::replace(program, prefix.into());
            *own = args.into_iter().chain([program]).chain(std::mem::take(own)).collect();
        }
        chain
    }

    /// The last one in another locale.
    pub(crate) fn in_locale(mut self, locale: &'static str) -> Self {
        if let Some(link) = self.links.last_mut() {
            link.locale = locale;
        }
        self
    }

    /// Runs it; what comes out is thrown away.
    pub(crate) fn timed(&self) -> Result<Duration, Failure> {
        let started = Instant::now();
        self.start(Stdio::null())?.0.end()?;
        Ok(started.elapsed())
    }

    /// Runs it; all that comes out.
    pub(crate) fn output(&self) -> Result<Vec<u8>, Failure> {
        self.read_by(|mut output| {
            let mut all = Vec::new();
            output.read_to_end(&mut all).map(|_| all)
        })
    }

    /// Runs it; a hash of what comes out.
    pub(crate) fn hash(&self) -> Result<u64, Failure> {
        self.read_by(|output| {
            let mut hash = Hash::default();
            io::copy(&mut BufReader::with_capacity(1 << 16, output), &mut hash).map(|_| hash.finish())
        })
    }

    /// Somebody who runs this, whose output was hashed in a run of its own.
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

/// Whether a program is there. If not, says who is left out for it; where nothing may be left out, that is a failure.
pub(crate) fn is_here(program: &str, who: &str) -> Result<bool, Failure> {
    let here = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !here {
        let reason = format!("there is no {program}");
        if std::env::var("MILLSTREAM_REQUIRE").as_deref() == Ok("all") {
            return Err(Failure::Program(who.to_owned(), reason));
        }
        eprintln!("SKIPPED {who}: {reason}");
    }
    Ok(here)
}

/// `yes | pv` for so many bytes: what a pipe carries here when nobody does anything with it. None where there is no `pv`.
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

/// Programs that run.
struct Running(Vec<(Child, String)>);

impl Running {
    /// Waits for all of them; each has to succeed, but all in front of the last may find that nobody reads any more.
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
    /// Where some could not be started, the others have no end of their own.
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
    fn programs_stand_one_behind_the_other() {
        let chain = shell("echo to be; echo or not").then("tail", ["-n", "1"]).then("tr", ["a-z", "A-Z"]);
        assert_eq!(chain.output().unwrap(), b"OR NOT\n");
        assert_eq!(chain.hash().unwrap(), shell("echo OR NOT").hash().unwrap());
        chain.timed().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "text").unwrap();
        assert_eq!(Chain::reading(file.path()).then("cat", [""; 0]).output().unwrap(), b"text");
    }

    #[test]
    fn a_failure_anywhere_is_one() {
        for chain in [shell("exit 3").then("cat", [""; 0]), shell("echo").then("false", [""; 0])] {
            assert!(matches!(chain.timed(), Err(Failure::Program(..))));
        }
        assert!(matches!(shell("echo").then("no-such-program", [""; 0]).timed(), Err(Failure::Io { .. })));
        // Not to find a reader is none, but for the last one.
        shell("exec yes").then("head", ["-n", "1"]).timed().unwrap();
    }
}
