//! Kills and stops the workers, the feed, the reader and the servers of a word count on three servers, and starts them
//! again. With `--hosts` each server and a worker are a host, whose network is cut, too.

mod blobs;
mod hits;
mod hosts;
mod servers;
mod text;
mod watch;

use super::processes::{io, kept_in};
use super::{Args, Random};
use crate::cmd::{Cmd, Failure, Result, failure};
use crate::nats;
use hits::{Hit, Hits};
use hosts::Hosts;
use servers::Servers;
use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use watch::Watch;

/// How long the servers elect a leader at most, and some time to catch up: no second one is killed before.
const ELECTION: Duration = Duration::from_secs(15);
/// The longest pause of a process that is killed or stopped: a small part of a run.
const PAUSE: u64 = 700;
/// A cut of the network is shorter than an election, or longer.
const CUT: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(12)];
/// A kill waits for the output to grow, but not for longer: what stands still is disturbed as well.
const STANDS_STILL: Duration = Duration::from_secs(4);
/// How many snapshots are left: the last two at most, one that was about to be dropped, and one for each worker that
/// was under way when the output was complete.
const SNAPSHOTS: RangeInclusive<usize> = 1..=3 + Hosts::COUNT;
/// From this many kills on, one of them at least has to hit a server.
const ENOUGH: u64 = 20;
/// The signal that kills (SIGKILL).
const KILLED: i32 = 9;
/// How long everything may take after the last kill.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A process that is started again with the same arguments.
struct Process {
    program: PathBuf,
    args: Vec<String>,
    /// Where its output goes, if anywhere: to the end of this file.
    into: Option<PathBuf>,
    child: Child,
}

impl Process {
    fn start(program: &Path, args: &[&str], into: Option<PathBuf>) -> Result<Self> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let child = spawn(program, &args, into.as_deref())?;
        Ok(Process { program: program.to_owned(), child, args, into })
    }

    /// Starts it on this host, if there are hosts.
    fn start_on(host: Option<&str>, program: &Path, args: &[&str]) -> Result<Self> {
        let Some(host) = host else { return Process::start(program, args, None) };
        // `ip` becomes the program, which therefore has its process id.
        let program = program.to_string_lossy();
        Process::start(Path::new("ip"), &[&["netns", "exec", host, &*program][..], args].concat(), None)
    }

    /// Kills it. A process that has ended by itself before has to have ended well.
    fn kill(&mut self) -> Result {
        let status = self.child.kill().and_then(|()| self.child.wait()).map_err(io("kill"))?;
        if status.success() || status.signal() == Some(KILLED) { Ok(()) } else { Err(self.failed(status)) }
    }

    fn start_again(&mut self) -> Result {
        self.child = spawn(&self.program, &self.args, self.into.as_deref())?;
        Ok(())
    }

    fn kill_and_start(&mut self, pause: Duration) -> Result {
        self.kill()?;
        sleep(pause);
        self.start_again()
    }

    /// As a machine that the network has lost for a while.
    fn pause(&self, pause: Duration) -> Result {
        let id = self.child.id().to_string();
        Cmd::new("kill", ["-STOP", &*id]).run()?;
        sleep(pause);
        Cmd::new("kill", ["-CONT", &*id]).run()
    }

    fn is_over(&mut self) -> Result<bool> {
        self.child.try_wait().map(|status| status.is_some()).map_err(io("wait"))
    }

    /// Waits for its end, which is to be a good one.
    fn ends(&mut self, until: Instant) -> Result {
        while Instant::now() < until {
            match self.child.try_wait().map_err(io("wait"))? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(self.failed(status)),
                None => sleep(Duration::from_millis(50)),
            }
        }
        Err(failure(format!("`{} {}` does not end", self.program.display(), self.args.join(" "))))
    }

    fn failed(&self, status: ExitStatus) -> Failure {
        failure(format!("`{} {}` ended with {status}", self.program.display(), self.args.join(" ")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(program: &Path, args: &[String], into: Option<&Path>) -> Result<Child> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    match into {
        Some(into) => {
            let into = File::options().create(true).append(true).open(into).map_err(io("make a file"))?;
            command.stdout(into);
        }
        None => _ = command.stdout(Stdio::null()),
    }
    // The servers tell much; the others tell why they fail.
    if args.iter().any(|arg| arg.ends_with(servers::CONFIG)) {
        command.stderr(Stdio::null());
    }
    command.spawn().map_err(io("start a program"))
}

/// How often each kind of process was hit.
#[derive(Default)]
struct Done {
    workers: u32,
    stopped: u32,
    feeds: u32,
    reads: u32,
    servers: u32,
    servers_stopped: u32,
    /// A server and a worker at once.
    machines: u32,
    /// The network of a host.
    cuts: u32,
    /// How many of all of them came when the output was complete.
    late: u32,
}

pub(super) fn run(args: &Args) -> Result {
    let nats = nats::installed().map_err(failure)?;
    let millstream = args.built()?;
    let home = std::env::temp_dir().join(format!("millstream-chaos-cluster-{}", std::process::id()));
    std::fs::create_dir_all(&home).map_err(io("make a directory"))?;
    let (input, output) = (home.join("input"), home.join("output"));
    let megabytes = args.megabytes.unwrap_or(if args.full { 1000 } else { 100 });
    let size = text::write(args.seed, megabytes, &input).map_err(io("write the input"))?;
    let mut servers = Servers::start(&nats, &home, if args.hosts { Some(Hosts::new()?) } else { None })?;
    let url = servers.url();
    let of = ["--nats", &url, "--app", "words"];
    // The edges have room for a part of the text: they are full, and the feed is there, while workers are killed.
    let apply = ["cluster", "apply", "words", "--replicas", "3", "--copies", "3", "--capacity", "256"];
    Process::start(&millstream, &[&apply[..], &of].concat(), None)?.ends(Instant::now() + ELECTION * 4)?;
    let place = home.join("place");
    let place = place.to_string_lossy();
    let reads = ["cluster", "read", "--trim", "--position", &*place];
    let mut read = Process::start(&millstream, &[&reads[..], &of].concat(), Some(output.clone()))?;
    let mut workers = Vec::new();
    for host in 0..Hosts::COUNT {
        let worker = [&["worker", "--quiet", "--workers", "1"], &of[..]].concat();
        workers.push(Process::start_on(servers.namespace(host).as_deref(), &millstream, &worker)?);
    }
    let name = input.to_string_lossy();
    let feed = ["cluster", "feed", "--resume", "--end", &*name];
    let mut feed = Process::start(&millstream, &[&feed[..], &of].concat(), None)?;
    let watch = Watch::start(output.clone());
    let progress = Progress { file: output.clone(), size };
    let kept = kept_in(&home);
    let done = disturb(args, &mut workers, (&mut feed, &mut read), &mut servers, &progress).map_err(kept)?;
    let until = Instant::now() + PATIENCE;
    for process in workers.iter_mut().chain([&mut feed, &mut read]) {
        process.ends(until).map_err(kept)?;
    }
    let (took, gap) = watch.end();
    text::compare(&input, &output).map_err(kept)?;
    let snapshots = servers.snapshots().map_err(kept)?;
    if !SNAPSHOTS.contains(&snapshots.len()) {
        return Err(kept(failure(format!("two snapshots are kept, and {} are left: {snapshots:?}", snapshots.len()))));
    }
    let Done { workers, stopped, feeds, reads, servers: of_servers, servers_stopped, machines, cuts, late } = done;
    println!("{workers} workers killed, {stopped} stopped for a while, {feeds} feeds and {reads} readers killed");
    println!(
        "{of_servers} servers killed, {servers_stopped} stopped for a while, {machines} killed with a worker at once"
    );
    if args.hosts {
        println!("{cuts} times the network of a host cut and healed");
    }
    println!("{late} of these when the output was complete");
    if u64::from(late) * 5 > args.kills {
        return Err(failure("more than a fifth of the kills came when the output was complete: they prove too little"));
    }
    if args.kills >= ENOUGH && of_servers + servers_stopped + machines + cuts == 0 {
        return Err(failure("no server was hit: this proves too little"));
    }
    println!("{megabytes} MB in {:.1} s, the output is the model's; longest silence {:.2} s", took, gap);
    drop(servers);
    let _ = std::fs::remove_dir_all(&home);
    Ok(())
}

/// How far the run is, by the size of its output.
struct Progress {
    file: PathBuf,
    /// The size of the whole output.
    size: u64,
}

impl Progress {
    /// Waits until the output has grown to this number of thousandths.
    fn waits(&self, thousandths: u64, read: &mut Process) -> Result {
        let until = Instant::now() + STANDS_STILL;
        while Instant::now() < until && !read.is_over()? {
            let now = std::fs::metadata(&self.file).map_or(0, |metadata| metadata.len());
            if now * 1000 >= self.size * thousandths {
                break;
            }
            sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// The kills follow the output: there is one in each part of it, wherever the seed lays it, so that they hit a run
/// under way, however fast it is. A pause may last until the next part is over; the kill of that part comes then at
/// once.
fn disturb(
    args: &Args,
    workers: &mut [Process],
    (feed, read): (&mut Process, &mut Process),
    servers: &mut Servers,
    progress: &Progress,
) -> Result<Done> {
    let (mut random, mut done) = (Random(args.seed), Done::default());
    let (mut hits, mut quiet_until) = (Hits::new(args.kills, args.hosts, &mut random), Instant::now());
    for kill in 0..args.kills {
        // Nothing is laid in the last tenth, which a pause may outlast.
        progress.waits((kill * 900 + random.below(900)) / args.kills, read)?;
        let pause = Duration::from_millis(random.below(PAUSE));
        done.late += u32::from(read.is_over()?);
        let who = random.below(3) as usize;
        match hits.next(Instant::now() > quiet_until, &mut random) {
            Hit::KillsServer => {
                servers.kill_and_start(who, pause)?;
                done.servers += 1;
                quiet_until = Instant::now() + ELECTION;
            }
            Hit::KillsMachine => {
                servers.kill(who)?;
                workers[who].kill_and_start(pause)?;
                servers.start_again(who)?;
                done.machines += 1;
                quiet_until = Instant::now() + ELECTION;
            }
            Hit::StopsServer => {
                servers.pause(who, pause)?;
                done.servers_stopped += 1;
                quiet_until = Instant::now() + ELECTION;
            }
            Hit::CutsHost => {
                let cut = CUT[random.below(2) as usize];
                servers.cut(who, cut)?;
                done.cuts += 1;
                quiet_until = Instant::now() + ELECTION;
            }
            Hit::KillsFeed if !feed.is_over()? => {
                feed.kill_and_start(pause)?;
                done.feeds += 1;
            }
            Hit::KillsRead if !read.is_over()? => {
                read.kill_and_start(pause)?;
                done.reads += 1;
            }
            Hit::StopsWorker if !workers[who].is_over()? => {
                workers[who].pause(pause * 2)?;
                done.stopped += 1;
            }
            _ => {
                workers[who].kill_and_start(pause)?;
                done.workers += 1;
            }
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_failed_by_itself_is_not_just_killed() {
        let started = |program: &str, args: &[&str]| Process::start(Path::new(program), args, None).unwrap();
        started("sleep", &["60"]).kill().unwrap();
        for (script, failed) in [("exit 0", false), ("exit 1", true), ("kill -TERM $$", true)] {
            let mut process = started("sh", &["-c", script]);
            while !process.is_over().unwrap() {
                sleep(Duration::from_millis(1));
            }
            assert_eq!(process.kill().is_err(), failed, "{script}");
        }
    }
}
