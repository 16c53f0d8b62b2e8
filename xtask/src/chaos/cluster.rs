//! Kills the workers, the source and the server of a word count on a cluster, and starts them again.

use super::{Args, Random};
use crate::cmd::{Cmd, Result, failure, target_dir};
use crate::nats;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A process that is started again with the same arguments.
struct Process {
    program: PathBuf,
    args: Vec<String>,
    child: Child,
}

fn io(doing: &'static str) -> impl Fn(std::io::Error) -> crate::cmd::Failure {
    move |error| failure(format!("cannot {doing}: {error}"))
}

impl Process {
    fn start(program: &Path, args: &[&str]) -> Result<Self> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        Ok(Process { program: program.to_owned(), child: spawn(program, &args)?, args })
    }

    fn kill_and_start(&mut self, pause: Duration) -> Result {
        self.child.kill().and_then(|()| self.child.wait().map(drop)).map_err(io("kill"))?;
        sleep(pause);
        self.child = spawn(&self.program, &self.args)?;
        Ok(())
    }

    fn wait(&mut self) -> Result<ExitStatus> {
        self.child.wait().map_err(io("wait"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(program: &Path, args: &[String]) -> Result<Child> {
    let mut command = Command::new(program);
    // A server tells much; the workers tell why they fail.
    if args.first().is_some_and(|arg| arg == "-js") {
        command.stderr(Stdio::null());
    }
    command.args(args).spawn().map_err(io("start a program"))
}

pub(super) fn run(args: &Args) -> Result {
    let nats = nats::installed().map_err(failure)?;
    Cmd::cargo("build --quiet -p millstream-cluster --features nats --example words").run()?;
    let words = target_dir().join("debug/examples/words");
    let home = std::env::temp_dir().join(format!("millstream-chaos-cluster-{}", std::process::id()));
    let listener = TcpListener::bind("127.0.0.1:0").map_err(io("find a port"))?;
    let port = listener.local_addr().map_err(io("find a port"))?.port().to_string();
    drop(listener);
    let mut server = Process::start(&nats, &["-js", "-a", "127.0.0.1", "-p", &port, "-sd", &home.to_string_lossy()])?;
    let url = format!("127.0.0.1:{port}");
    let (seed, batches) = (args.seed.to_string(), (50 + 30 * args.kills).to_string());
    // The server's first streams are made by one of them.
    let mut feed = Process::start(&words, &["feed", &url, &seed, &batches])?;
    sleep(Duration::from_secs(1));
    let mut workers = [Process::start(&words, &["work", &url, "0"])?, Process::start(&words, &["work", &url, "1"])?];
    let (mut random, mut of_server) = (Random(args.seed), 0);
    for _ in 0..args.kills {
        sleep(Duration::from_millis(50 + random.below(250)));
        let pause = Duration::from_millis(random.below(300));
        match random.below(8) {
            0 => {
                server.kill_and_start(pause)?;
                of_server += 1;
            }
            1 => feed.kill_and_start(pause)?,
            other => workers[usize::from(other % 2 == 0)].kill_and_start(pause)?,
        }
    }
    for process in workers.iter_mut().chain([&mut feed]) {
        let status = process.wait()?;
        if !status.success() {
            return Err(failure(format!(
                "`words {}` ended with {status}; all is in {}",
                process.args.join(" "),
                home.display()
            )));
        }
    }
    let status = Process::start(&words, &["check", &url, &seed, &batches])?.wait()?;
    match status.code() {
        Some(0) => println!("{} killed, {of_server} times the server among them", args.kills),
        Some(4) => std::process::exit(4),
        _ => return Err(failure(format!("`words check` ended with {status}"))),
    }
    drop(server);
    let _ = std::fs::remove_dir_all(&home);
    Ok(())
}
