//! Kills programs that keep their state, at any moment, and starts them again.

mod databases;

use super::processes::{io, kept_in, violation};
use super::{Args, Random};
use crate::cmd::{Result, failure};
use crate::postgres::{self, server::Server};
use crate::tools::require_all;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The commands, and how often they take a snapshot.
const COMMANDS: [&str; 8] = [
    "spaces --snapshot-every 20",
    "wc --snapshot-every 10",
    "uppercase --snapshot-every 0.01s",
    "wc -lwcmL --snapshot-every 0.02s --shards 2",
    "spaces --snapshot-every 0.005s --snapshots 1 --shards 2",
    "uppercase --snapshot-every 1 --workers 2",
    "run words.mill --snapshot-every 0.02s",
    "run words.mill --snapshot-every 30 --shards 2",
];

/// The program as text, and what it writes beside standard output.
const WORDS: &str = "let line = lines;
line | where((length > 60)) | lines(\"long\");
line | map({n: length, first: .[0:1]}) | sum(.n, by: .first) | csv(\"sums\");
line | distinct(.[0:3])";
const FILES: [&str; 2] = ["long", "sums"];

/// The bytes of the text: each command takes some tenths of a second for it.
const BYTES: usize = 40 << 20;

/// A program that has died in this many lives is left alone, so that each round ends.
const MOST_LIVES: u64 = 25;

/// Kills for one sink, or for each that is there.
pub(super) fn run(args: &Args) -> Result {
    let sink = args.sink.as_deref();
    let chosen = |name| sink.is_none_or(|sink| sink == name);
    if chosen("file") {
        commands(args)?;
    }
    if chosen("sqlite") {
        databases::run(args, "sqlite", None)?;
    }
    if chosen("postgres") {
        let installed = if sink.is_some() { postgres::installed() } else { postgres::there() };
        match installed {
            Ok(programs) => {
                let server = Server::start(&programs).map_err(|error| failure(format!("the server: {error}")))?;
                databases::run(args, "postgres", Some(server))?;
            }
            Err(why) if sink.is_none() && !require_all() => println!("SKIPPED postgres: {why}"),
            Err(why) => return Err(failure(why)),
        }
    }
    Ok(())
}

/// Kills commands whose output is a file.
fn commands(args: &Args) -> Result {
    let program = args.built()?;
    let home = std::env::temp_dir().join(format!("millstream-chaos-state-{}", std::process::id()));
    fs::create_dir_all(&home).map_err(io("make a directory"))?;
    let mut random = Random(args.seed);
    fs::write(home.join("text"), text(&mut random)).map_err(io("write a text"))?;
    fs::write(home.join("words.mill"), WORDS).map_err(io("write a program"))?;
    let (mut killed, mut went_on) = (0, 0);
    for round in 0.. {
        let command = COMMANDS[round % COMMANDS.len()];
        let job = Job { program: &program, home: &home, command, round };
        let expected = job.undisturbed()?;
        let mut lives = 0;
        loop {
            lives += 1;
            let mut child = job.start()?;
            if killed < args.kills && lives < MOST_LIVES {
                sleep(Duration::from_micros(random.below(400_000)));
            } else {
                let status = child.wait().map_err(io("wait"))?;
                job.succeeded(status)?;
                break;
            }
            if let Some(status) = child.try_wait().map_err(io("wait"))? {
                job.succeeded(status)?;
                break;
            }
            child.kill().and_then(|()| child.wait().map(drop)).map_err(io("kill"))?;
            killed += 1;
        }
        let output = job.with_files(fs::read(job.output()).map_err(io("read the output"))?);
        went_on += u64::from(job.went_on());
        if let Some(at) = differs(&expected, &output) {
            let (length, undisturbed) = (output.len(), expected.len());
            return Err(kept_in(&home)(violation(format!(
                "`{command}` with {lives} lives: byte {at} of its {length} bytes of output differs from an undisturbed \
                 run's {undisturbed} bytes"
            ))));
        }
        println!("`{command}`: {lives} lives, {} bytes as they should be; {killed} killed by now", output.len());
        job.clear();
        if killed >= args.kills {
            break;
        }
    }
    if went_on == 0 && args.kills >= 20 {
        return Err(failure("no run went on at a snapshot: the kills prove nothing".to_owned()));
    }
    let _ = fs::remove_dir_all(&home);
    println!("{killed} killed; {went_on} runs had a life that went on at a snapshot");
    Ok(())
}

/// One command in one round.
struct Job<'a> {
    program: &'a Path,
    home: &'a Path,
    command: &'a str,
    round: usize,
}

impl Job<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.home.join(format!("{name}-{}", self.round))
    }

    fn output(&self) -> PathBuf {
        self.path("output")
    }

    /// The output of a run without a kill, and without a state.
    fn undisturbed(&self) -> Result<Vec<u8>> {
        let words: Vec<&str> = self.command.split(' ').collect();
        let without = |flag: &&&str| flag.starts_with("--snapshot");
        let mut kept = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if without(&word) {
                words.next();
            } else {
                kept.push(*word);
            }
        }
        let output = Command::new(self.program).args(kept).arg("text").current_dir(self.home).output();
        let output = output.map_err(|error| failure(format!("cannot start: {error}")))?;
        self.succeeded(output.status)?;
        Ok(self.with_files(output.stdout))
    }

    /// The output, and after it the files that were written beside it, which are removed.
    fn with_files(&self, mut output: Vec<u8>) -> Vec<u8> {
        for path in FILES.map(|name| self.home.join(name)) {
            output.extend(fs::read(&path).unwrap_or_default());
            let _ = fs::remove_file(path);
        }
        output
    }

    fn start(&self) -> Result<Child> {
        let append = |name: &str| File::options().append(true).create(true).open(self.path(name));
        let (output, errors) = append("output")
            .and_then(|output| Ok((output, append("errors")?)))
            .map_err(|error| failure(format!("cannot open the output: {error}")))?;
        let mut command = Command::new(self.program);
        command.args(self.command.split(' ')).arg("--state").arg(self.path("state")).arg("text");
        command.current_dir(self.home).stdin(Stdio::null()).stdout(output).stderr(errors);
        command.spawn().map_err(|error| failure(format!("cannot start {}: {error}", self.program.display())))
    }

    fn succeeded(&self, status: ExitStatus) -> Result {
        let errors = fs::read_to_string(self.path("errors")).unwrap_or_default();
        let why = || failure(format!("`{}` ended with {status}, in {}:\n{errors}", self.command, self.home.display()));
        if status.success() { Ok(()) } else { Err(why()) }
    }

    /// Whether one of its lives began at a snapshot.
    fn went_on(&self) -> bool {
        fs::read_to_string(self.path("errors")).is_ok_and(|errors| errors.contains("goes on at number"))
    }

    fn clear(&self) {
        let _ = fs::remove_dir_all(self.path("state"));
        for name in ["output", "errors"] {
            let _ = fs::remove_file(self.path(name));
        }
    }
}

/// The first byte that is not the same in both.
fn differs(expected: &[u8], output: &[u8]) -> Option<usize> {
    let first = expected.iter().zip(output).position(|(one, other)| one != other);
    first.or_else(|| (expected.len() != output.len()).then(|| expected.len().min(output.len())))
}

/// Lines of words, some of them long, some empty, and some with more than one byte a character.
fn text(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::with_capacity(BYTES + 1000);
    while text.len() < BYTES {
        for _ in 0..random.below(20) {
            let letters = 1 + random.below(12);
            let first = random.below(26);
            (0..letters).for_each(|letter| text.push(b'a' + u8::try_from((first + letter * 7) % 26).unwrap_or(0)));
            if random.below(30) == 0 {
                text.extend("\u{e9}\u{4e16}".as_bytes());
            }
            text.push(b' ');
        }
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::differs;

    #[test]
    fn the_first_difference_is_found() {
        assert_eq!(differs(b"abc", b"abc"), None);
        assert_eq!(differs(b"abc", b"abd"), Some(2));
        assert_eq!(differs(b"abc", b"ab"), Some(2));
        assert_eq!(differs(b"", b"x"), Some(0));
    }
}
