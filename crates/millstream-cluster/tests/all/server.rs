//! A real server on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// The server of `cargo xtask nats`, or that on PATH; none, and why, if there is no such server.
pub(crate) fn program(test: &str) -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools").join("nats-server");
    let program = if installed.exists() { installed } else { PathBuf::from("nats-server") };
    let version = Command::new(&program).arg("--version").output();
    if version.is_ok_and(|output| version_of(&String::from_utf8_lossy(&output.stdout)) >= Some((2, 12))) {
        return Some(program);
    }
    let reason = "nats-server 2.12 or later is not on PATH; `cargo xtask nats` installs it";
    assert!(std::env::var("MILLSTREAM_REQUIRE").as_deref() != Ok("all"), "{reason}");
    eprintln!("SKIPPED {test}: {reason}");
    None
}

/// The first two numbers of `nats-server: v2.15.2`.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().rsplit_once('v')?.1.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

pub(crate) struct Server {
    program: PathBuf,
    home: TempDir,
    pub(crate) port: u16,
    config: String,
    child: Child,
}

impl Server {
    #[allow(dead_code, reason = "the tests of another crate do not use it")]
    pub(crate) fn start(test: &str) -> Option<Self> {
        Self::configured(test, "")
    }

    /// With these lines of configuration as well.
    pub(crate) fn configured(test: &str, config: &str) -> Option<Self> {
        let program = program(test)?;
        let home = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = run(&program, home.path(), port, config);
        Some(Server { program, home, port, config: config.to_owned(), child })
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    #[allow(dead_code, reason = "the tests of another crate do not use it")]
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    #[allow(dead_code, reason = "the tests of another crate do not use it")]
    pub(crate) fn again(&mut self) {
        self.child = run(&self.program, self.home.path(), self.port, &self.config);
    }

    /// Starts it again with other lines of configuration.
    #[allow(dead_code, reason = "the tests of another crate do not use it")]
    pub(crate) fn again_with(&mut self, config: &str) {
        config.clone_into(&mut self.config);
        self.kill();
        self.again();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn run(program: &Path, home: &Path, port: u16, config: &str) -> Child {
    let file = home.join("nats.conf");
    let store = home.join("store");
    let whole = format!("listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {store:?} }}\n{config}");
    std::fs::write(&file, &whole).unwrap();
    let mut command = Command::new(program);
    let mut child = command.arg("-c").arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // A busy machine starts it later than a client waits.
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(child.try_wait().unwrap().is_none(), "the server did not start: {whole}");
        sleep(Duration::from_millis(10));
    }
    child
}

/// Asks the server for what no client of a log asks for.
#[allow(dead_code, reason = "the tests of another crate do not use it")]
pub(crate) fn request(server: &Server, subject: &str, asks: &str) {
    let mut client = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let size = asks.len();
    write!(
        client,
        "CONNECT {{\"verbose\":false}}\r\nSUB _INBOX.test 1\r\nPUB {subject} _INBOX.test {size}\r\n{asks}\r\n"
    )
    .unwrap();
    let mut lines = BufReader::new(client).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("MSG ")));
    let answer = lines.next().unwrap();
    assert!(!answer.contains("\"error\":"), "{answer}");
}
