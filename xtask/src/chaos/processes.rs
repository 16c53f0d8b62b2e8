//! The processes of a program that listens, one of which serves.

use crate::chaos::clients::Posts;
use crate::chaos::{Args, Random};
use crate::cmd::{Failure, Result, failure};
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A program that does not answer for this long is broken.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A violation of what the program promises, which must never occur.
pub(super) fn violation(message: String) -> Failure {
    Failure { message, code: 4 }
}

/// Adds to a failure where all files are.
pub(super) fn kept_in(home: &Path) -> impl Fn(Failure) -> Failure + Copy {
    move |Failure { message, code }| Failure { message: format!("{message}; all is in {}", home.display()), code }
}

pub(super) fn io(doing: &'static str) -> impl Fn(std::io::Error) -> Failure {
    move |error| failure(format!("cannot {doing}: {error}"))
}

/// What no process may say.
const COMPLAINTS: [&str; 2] = ["panicked", "could not be stored"];

fn complains(said: &str) -> bool {
    COMPLAINTS.iter().any(|complaint| said.contains(complaint))
}

/// The place of a program that is disturbed.
pub(super) struct Place {
    pub(super) program: PathBuf,
    /// The directory of all its files.
    pub(super) home: PathBuf,
    /// It listens at this port of this machine.
    pub(super) port: u16,
    pub(super) snapshot_every: String,
}

impl Place {
    /// Disturbs a program in a place of its own, and prints how that went. After a failure the files are left there.
    pub(super) fn disturbed(args: &Args, disturb: impl FnOnce(Place) -> Result<String>) -> Result {
        let program = args.built()?;
        let home = std::env::temp_dir().join(format!("millstream-chaos-{}-{}", args.what, std::process::id()));
        fs::create_dir_all(&home).map_err(io("make a directory"))?;
        let (port, snapshot_every) = (free_port()?, format!("{}s", args.snapshot_every.as_deref().unwrap_or("0.05")));
        let ended = disturb(Place { program, home: home.clone(), port, snapshot_every });
        println!("{}", ended.and_then(|said| no_complaints(&home).map(|()| said)).map_err(kept_in(&home))?);
        let _ = fs::remove_dir_all(&home);
        Ok(())
    }
}

/// What all processes have said, by the file.
pub(super) fn all_said(home: &Path) -> impl Iterator<Item = (PathBuf, String)> {
    let files = fs::read_dir(home).into_iter().flatten().flatten().map(|file| file.path());
    let said = files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("said-")));
    said.filter_map(|path| fs::read_to_string(&path).ok().map(|text| (path, text)))
}

fn no_complaints(home: &Path) -> Result {
    match all_said(home).find(|(_, said)| complains(said)) {
        Some((file, said)) => Err(violation(format!("{}: {said}", file.display()))),
        None => Ok(()),
    }
}

/// A port that no program of this machine has.
pub(super) fn free_port() -> Result<u16> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    Ok(port.map_err(io("find a port"))?.port())
}

/// A program that listens, and keeps its state.
pub(super) trait Service {
    type Posts: Posts;

    fn place(&self) -> &Place;

    /// The command of its process with this number. `program` is its file.
    fn command(&self, program: &Path, number: u64) -> Result<Command>;

    /// Whether a process that has said this has the state, and answers.
    fn has_begun(&self, said: &str) -> bool;

    /// Asks whether it answers, and what it answers.
    fn answers(&self, within: Duration) -> Result;

    /// The requests of the client with this name.
    fn posts(&self, name: String, random: Random) -> Self::Posts;

    /// Starts a process, which says what it does in a file of its own.
    fn start(&self, program: &Path, number: u64, more: &[&str]) -> Result<Process> {
        let said = self.place().home.join(format!("said-{number}"));
        let errors = File::options().append(true).create(true).open(&said).map_err(io("open a file"))?;
        let mut command = self.command(program, number)?;
        let child = command.args(more).stdin(Stdio::null()).stderr(errors).spawn();
        let child = child.map_err(|error| failure(format!("cannot start {}: {error}", program.display())))?;
        Ok(Process { child, said })
    }
}

/// A process, and what it says. It does not outlive this, also where the chaos ends with a violation.
pub(super) struct Process {
    child: Child,
    pub(super) said: PathBuf,
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.kill();
    }
}

impl Process {
    pub(super) fn has_said(&self, text: &str) -> bool {
        self.text().contains(text)
    }

    /// The process has ended as it should: its words are needed no more, unless it complains.
    pub(super) fn forget(&self) {
        if !complains(&self.text()) {
            let _ = fs::remove_file(&self.said);
        }
    }

    pub(super) fn text(&self) -> String {
        fs::read_to_string(&self.said).unwrap_or_default()
    }

    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().map_err(io("wait"))
    }

    pub(super) fn kill(&mut self) -> Result {
        self.child.kill().and_then(|()| self.child.wait().map(drop)).map_err(io("kill"))
    }

    /// Waits until it serves; `false` if it has ended before.
    pub(super) fn begins(&mut self, service: &impl Service) -> Result<bool> {
        let since = Instant::now();
        while !service.has_begun(&self.text()) {
            if self.ended()?.is_some() {
                return Ok(false);
            }
            if since.elapsed() > PATIENCE {
                return Err(violation(format!("it does not begin: {}", self.said.display())));
            }
            sleep(Duration::from_millis(1));
        }
        Ok(true)
    }

    /// Ends it by SIGTERM, after which it answers what it has accepted.
    pub(super) fn terminate(&mut self) -> Result {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            match self.ended()? {
                Some(status) if status.code() == Some(143) => return Ok(()),
                Some(status) => return Err(violation(format!("after SIGTERM it ended with {status}"))),
                None => sleep(Duration::from_millis(5)),
            }
        }
        Err(violation("it does not end after SIGTERM".to_owned()))
    }
}
