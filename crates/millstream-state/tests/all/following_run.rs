//! A run that is beside the one that has the directory, and takes its place with its sink.

use crate::following::{PATIENCE, files, home};
use millstream::io::{FileSink, FileSinkOptions, Position};
use millstream::prelude::*;
use millstream_state::journal::{Fsync, JournalOptions};
use millstream_state::{Cadence, FollowingRun, JobError, Persistent, Running, StateDir, journaled};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn small() -> JournalOptions {
    JournalOptions { segment_bytes: 2000, ..JournalOptions::default() }
}

/// Each line with its count; the stage with the state has this name.
macro_rules! counted {
    ($name:literal) => {
        pipeline::<String>()
            .scan(0, |n, line| {
                *n += 1;
                format!("{n} {line}\n")
            })
            .named($name)
    };
}

type Run<K> = (Sender<String>, K);

fn job(dir: StateDir) -> Persistent {
    Persistent::new(Rings::new().ring(64), dir).snapshot_every(Cadence::OnCall)
}

fn open(dir: &Path) -> StateDir {
    StateDir::open(dir, "count").unwrap()
}

fn out(dir: &Path) -> PathBuf {
    dir.with_file_name("out")
}

fn sink(dir: &Path) -> FileSinkOptions {
    FileSink::append(out(dir))
}

fn start(dir: &Path) -> Run<Running<Position>> {
    start_with(dir, small())
}

fn start_with(dir: &Path, journal: JournalOptions) -> Run<Running<Position>> {
    let since = Instant::now();
    loop {
        let ((sender, lines), state) = (channel(), open(dir));
        let live = journaled(&state, journal, || lines);
        match job(state).start(&counted!("count"), live, sink(dir)) {
            // The source of the run before ends a little after it.
            Err(JobError::Source(_)) if since.elapsed() < PATIENCE => sleep(Duration::from_millis(1)),
            running => return (sender, running.unwrap()),
        }
    }
}

fn live(
    state: &StateDir,
    journal: JournalOptions,
    lines: Receiver<String>,
) -> impl millstream_state::Resumable<String> + use<> {
    assert!(state.is_followed());
    journaled(state, journal, || lines)
}

type Beside = FollowingRun<Val<String>, FileSinkOptions>;

fn follow(dir: &Path) -> Run<Beside> {
    follow_with(dir, small())
}

fn follow_with(dir: &Path, journal: JournalOptions) -> Run<Beside> {
    let (sender, lines) = channel();
    let beside = job(StateDir::read(dir).unwrap());
    let following = beside.follow_run(&counted!("count"), |state| live(state, journal, lines), sink(dir));
    (sender, following.unwrap().unwrap())
}

fn send(sender: &Sender<String>, lines: std::ops::Range<u64>) {
    lines.for_each(|line| sender.send(format!("line {line}")).unwrap());
}

/// Stops the run when it has this many numbers.
fn retires((sender, running): Run<Running<Position>>, at: u64) {
    let (storer, since) = (running.storer(), Instant::now());
    // A line may still be in the channel.
    while storer.retire(PATIENCE) != Some(at) {
        assert!(since.elapsed() < PATIENCE);
        sleep(Duration::from_millis(1));
    }
    running.stopper().stop_now();
    running.wait().unwrap();
    drop(sender);
}

fn expected(lines: u64) -> String {
    (0..lines).map(|line| format!("{} line {line}\n", line + 1)).collect()
}

/// Ends the run after its lines.
fn end((sender, running): Run<Running<Position>>) {
    drop(sender);
    running.wait().unwrap();
}

#[test]
fn a_run_that_has_followed_goes_on_without_a_replay_of_what_came_since_the_snapshot() {
    let (_home, dir) = home();
    let (mut lines, mut present) = (0, start(&dir));
    for round in 0..5_u64 {
        let more = 1000 + 7 * round;
        send(&present.0, lines..lines + more);
        lines += more;
        let (sender, mut following) = follow(&dir);
        let since = Instant::now();
        // The journal does not say of the last line that it is durable.
        while following.reached() + 1 < lines {
            assert!(following.catches_up(PATIENCE) && since.elapsed() < PATIENCE);
        }
        if round == 2 {
            present.1.snapshot().unwrap().unwrap();
        }
        retires(present, lines);
        let before = fs::read(out(&dir)).unwrap();
        let running = following.own(open(&dir)).unwrap();
        assert_eq!(running.began(), lines);
        assert!(running.replayed() <= 1, "{} of {lines}", running.replayed());
        assert_eq!(fs::read(out(&dir)).unwrap(), before, "nothing is written again");
        present = (sender, running);
    }
    send(&present.0, lines..lines + 3);
    end(present);
    assert_eq!(fs::read_to_string(out(&dir)).unwrap(), expected(lines + 3));
}

#[test]
fn a_run_that_follows_changes_nothing_and_begins_nothing_live() {
    let (_home, dir) = home();
    let present = start(&dir);
    send(&present.0, 0..100);
    while fs::read(out(&dir)).unwrap() != expected(100).as_bytes() {
        sleep(Duration::from_millis(1));
    }
    let before = (files(&dir), fs::read(out(&dir)).unwrap());
    let (sender, mut following) = follow(&dir);
    sender.send("not yet".to_owned()).unwrap();
    assert!(following.catches_up(PATIENCE));
    assert_eq!(following.reached(), 99);
    assert_eq!((files(&dir), fs::read(out(&dir)).unwrap()), before);
    drop(following);
    assert_eq!((files(&dir), fs::read(out(&dir)).unwrap()), before);
    end(present);
}

#[test]
fn a_run_whose_predecessor_has_not_said_where_it_stopped_can_still_begin_at_the_snapshot() {
    let (_home, dir) = home();
    let present = start(&dir);
    send(&present.0, 0..100);
    let (_, following) = follow(&dir);
    end(present);
    let refused = following.own(open(&dir)).unwrap_err();
    assert!(matches!(refused, JobError::OtherEnd { .. }), "{refused}");
    let present = start(&dir);
    send(&present.0, 100..101);
    end(present);
    assert_eq!(fs::read_to_string(out(&dir)).unwrap(), expected(101));
}

#[test]
fn what_an_earlier_process_said_is_not_believed() {
    let (_home, dir) = home();
    let present = start(&dir);
    send(&present.0, 0..100);
    retires(present, 100);
    // Another one has gone on since.
    let present = start(&dir);
    let (_, mut following) = follow(&dir);
    assert!(following.catches_up(PATIENCE));
    send(&present.0, 100..110);
    end(present);
    assert!(matches!(following.own(open(&dir)), Err(JobError::OtherEnd { .. })));
    end(start(&dir));
    assert_eq!(fs::read_to_string(out(&dir)).unwrap(), expected(110));
}

#[test]
fn a_version_with_other_numbers_does_not_go_on_in_the_middle_of_the_output() {
    let (_home, dir) = home();
    let present = start(&dir);
    send(&present.0, 0..10);
    let twice = counted!("count").flat_map(|line| [line.clone(), line.clone()]).named("twice");
    let (sender, lines) = channel();
    let beside = job(StateDir::read(&dir).unwrap()).follow_run(&twice, |state| live(state, small(), lines), sink(&dir));
    let mut following = beside.unwrap().unwrap();
    assert!(following.catches_up(PATIENCE));
    retires(present, 10);
    let refused = following.own(open(&dir)).unwrap_err().to_string();
    assert!(refused.contains("stopped at number 10, with 10 as the next number of its output"), "{refused}");
    assert_eq!(fs::read_to_string(out(&dir)).unwrap(), expected(10));
    drop(sender);
}

#[test]
fn an_output_that_was_changed_meanwhile_is_refused_and_nothing_is_lost() {
    let (_home, dir) = home();
    let present = start(&dir);
    send(&present.0, 0..10);
    let (_sender, mut following) = follow(&dir);
    assert!(following.catches_up(PATIENCE));
    retires(present, 10);
    fs::write(out(&dir), "").unwrap();
    assert!(matches!(following.own(open(&dir)), Err(JobError::Sink(_))));
    end(start(&dir));
    assert_eq!(fs::read_to_string(out(&dir)).unwrap(), expected(10));
}

#[test]
fn the_old_run_goes_on_after_one_that_took_over_and_died_before_its_first_snapshot() {
    let (_home, dir) = home();
    let present = start(&dir);
    send(&present.0, 0..50);
    let (sender, mut following) = follow(&dir);
    assert!(following.catches_up(PATIENCE));
    retires(present, 50);
    let running = following.own(open(&dir)).unwrap();
    send(&sender, 50..60);
    while fs::read(out(&dir)).unwrap() != expected(60).as_bytes() {
        sleep(Duration::from_millis(1));
    }
    drop((sender, running));
    fs::OpenOptions::new().append(true).open(out(&dir)).unwrap().write_all(b"61 li").unwrap();
    let present = start(&dir);
    assert_eq!(present.1.began(), 0, "no snapshot was stored");
    send(&present.0, 60..65);
    end(present);
    assert_eq!(fs::read_to_string(out(&dir)).unwrap(), expected(65));
}

#[test]
fn a_source_without_a_journal_is_not_followed() {
    let (_home, dir) = home();
    let numbers = pipeline::<u64>().map(|n| format!("{n}\n"));
    let again = || millstream_state::again(|| 0..5_u64);
    job(open(&dir)).run(&numbers, again(), sink(&dir)).unwrap();
    let refused = job(StateDir::read(&dir).unwrap()).follow_run(&numbers, |_| again(), sink(&dir));
    assert!(matches!(refused, Err(JobError::CannotFollow)), "{refused:?}");
}

/// Live values that are there before the run has the directory and the sink wait for that.
#[test]
fn live_values_begin_when_the_sink_is_open() {
    let (_home, dir) = home();
    // They would come at once.
    let journal = JournalOptions { fsync: Fsync::Never, ..JournalOptions::default() };
    let (mut lines, mut present) = (0, start_with(&dir, journal));
    for _ in 0..5 {
        send(&present.0, lines..lines + 100);
        lines += 100;
        let (sender, following) = follow_with(&dir, journal);
        send(&sender, lines..lines + 1000);
        retires(present, lines);
        let running = following.own(open(&dir)).unwrap();
        assert_eq!(running.began(), lines);
        lines += 1000;
        present = (sender, running);
    }
    end(present);
    assert_eq!(fs::read_to_string(out(&dir)).unwrap(), expected(lines));
}
