//! `cargo xtask mutants`: does a test fail when the code is broken?
//!
//! Every patch of mutants/ is applied to a copy of the working tree. The test that it names must then fail, or hang. A
//! mutant that does not apply or compile shows nothing, and is an error.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use crate::cmd::{Cmd, Result, failure, how, read, root, target_dir};
use crate::patch::Mutant;
use crate::tree::Tree;

/// The mutants to judge.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Names of mutants; all of them if none is given
    names: Vec<String>,
    /// Stop after this many minutes, and name the mutants that were not judged
    #[arg(long)]
    minutes: Option<u64>,
}

pub(crate) fn run(args: &Args) -> Result {
    let mutants = chosen(all()?, &args.names)?;
    if mutants.is_empty() {
        println!("no mutants in mutants/");
        return Ok(());
    }
    let place = target_dir().join("mutants");
    let until = args.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let bench = Bench { tree: Tree::copy_to(&place.join("tree"))?, log: place.join("log"), place, until };
    fs::create_dir_all(&bench.log)
        .map_err(|error| failure(format!("cannot create {}: {error}", bench.log.display())))?;
    let mut sound = BTreeSet::new();
    let (mut survived, mut errors) = (0_usize, 0_usize);
    for (judged, mutant) in mutants.iter().enumerate() {
        let verdict = bench.judge(mutant, &mut sound);
        if bench.until.is_some_and(|until| Instant::now() >= until) {
            // Its work was ended, and proves nothing.
            let names: Vec<&str> = mutants[judged..].iter().map(|mutant| mutant.name.as_str()).collect();
            println!("NOT JUDGED, out of time: {}", names.join(" "));
            if judged == 0 {
                return Err(failure("no mutant was judged within the time"));
            }
            break;
        }
        match verdict {
            Ok(Verdict::Killed(by)) => println!("killed {} ({by})", mutant.name),
            Ok(Verdict::Survived) => {
                println!("SURVIVED {}", mutant.name);
                survived += 1;
            }
            Err(error) => {
                println!("ERROR {}: {}", mutant.name, error.message);
                errors += 1;
            }
        }
    }
    if survived + errors == 0 {
        return Ok(());
    }
    Err(failure(format!("of {} mutants {survived} survived and {errors} could not be judged", mutants.len())))
}

/// The mutants of mutants/, in the order of their file names.
pub(crate) fn all() -> Result<Vec<Mutant>> {
    let Ok(entries) = fs::read_dir(root().join("mutants")) else {
        return Ok(Vec::new());
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "patch")).collect();
    files.sort();
    let mut found: Vec<Mutant> = Vec::new();
    for file in files {
        let wrong = |why| failure(format!("{}: {why}", file.display()));
        let mutant = Mutant::parse(&file, &read(&file)?).map_err(wrong)?;
        if found.iter().any(|known| known.name == mutant.name) {
            return Err(wrong(format!("another mutant is named {} too", mutant.name)));
        }
        found.push(mutant);
    }
    Ok(found)
}

fn chosen(mut mutants: Vec<Mutant>, names: &[String]) -> Result<Vec<Mutant>> {
    for name in names {
        if !mutants.iter().any(|mutant| mutant.name == *name) {
            return Err(failure(format!("no mutant is named {name}")));
        }
    }
    mutants.retain(|mutant| names.is_empty() || names.contains(&mutant.name));
    Ok(mutants)
}

#[derive(Debug)]
enum Verdict {
    Killed(String),
    Survived,
}

#[derive(Debug)]
enum Ran {
    Passed,
    Failed(ExitStatus),
    Hung,
}

/// The place where mutants are built and judged.
#[derive(Debug)]
struct Bench {
    tree: Tree,
    place: PathBuf,
    log: PathBuf,
    /// The time at which the present command is ended.
    until: Option<Instant>,
}

impl Bench {
    /// Judges one mutant. `sound` remembers the tests that pass on the unbroken code.
    fn judge(&self, mutant: &Mutant, sound: &mut BTreeSet<String>) -> Result<Verdict> {
        eprintln!("-- {}: cargo test {}", mutant.name, mutant.kills.join(" "));
        let key = mutant.judge();
        if !sound.contains(&key) {
            self.passes_unbroken(mutant)?;
            sound.insert(key);
        }
        let log = self.log.join(format!("{}.txt", mutant.name));
        self.tree.with_patch(&mutant.file, &mutant.touches, || {
            self.compiles(mutant, &log)?;
            let seconds = mutant.timeout.as_secs();
            Ok(match self.test(mutant, &log)? {
                Ran::Passed => Verdict::Survived,
                Ran::Failed(status) => Verdict::Killed(format!("the test failed: {}", how(status))),
                Ran::Hung => Verdict::Killed(format!("the test hung: no end in {seconds} s")),
            })
        })
    }

    fn passes_unbroken(&self, mutant: &Mutant) -> Result {
        let log = self.log.join(format!("{}.unbroken.txt", mutant.name));
        self.compiles(mutant, &log).map_err(|error| failure(format!("unbroken, {error}")))?;
        match self.test(mutant, &log)? {
            Ran::Passed if ran_none(&read(&log)?) => {
                Err(failure(format!("no test is selected by `cargo test {}`", mutant.kills.join(" "))))
            }
            Ran::Passed => Ok(()),
            Ran::Failed(_) => Err(failure(format!("its test fails on the unbroken code too: {}", log.display()))),
            Ran::Hung => Err(failure(format!(
                "its test does not end in {} s on the unbroken code; raise `# timeout:`",
                mutant.timeout.as_secs()
            ))),
        }
    }

    fn compiles(&self, mutant: &Mutant, log: &Path) -> Result {
        match self.cargo_test(&["--no-run"], mutant, log, None)? {
            Ran::Passed => Ok(()),
            Ran::Failed(_) | Ran::Hung => Err(failure(format!("it does not compile: {}", log.display()))),
        }
    }

    fn test(&self, mutant: &Mutant, log: &Path) -> Result<Ran> {
        self.cargo_test(&[], mutant, log, Some(mutant.timeout))
    }

    fn cargo_test(&self, first: &[&str], mutant: &Mutant, log: &Path, timeout: Option<Duration>) -> Result<Ran> {
        let args = ["test"].iter().chain(first).copied();
        let args = args.chain(mutant.kills.iter().map(String::as_str));
        let (mut command, shown) = Cmd::new("cargo", args).current_dir(self.tree.dir()).into_parts();
        command.env("CARGO_TARGET_DIR", self.target(mutant));
        if let Some(rustflags) = &mutant.rustflags {
            command.env("RUSTFLAGS", rustflags);
        }
        command.envs(mutant.env.iter().map(|(name, value)| (name, value)));
        let cannot = |error| failure(format!("`{shown}`: {error}"));
        let out = File::create(log).map_err(cannot)?;
        command.stdout(out.try_clone().map_err(cannot)?).stderr(out);
        // A process group of its own, so that a hung test ends with its cargo.
        command.process_group(0);
        let mut child = command.spawn().map_err(cannot)?;
        let hangs_at = timeout.map(|timeout| Instant::now() + timeout);
        let until = [hangs_at, self.until].into_iter().flatten().min();
        match wait(&mut child, until).map_err(cannot)? {
            None => Ok(Ran::Hung),
            Some(status) if status.success() => Ok(Ran::Passed),
            Some(status) => Ok(Ran::Failed(status)),
        }
    }

    /// One target directory for each set of compiler flags.
    fn target(&self, mutant: &Mutant) -> PathBuf {
        let flags = mutant.rustflags.as_deref().unwrap_or_default();
        let slug: String = flags.chars().filter(|c| c.is_alphanumeric()).collect();
        self.place.join(if slug.is_empty() { "target".to_owned() } else { format!("target-{slug}") })
    }
}

/// Whether `cargo test` wrote that it ran no test at all.
fn ran_none(log: &str) -> bool {
    !log.lines().any(|line| line.starts_with("running ") && !line.starts_with("running 0 tests"))
}

/// Waits for the end. At this time it kills the whole group and returns `None`.
fn wait(child: &mut Child, until: Option<Instant>) -> std::io::Result<Option<ExitStatus>> {
    let Some(until) = until else {
        return child.wait().map(Some);
    };
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let group = format!("-{}", child.id());
    Cmd::new("sh", ["-c", "kill -s KILL -- \"$1\"", "sh", &group]).succeeds();
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_tests_is_known() {
        assert!(ran_none("running 0 tests\n\ntest result: ok. 0 passed\nrunning 0 tests\n"));
        assert!(!ran_none("running 0 tests\n\nrunning 1 test\ntest a ... ok\n"));
    }
}
