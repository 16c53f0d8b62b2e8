//! Kills a job whose rows are in a database, and now and then the database's server.

use super::super::{Args, Random};
use super::{MOST_LIVES, differs};
use crate::chaos::processes::{io, kept_in, violation};
use crate::cmd::{Cmd, Result, failure, target_dir};
use crate::postgres::server::Server;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The numbers of a round, and the wait for each 64 of them: a round takes about a second.
const NUMBERS: &str = "20000";
const PACE: &str = "3";

/// The longest life that is ended, in milliseconds.
const MOST_MS: u64 = 200;

/// One kill in this many is that of the server.
const SERVER_ONE_IN: u64 = 10;

/// Kills until enough were killed. `server` is that of the database, if it has one.
pub(super) fn run(args: &Args, sink: &str, mut server: Option<Server>) -> Result {
    Cmd::cargo("build --quiet -p millstream-state --example sums --features postgres,sqlite").run()?;
    let program = target_dir().join("debug/examples/sums");
    let home = std::env::temp_dir().join(format!("millstream-chaos-{sink}-{}", std::process::id()));
    fs::create_dir_all(&home).map_err(io("make a directory"))?;
    let undisturbed = Job { program: &program, home: &home, place: format!("file:{}", home.join("rows").display()) };
    let done = undisturbed.start("undisturbed", "0")?.wait().map_err(io("wait"))?;
    if !done.success() {
        return Err(failure(undisturbed.errors("undisturbed")));
    }
    let expected = undisturbed.rows()?;
    let mut random = Random(args.seed);
    let (mut killed, mut servers, mut in_the_middle, mut round) = (0, 0, 0, 0);
    while killed < args.kills {
        round += 1;
        let file = || format!("{sink}:{}", home.join(format!("rows-{round}.db")).display());
        let place = server.as_ref().map_or_else(file, |server| server.url("postgres"));
        let (job, state) = (Job { program: &program, home: &home, place }, format!("state-{round}"));
        job.ask("clear")?;
        let mut lives = 0;
        loop {
            lives += 1;
            let mut child = job.start(&state, PACE)?;
            let last = killed >= args.kills || lives >= MOST_LIVES;
            if !last {
                sleep(Duration::from_micros(random.below(MOST_MS * 1000)));
            }
            let ended = if last { Some(child.wait()) } else { child.try_wait().transpose() };
            if let Some(status) = ended.transpose().map_err(io("wait"))? {
                if !status.success() {
                    return Err(failure(job.errors(&state)));
                }
                break;
            }
            match &mut server {
                Some(server) if random.below(SERVER_ONE_IN) == 0 => {
                    server.kill().and_then(|()| server.again()).map_err(io("kill the server"))?;
                    servers += 1;
                    // It fails, unless it had no use for the server just then.
                    child.wait().map_err(io("wait"))?;
                }
                _ => {
                    child.kill().and_then(|()| child.wait().map(drop)).map_err(io("kill"))?;
                    killed += 1;
                }
            }
        }
        let rows = job.rows()?;
        if let Some(at) = differs(&expected, &rows) {
            let (place, length) = (&job.place, rows.len());
            let why = format!("{place}, {lives} lives: byte {at} of {length} bytes of rows differs");
            return Err(kept_in(&home)(violation(why)));
        }
        in_the_middle += u64::from(job.errors(&state).contains("went on at number"));
        println!("{sink}: {lives} lives, {} bytes of rows as they should be; {killed} killed by now", rows.len());
    }
    if in_the_middle == 0 && args.kills >= 20 {
        return Err(failure("no run went on at a snapshot: the kills prove nothing"));
    }
    let _ = fs::remove_dir_all(&home);
    let of_servers = if server.is_some() { format!(", and the server {servers} times") } else { String::new() };
    println!("{sink}: {killed} killed{of_servers}; each row once in {round} rounds");
    Ok(())
}

/// The program, with its place.
struct Job<'a> {
    program: &'a Path,
    home: &'a Path,
    place: String,
}

impl Job<'_> {
    fn errors_file(&self, state: &str) -> PathBuf {
        self.home.join(format!("{state}.errors"))
    }

    fn start(&self, state: &str, pace: &str) -> Result<Child> {
        let errors = File::options().append(true).create(true).open(self.errors_file(state));
        let mut command = Command::new(self.program);
        command.args(["run", &self.place]).arg(self.home.join(state)).args([NUMBERS, pace]);
        command.stdin(Stdio::null()).stderr(errors.map_err(io("open a file"))?);
        command.spawn().map_err(io("start the job"))
    }

    fn errors(&self, state: &str) -> String {
        fs::read_to_string(self.errors_file(state)).unwrap_or_default()
    }

    fn rows(&self) -> Result<Vec<u8>> {
        self.ask("rows")
    }

    fn ask(&self, what: &str) -> Result<Vec<u8>> {
        let Output { status, stdout, stderr } =
            Command::new(self.program).args([what, &self.place]).output().map_err(io("start the program"))?;
        if status.success() { Ok(stdout) } else { Err(failure(String::from_utf8_lossy(&stderr))) }
    }
}
