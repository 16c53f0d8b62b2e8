//! A run of a program in the browser.

use super::{AS, command};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn start(home: &Path, said: &str, args: &str) -> Child {
    let out = File::options().append(true).create(true).open(home.join("out")).expect("a file");
    let mut command = command("slow");
    command.env(AS, "slow").env("STATE_NAME", "sum").current_dir(home).stdin(Stdio::null()).stdout(out);
    command.args(["run", "--state", "state", "--ring", "8", "numbers.txt"]).args(args.split_whitespace());
    command.stderr(File::create(home.join(said)).expect("a file")).spawn().expect("it starts")
}

/// The address that a run has said.
fn address(home: &Path, said: &str) -> String {
    let since = Instant::now();
    loop {
        let text = fs::read_to_string(home.join(said)).expect("a file");
        let line = text.lines().find_map(|line| line.strip_prefix("slow run: the run is shown at http://"));
        if let Some(address) = line.and_then(|line| line.strip_suffix('/')) {
            return address.to_owned();
        }
        assert!(since.elapsed() < PATIENCE, "it said: {text}");
        sleep(Duration::from_millis(5));
    }
}

fn get(address: &str, path: &str) -> String {
    let mut connection = TcpStream::connect(address).expect("it listens");
    connection.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let host = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(host.as_bytes()).expect("it is heard");
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).expect("it answers");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Waits until the page has figures of this stage.
fn shows(address: &str, stage: &str) {
    let (since, figure) = (Instant::now(), format!("stage=\"{stage}\""));
    loop {
        let metrics = get(address, "/metrics");
        if metrics.contains(&figure) {
            return;
        }
        assert!(since.elapsed() < PATIENCE && metrics.starts_with("HTTP/1.1 200"), "{metrics}");
        sleep(Duration::from_millis(5));
    }
}

pub(crate) fn its_run_is_watched_also_by_the_process_that_takes_over() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let lines: String = (0..8000).map(|n| format!("{n}\n")).collect();
    fs::write(home.join("numbers.txt"), &lines).expect("a file");
    let mut old = start(home, "old", "--page 127.0.0.1:0");
    let at = address(home, "old");
    shows(&at, "sum");
    let mut new = start(home, "new", &format!("--take-over --page {at}"));
    assert_eq!(address(home, "new"), at);
    shows(&at, "sum");
    assert_eq!(old.wait().expect("it ends").code(), Some(0));
    new.kill().expect("it is killed");
    new.wait().expect("it ends");
}
