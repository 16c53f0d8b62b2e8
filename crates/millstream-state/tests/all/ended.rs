//! Jobs that end by themselves, since their files are read to the end, and go on when those have grown.

use millstream::io::{Block, FileSink};
use millstream::prelude::*;
use millstream::state::effects::{Effects, Unknown};
use millstream::state::{Cadence, FollowedFile, JobError, Persistent, StateDir, Stored, TextFiles};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// None of them has stored anything when these jobs end.
const RARE: [Cadence; 2] = [Cadence::Numbers(u64::MAX), Cadence::Every(Duration::from_secs(3600))];

/// A home with a log, and how many lines were processed.
struct Home {
    dir: tempfile::TempDir,
    processed: Arc<AtomicU64>,
}

impl Home {
    fn new() -> Self {
        Home { dir: tempfile::tempdir().unwrap(), processed: Arc::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn log(&self, text: &str) {
        let mut log = fs::OpenOptions::new().append(true).create(true).open(self.path("log")).unwrap();
        log.write_all(text.as_bytes()).unwrap();
    }

    /// Numbered lines, and how many there were at END.
    fn counted(&self) -> impl Pipeline<Block, String> + Lasting + use<> {
        let processed = self.processed.clone();
        pipeline::<Block>()
            .lines()
            .scan_finish(
                0_u64,
                move |count, line| {
                    processed.fetch_add(1, Ordering::Relaxed);
                    *count += 1;
                    format!("{count} {}\n", String::from_utf8_lossy(&line))
                },
                |count| Some(format!("{count} lines\n")),
            )
            .named("count")
            .any_edge()
    }

    fn job(&self, workers: usize, every: Cadence) -> Persistent {
        let state = StateDir::open(self.path("state"), "count").unwrap();
        Persistent::new(Rings::new().workers(workers), state).snapshot_every(every)
    }

    fn run(&self, workers: usize, every: Cadence) -> Result<Stored, JobError> {
        let files = TextFiles::new([self.path("log")]).block_size(6);
        let ran = self.job(workers, every).run(&self.counted(), files, FileSink::append(self.path("out")));
        ran.map(|(_, stored)| stored)
    }

    /// How many lines were processed since the last call.
    fn processed(&self) -> u64 {
        self.processed.swap(0, Ordering::Relaxed)
    }

    fn out(&self) -> String {
        fs::read_to_string(self.path("out")).unwrap()
    }
}

#[test]
fn a_job_that_has_ended_goes_on_behind_its_last_value() {
    for (workers, every) in [1, 2].into_iter().flat_map(|workers| RARE.map(|every| (workers, every))) {
        let home = Home::new();
        home.log("a\nb\nc\nd\ne\n");
        let first = home.run(workers, every).unwrap();
        assert_eq!((first.began, first.last), (0, Some(2)), "{every:?}: {first:?}");
        assert_eq!((home.processed(), home.out()), (5, "1 a\n2 b\n3 c\n4 d\n5 e\n5 lines\n".into()));
        let again = home.run(workers, every).unwrap();
        assert_eq!(again.began, 2, "{every:?}: {again:?}");
        assert_eq!((home.processed(), home.out()), (0, "1 a\n2 b\n3 c\n4 d\n5 e\n5 lines\n".into()));
        home.log("f\n");
        let grown = home.run(workers, every).unwrap();
        assert_eq!((grown.began, grown.last), (2, Some(3)), "{every:?}: {grown:?}");
        assert_eq!((home.processed(), home.out()), (1, "1 a\n2 b\n3 c\n4 d\n5 e\n6 f\n6 lines\n".into()));
    }
}

/// However many snapshots are taken and stored when it ends.
#[test]
fn the_end_is_stored_behind_other_snapshots() {
    for every in [Cadence::Numbers(1), Cadence::Every(Duration::ZERO)] {
        let home = Home::new();
        for end in [100, 200, 300] {
            home.log(&"12345\n".repeat(100));
            let stored = home.run(2, every).unwrap();
            assert_eq!((stored.began, stored.last, stored.failed), (end - 100, Some(end), 0), "{stored:?}");
            assert_eq!(home.processed(), 100);
        }
        assert!(home.out().ends_with("300 12345\n300 lines\n"));
    }
}

/// Two threads change the pipeline and take snapshots while the source ends.
#[test]
fn the_end_is_stored_whatever_is_done_at_that_moment() {
    for round in 0..40 {
        let home = Home::new();
        home.log(&"12345\n".repeat(10 * round));
        let files = TextFiles::new([home.path("log")]).block_size(6);
        let out = FileSink::append(home.path("out"));
        let running = home.job(2, RARE[0]).start(&home.counted(), files, out).unwrap();
        let (storer, upgrader, next) = (running.storer(), running.upgrader(), home.counted());
        let asks = std::thread::spawn(move || while let Ok(Some(_)) = storer.snapshot() {});
        let changes = std::thread::spawn(move || upgrader.upgrade(next, |_| "next".into(), |_| ()).map(drop));
        let (_, stored) = running.wait().unwrap();
        asks.join().unwrap();
        let _ = changes.join().unwrap();
        assert_eq!((stored.last, stored.failed), (Some(10 * round as u64), 0), "{stored:?}");
        home.processed();
        assert_eq!(home.run(1, RARE[0]).unwrap().began, 10 * round as u64);
        assert_eq!(home.processed(), 0);
    }
}

/// The line may grow. The next start reads it again.
#[test]
fn nothing_is_stored_behind_a_last_line_without_its_end() {
    for every in RARE {
        let home = Home::new();
        home.log("a\nb\nc\n");
        home.run(1, every).unwrap();
        home.log("d");
        let open = home.run(1, every).unwrap();
        assert_eq!((open.snapshots, open.failed), (0, 0), "{every:?}: {open:?}");
        assert_eq!(home.out(), "1 a\n2 b\n3 c\n4 d\n4 lines\n");
        home.log("e\nf\n");
        home.run(1, every).unwrap();
        assert_eq!(home.out(), "1 a\n2 b\n3 c\n4 de\n5 f\n5 lines\n");
    }
}

#[test]
fn a_job_that_is_drained_or_whose_followed_file_ends_goes_on_behind_its_last_value() {
    let home = Home::new();
    for (life, lines) in ["a\nb\n", "c\n", "d\ne\n"].into_iter().enumerate() {
        home.log(lines);
        let source = FollowedFile::new(home.path("log")).interval(Duration::from_millis(1));
        let (stopper, out) = (source.stopper(), FileSink::append(home.path("out")));
        let running = home.job(1, RARE[0]).start(&home.counted(), source, out).unwrap();
        while !fs::read_to_string(home.path("out")).is_ok_and(|out| out.ends_with(&lines[lines.len() - 2..])) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if life == 0 {
            running.close()
        } else {
            stopper.stop()
        }
        let (_, stored) = running.wait().unwrap();
        assert_eq!(home.processed(), lines.len() as u64 / 2, "{stored:?}");
    }
    assert_eq!(home.out(), "1 a\n2 b\n3 c\n4 d\n5 e\n5 lines\n");
}

#[test]
fn a_job_that_fails_or_is_stopped_stores_no_end() {
    let home = Home::new();
    home.log("a\nb\n");
    let files = TextFiles::new([home.path("log"), home.path("absent")]);
    let running = home.job(1, RARE[0]).start(&home.counted(), files, FileSink::append(home.path("out")));
    let (_, stored, source) = running.unwrap().join();
    assert!(source.unwrap().to_string().contains("absent"));
    assert_eq!((stored.snapshots, stored.failed), (0, 0), "{stored:?}");

    let home = Home::new();
    home.log("a\nb\n");
    let source = FollowedFile::new(home.path("log")).interval(Duration::from_millis(1));
    let running = home.job(1, RARE[0]).start(&home.counted(), source, FileSink::append(home.path("out")));
    let running = running.unwrap();
    running.stopper().stop_now();
    let (_, stored, _) = running.join();
    assert_eq!((stored.snapshots, stored.failed), (0, 0), "{stored:?}");
}

#[test]
fn with_snapshots_on_call_the_end_is_stored_only_if_it_was_asked_for() {
    let home = Home::new();
    home.log("a\nb\nc\n");
    for _ in 0..2 {
        let stored = home.run(1, Cadence::OnCall).unwrap();
        assert_eq!((stored.began, stored.snapshots), (0, 0), "{stored:?}");
        assert_eq!((home.processed(), home.out()), (3, "1 a\n2 b\n3 c\n3 lines\n".into()));
    }
}

/// The run ends, and says it.
#[test]
fn an_end_that_cannot_be_stored_is_reported_and_ends_nevertheless() {
    let home = Home::new();
    home.log("a\nb\n");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    let says = move |outcome: Result<u64, &str>| hears.lock().unwrap().push(outcome.map_err(str::to_owned));
    let job = home.job(1, RARE[0]).on_storing(says);
    let snapshots = home.path("state/snapshots");
    let source = FollowedFile::new(home.path("log")).interval(Duration::from_millis(1));
    let stopper = source.stopper();
    let running = job.start(&home.counted(), source, FileSink::append(home.path("out"))).unwrap();
    fs::rename(&snapshots, home.path("away")).unwrap();
    stopper.stop();
    let (_, stored) = running.wait().unwrap();
    assert_eq!((stored.snapshots, stored.failed), (0, 1), "{stored:?}");
    assert_eq!(heard.lock().unwrap().len(), 1);
    assert_eq!(home.out(), "1 a\n2 b\n2 lines\n");
    fs::rename(home.path("away"), &snapshots).unwrap();
}

#[test]
fn a_service_that_was_closed_goes_on_behind_its_last_request() {
    let home = Home::new();
    for began in 0..3 {
        let sum = pipeline::<String>().scan(0_u64, |sum, text| {
            *sum += text.len() as u64;
            *sum
        });
        let (client, running) = home.job(1, RARE[0]).serve(sum.named("sum"), Default::default()).unwrap();
        assert_eq!(client.call_blocking("12345".to_owned()), Ok(5 * (began + 1)));
        running.close();
        let (_, stored) = running.wait().unwrap();
        assert_eq!((stored.began, stored.last), (began, Some(began + 1)));
    }
}

/// An effect is not asked again, not even its record.
#[test]
fn effects_of_a_job_that_has_ended_are_not_repeated() {
    let home = Home::new();
    let called = Arc::new(Mutex::new(Vec::new()));
    for more in ["a\n", "", "b\n"] {
        home.log(more);
        let state = StateDir::open(home.path("state"), "sent").unwrap();
        let (effects, _) = Effects::open(&state, Default::default()).unwrap();
        let calls = called.clone();
        let send = effects.recorded("send", Unknown::retry(), move |key, block: &Vec<u8>| {
            calls.lock().unwrap().push((key.to_string(), block.len()));
            block.len() as u64
        });
        let sent = pipeline::<Block>().map(|block| block.to_vec()).enumerate().map_blocking(send).named("send");
        let sent = sent.map(|sent| format!("{sent:?}\n"));
        let job = Persistent::new(Rings::new(), state).snapshot_every(RARE[0]).recording(&effects);
        let files = TextFiles::new([home.path("log")]).block_size(1);
        job.run(&sent, files, FileSink::append(home.path("out"))).unwrap();
    }
    let called = called.lock().unwrap().clone();
    assert_eq!(called, [("sent/send/0".to_owned(), 2), ("sent/send/1".to_owned(), 2)]);
    assert_eq!(home.out(), "Ok(2)\nOk(2)\n");
}

/// The rows that were read have gone through the old pipeline.
#[test]
fn another_version_gets_only_what_is_new() {
    let home = Home::new();
    let run = |version: &'static str| {
        let state = StateDir::open(home.path("state"), "versions").unwrap();
        let line = move |line: &[u8]| format!("{version} {}\n", String::from_utf8_lossy(line));
        let lines = pipeline::<Block>().lines().map(move |text| line(&text));
        let files = TextFiles::new([home.path("log")]);
        let job = Persistent::new(Rings::new(), state).described_as(version.into());
        job.run(&lines, files, FileSink::append(home.path("out"))).unwrap();
    };
    home.log("a\n");
    run("old");
    home.log("b\n");
    run("new");
    assert_eq!(home.out(), "old a\nnew b\n");
}
