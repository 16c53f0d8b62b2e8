//! A new process takes over from the one that has the state.

use super::AS;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

const LINES: u64 = 2000;

struct Process {
    child: Child,
    said: std::path::PathBuf,
}

impl Process {
    fn start(home: &Path, number: usize, args: &str, state: &str) -> Self {
        let said = home.join(format!("said-{number}"));
        let out = File::options().append(true).create(true).open(home.join("out")).expect("a file");
        let mut command = Command::new(std::env::current_exe().expect("the path of this program"));
        command.env(AS, "slow").env("STATE_NAME", state).current_dir(home).stdin(Stdio::null()).stdout(out);
        // In small rings the source is not far ahead: a run whose source has ended cannot be taken over.
        command.args(["run", "--state", "state", "--snapshot-every", "0.02s", "--ring", "8", "numbers.txt"]);
        command.args(args.split_whitespace()).stderr(File::create(&said).expect("a file"));
        Process { child: command.spawn().expect("it starts"), said }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.said).expect("a file")
    }

    fn says(&self, text: &str) {
        let since = Instant::now();
        while !self.said().contains(text) {
            assert!(since.elapsed() < PATIENCE, "it said: {}", self.said());
            sleep(Duration::from_millis(1));
        }
    }

    /// Whether it has ended, by a kill or with 0.
    fn ended(&mut self) -> bool {
        let Some(status) = self.child.try_wait().expect("it can be waited for") else { return false };
        assert!(matches!(status.code(), None | Some(0)), "{status}: {}", self.said());
        true
    }

    fn code(&mut self) -> Option<i32> {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                return status.code();
            }
            assert!(since.elapsed() < PATIENCE, "it does not end: {}", self.said());
            sleep(Duration::from_millis(1));
        }
    }

    fn kill(&mut self) {
        self.child.kill().expect("it is killed");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    let numbers: String = (0..LINES).map(|n| format!("{n}\n")).collect();
    fs::write(home.path().join("numbers.txt"), numbers).expect("a file");
    home
}

fn assert_whole(home: &Path) {
    let sums: String = (0..LINES).map(|n| format!("{}\n", n * (n + 1) / 2)).collect();
    let out = fs::read_to_string(home.join("out")).expect("a file");
    assert!(out == sums, "other sums than those of one run");
}

/// A process that asks for the state, and gets it.
fn asks(home: &Path) -> UnixStream {
    let since = Instant::now();
    let mut link = loop {
        match UnixStream::connect(home.join("state/take-over")) {
            Ok(link) => break link,
            Err(error) => assert!(since.elapsed() < PATIENCE, "{error}"),
        }
        sleep(Duration::from_millis(1));
    };
    link.set_read_timeout(Some(PATIENCE)).expect("a socket");
    link.write_all(b"T\x01").expect("it is heard");
    let mut free = [0; 9];
    link.read_exact(&mut free).expect("it answers");
    assert_eq!(free[0], b'R');
    link
}

pub(crate) fn its_output_is_that_of_one_process_however_often_it_is_taken_over() {
    let home = home();
    let home = home.path();
    let mut random = 7_u64;
    let mut below = |most: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % most
    };
    let (mut present, mut all) = (Process::start(home, 0, "", "sum"), 1);
    let (mut retired, mut resumed) = (0, 0);
    for _ in 0..30 {
        sleep(Duration::from_millis(below(60)));
        let mut next = Process::start(home, all, "--take-over", "sum");
        all += 1;
        let kills = below(4);
        if kills < 2 {
            sleep(Duration::from_millis(below(80)));
            if kills == 0 { next.kill() } else { present.kill() }
        }
        let since = Instant::now();
        while !next.ended() && !present.ended() {
            assert!(since.elapsed() < PATIENCE, "both go on: {}, {}", present.said(), next.said());
            sleep(Duration::from_millis(1));
        }
        retired += usize::from(present.said().contains("retired at number "));
        resumed += usize::from(present.said().contains("so this process goes on"));
        if present.ended() {
            present = next;
        }
        if present.ended() {
            present = Process::start(home, all, "--take-over", "sum");
            all += 1;
        }
    }
    assert_eq!(present.code(), Some(0), "{}", present.said());
    assert_whole(home);
    assert!(retired > 2, "{retired} have retired, and {resumed} have gone on");
}

pub(crate) fn it_goes_on_if_the_new_process_does_not() {
    let home = home();
    let home = home.path();
    let mut old = Process::start(home, 0, "", "sum");
    drop(asks(home));
    old.says("did not take over, so this process goes on: it has ended");
    let mut link = asks(home);
    link.write_all(b"U").expect("it is heard");
    let mut go = [0];
    link.read_exact(&mut go).expect("it answers");
    assert_eq!(&go, b"G");
    drop(link);
    old.says("goes on: it ended before it had stored anything");
    assert_eq!(old.code(), Some(0), "{}", old.said());
    assert_whole(home);
}

pub(crate) fn a_new_process_whose_plan_is_refused_does_not_disturb_the_old_one() {
    let home = home();
    let home = home.path();
    let mut old = Process::start(home, 0, "", "sum");
    sleep(Duration::from_millis(300));
    let mut other = Process::start(home, 1, "--take-over", "total");
    assert_eq!(other.code(), Some(2), "{}", other.said());
    assert!(other.said().contains("the pipeline cannot go on with the states of snapshot"), "{}", other.said());
    let mut new = Process::start(home, 2, "--take-over", "sum");
    assert_eq!(old.code(), Some(0), "{}", old.said());
    assert!(
        old.said().contains("--take-over: retired at number ") && !old.said().contains("goes on"),
        "{}",
        old.said()
    );
    assert_eq!(new.code(), Some(0), "{}", new.said());
    assert!(new.said().contains("took over from process "), "{}", new.said());
    assert_whole(home);
    // Without an old one.
    let mut alone = Process::start(home, 3, "--take-over", "sum");
    assert_eq!(alone.code(), Some(0), "{}", alone.said());
    assert!(alone.said().contains("no process has this state, so nothing is taken over"), "{}", alone.said());
    assert_whole(home);
}
