//! Kills workers of a population, and now and then its master.

use super::processes::{io, kept_in};
use super::{Args, Random};
use crate::cmd::{Result, failure};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// One kill in this many is of the master, which then continues from its last checkpoint.
const MASTER_ONE_IN: u64 = 10;
/// From this many kills on, one of them at least has to cost the population a worker or its states.
const ENOUGH: u64 = 20;

pub(super) fn run(args: &Args) -> Result {
    let program = args.built()?;
    let options = format!(
        "evolve --model epidemic --states 400 --rounds 60 --seed {} --workers 4 --no-pin --quiet --hash --work 20000",
        args.seed
    );
    let expected = ended(start(&program, &format!("{options} --transport threads"), &std::env::temp_dir())?)?
        .ok_or_else(|| failure(format!("`{options}` fails without a kill")))?;
    println!("without a kill: {expected}");
    let mut random = Random(args.seed);
    let (mut killed, mut masters, mut rounds, mut missed) = (0, 0, 0, 0);
    while killed < args.kills {
        rounds += 1;
        // Also for what a master that is killed cannot remove.
        let home = std::env::temp_dir().join(format!("millstream-chaos-{}-{rounds}", std::process::id()));
        let (kept, stats) = (home.join("kept"), home.join("stats.json"));
        fs::create_dir_all(&home).map_err(io("make a directory"))?;
        let transport = if rounds % 2 == 1 { "tcp" } else { "unix" };
        let (resume, report) = (kept.display(), stats.display());
        let disturbed = format!("{options} --transport {transport} --resume {resume} --stats {report}");
        let mut master = start(&program, &disturbed, &home)?;
        // Before that a kill may meet no work.
        while !has_checkpoint(&kept) && master.try_wait().map_err(io("wait"))?.is_none() {
            sleep(Duration::from_millis(5));
        }
        let hash = loop {
            sleep(Duration::from_millis(10 + random.below(40)));
            if master.try_wait().map_err(|error| failure(error.to_string()))?.is_some() {
                break ended(master)?.ok_or_else(|| failure(format!("`{disturbed}` failed after {killed} kills")))?;
            }
            if killed == args.kills {
                continue;
            }
            let workers = children(master.id());
            if random.below(MASTER_ONE_IN) == 0 {
                kill(master.id());
                let _ = master.wait();
                master = start(&program, &disturbed, &home)?;
                (killed, masters) = (killed + 1, masters + 1);
            } else if !workers.is_empty() {
                kill(workers[usize::try_from(random.below(workers.len() as u64)).unwrap_or(0)]);
                killed += 1;
            }
        };
        println!("{transport}, {killed} killed by now, {masters} of them masters: {hash}");
        if hash != expected {
            return Err(kept_in(&home)(failure(format!("without a kill it was `{expected}`"))));
        }
        let report = fs::read_to_string(&stats).map_err(io("read the report"))?;
        missed += count(&report, "lost")
            .zip(count(&report, "again"))
            .map(|(lost, again)| lost + again)
            .ok_or_else(|| kept_in(&home)(failure("the report of the population has no counts of what was lost")))?;
        let _ = fs::remove_dir_all(&home);
    }
    if missed == 0 && args.kills >= ENOUGH {
        return Err(failure("no population lost a worker or a state: the kills prove nothing"));
    }
    Ok(())
}

fn has_checkpoint(kept: &Path) -> bool {
    let Ok(files) = fs::read_dir(kept) else { return false };
    files.flatten().any(|file| file.path().extension().is_some_and(|extension| extension == "checkpoint"))
}

/// The number of this name in a report.
fn count(report: &str, name: &str) -> Option<u64> {
    let (_, after) = report.split_once(&format!("\"{name}\":"))?;
    after.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Starts it with this directory for its temporary files.
fn start(program: &Path, options: &str, home: &Path) -> Result<Child> {
    let mut command = Command::new(program);
    command.env("TMPDIR", home).args(options.split(' ')).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().map_err(|error| failure(format!("cannot start {}: {error}", program.display())))
}

/// The line with the hash; `None` if the program failed.
fn ended(child: Child) -> Result<Option<String>> {
    let output = child.wait_with_output().map_err(|error| failure(error.to_string()))?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    let hash = printed.lines().rfind(|line| line.starts_with("hash ")).map(str::to_owned);
    if !output.status.success() {
        eprint!("{printed}");
        return Ok(None);
    }
    Ok(hash)
}

pub(super) fn kill(process: u32) {
    // A process that has ended meanwhile needs no kill.
    let _ = Command::new("kill").args(["-9", &process.to_string()]).stderr(Stdio::null()).status();
}

/// The running child processes of a process.
fn children(parent: u32) -> Vec<u32> {
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    let of = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let mut words = stat.rsplit_once(") ")?.1.split(' ');
        let (state, parent) = (words.next()?, words.next()?);
        (state != "Z").then(|| parent.parse::<u32>().ok())?
    };
    let mut found: Vec<u32> = all
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|id| of(id) == Some(parent))
        .collect();
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_in_a_report() {
        let report = "{\"counts\": {\n  \"again\": 0,\n  \"lost\": 12, \"sent\":3}}";
        assert_eq!(
            ["again", "lost", "sent", "gone"].map(|name| count(report, name)),
            [Some(0), Some(12), Some(3), None]
        );
    }

    #[test]
    fn processes_are_found_by_their_parent() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children(std::process::id()).contains(&child.id()));
        kill(child.id());
        child.wait().unwrap();
        assert!(!children(std::process::id()).contains(&child.id()));
    }
}
