//! Starts other programs, and reports their failures in full.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::failures;

/// Why a chore failed, and the exit code of that.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) code: u8,
}

pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// A failure with exit code 1.
pub(crate) fn failure(message: impl Into<String>) -> Failure {
    Failure { message: message.into(), code: 1 }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Variables that cargo sets for the program it runs. They are about xtask and must not reach the builds that xtask
/// starts.
const ABOUT_XTASK: [&str; 5] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];

/// A command, together with the line that is printed for it.
#[derive(Debug)]
pub(crate) struct Cmd {
    command: Command,
    shown: String,
}

impl Cmd {
    /// `program` with its arguments, started in the root of the workspace.
    pub(crate) fn new<S: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = S>) -> Self {
        let mut command = Command::new(program);
        let mut shown = program.to_owned();
        for arg in args {
            shown.push(' ');
            shown.push_str(&arg.as_ref().to_string_lossy());
            command.arg(arg);
        }
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if ABOUT_XTASK.iter().any(|prefix| name.starts_with(prefix)) {
                command.env_remove(name.as_ref());
            }
        }
        command.current_dir(root());
        Self { command, shown }
    }

    /// `cargo` with arguments that are split at white space.
    pub(crate) fn cargo(args: &str) -> Self {
        Self::new("cargo", args.split_whitespace())
    }

    /// Sets a variable, and shows it in the line.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref();
        self.shown = format!("{name}={:?} {}", value.to_string_lossy(), self.shown);
        self.command.env(name, value);
        self
    }

    /// Sets a variable unless the user has set it.
    pub(crate) fn env_default(self, name: &str, value: &str) -> Self {
        if std::env::var_os(name).is_some() {
            return self;
        }
        self.env(name, value)
    }

    /// Builds into a subdirectory of the target directory, so that other flags do not invalidate the ordinary builds.
    pub(crate) fn own_target(mut self, name: &str) -> Self {
        self.command.env("CARGO_TARGET_DIR", target_dir().join(name));
        self
    }

    /// Runs at the lowest priority: only on cores that nothing else wants.
    pub(crate) fn gives_way(mut self) -> Self {
        if cfg!(unix) {
            let mut nice = Command::new("nice");
            nice.args(["-n", "19"]).arg(self.command.get_program()).args(self.command.get_args());
            for (name, value) in self.command.get_envs() {
                match value {
                    Some(value) => nice.env(name, value),
                    None => nice.env_remove(name),
                };
            }
            if let Some(dir) = self.command.get_current_dir() {
                nice.current_dir(dir);
            }
            self.command = nice;
        }
        self
    }

    pub(crate) fn current_dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Prints the line and runs the command. Any exit code but 0 is a failure.
    pub(crate) fn run(self) -> Result {
        let shown = self.shown.clone();
        succeeded(&shown, self.status()?)
    }

    /// Runs the command, whatever its exit code, and returns what it writes, standard output first.
    pub(crate) fn output(mut self) -> Result<String> {
        eprintln!("   $ {}", self.shown);
        let output = self.command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| failure(format!("`{}` did not start: {error}", self.shown)))?;
        Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }

    /// As [`run`](Cmd::run), but prints all output at once at the end: for a command that runs in parallel to another
    /// one.
    pub(crate) fn run_then_show(mut self) -> Result {
        let output = self.command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| failure(format!("`{}` did not start: {error}", self.shown)))?;
        let printed = [output.stdout, output.stderr].concat();
        eprintln!("   $ {}\n{}", self.shown, String::from_utf8_lossy(&printed));
        succeeded(&self.shown, output.status)
    }

    /// As [`run`](Cmd::run), for a command that runs tests: the error ends with what the tests that failed printed.
    pub(crate) fn run_tests(mut self) -> Result {
        eprintln!("   $ {}", self.shown);
        let watched = failures::watch(&mut self.command);
        let (status, failures) =
            watched.map_err(|error| failure(format!("`{}` did not start: {error}", self.shown)))?;
        succeeded(&self.shown, status).map_err(|error| failure([vec![error.message], failures].concat().join("\n    ")))
    }

    /// Prints the line, runs the command and returns its exit code.
    pub(crate) fn run_passing_code(self) -> Result {
        let shown = self.shown.clone();
        let status = self.status()?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        match code {
            Some(0) => Ok(()),
            code => Err(Failure { message: format!("`{shown}` failed: {}", how(status)), code: code.unwrap_or(1) }),
        }
    }

    /// Runs the command without output. Returns whether it started and succeeded.
    pub(crate) fn succeeds(mut self) -> bool {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// The command itself and its line.
    pub(crate) fn into_parts(self) -> (Command, String) {
        (self.command, self.shown)
    }

    fn status(mut self) -> Result<ExitStatus> {
        eprintln!("   $ {}", self.shown);
        self.command.status().map_err(|error| failure(format!("`{}` did not start: {error}", self.shown)))
    }
}

/// Any exit code but 0 is a failure of the command with this line.
fn succeeded(shown: &str, status: ExitStatus) -> Result {
    if status.success() { Ok(()) } else { Err(failure(format!("`{shown}` failed: {}", how(status)))) }
}

/// An exit status in words.
pub(crate) fn how(status: ExitStatus) -> String {
    status.to_string()
}

/// The root of the workspace that this xtask belongs to.
pub(crate) fn root() -> PathBuf {
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map_or(own.clone(), Path::to_path_buf)
}

/// The directory of cargo's builds.
pub(crate) fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// Reads a text file. An error names it.
pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| failure(format!("cannot read {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_command_that_gives_way_keeps_its_variables_and_directory() {
        let command =
            Cmd::new("sh", ["-c", "echo $(nice) $ABOUT $(pwd)"]).env("ABOUT", "it").current_dir(Path::new("/"));
        assert_eq!(command.gives_way().output().unwrap(), "19 it /\n");
    }
}
