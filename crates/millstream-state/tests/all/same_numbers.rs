//! Sinks and effects that keep what they have by number, and sources whose numbers are others in another process.

use crate::trimmed::SMALL;
use millstream::io::{Block, FileSink};
use millstream::prelude::*;
use millstream::state::claims::Sqlite;
use millstream::state::effects::{Effects, Unknown};
use millstream::state::{
    Cadence, FollowedFile, JobError, Persistent, Position, Resumable, SideSink, StateDir, journaled, sqlite,
};
use rusqlite::Connection;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};
use tempfile::tempdir;

type Insert = fn(&Connection, SequenceNumber, &String) -> rusqlite::Result<()>;

fn table(home: &Path) -> Sqlite<Insert> {
    let insert: Insert = |rows, _, text| rows.execute("INSERT INTO texts VALUES (?)", [text]).map(drop);
    sqlite(home.join("rows.db"), "texts", insert).setup("CREATE TABLE IF NOT EXISTS texts (text TEXT)")
}

fn rows(home: &Path) -> Vec<String> {
    let connection = Connection::open(home.join("rows.db")).unwrap();
    let Ok(mut all) = connection.prepare("SELECT text FROM texts ORDER BY rowid") else { return Vec::new() };
    all.query_map((), |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn text(block: &Block) -> String {
    String::from_utf8_lossy(block).into_owned()
}

fn job(home: &Path) -> Persistent {
    let state = StateDir::open(home.join("state"), "texts").unwrap();
    Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall)
}

fn followed(home: &Path) -> FollowedFile {
    FollowedFile::new(home.join("log")).interval(Duration::from_millis(1))
}

fn write(home: &Path, lines: std::ops::Range<u64>) {
    let mut log = fs::OpenOptions::new().append(true).create(true).open(home.join("log")).unwrap();
    lines.for_each(|n| writeln!(log, "{n}").unwrap());
}

/// Why this was refused, before the job had made anything.
fn refused<R>(home: &Path, started: Result<R, JobError>) -> String {
    let why = started.err().expect("it has started").to_string();
    assert_eq!(fs::read_dir(home.join("state/snapshots")).unwrap().count(), 0);
    why
}

#[test]
fn blocks_of_a_followed_file_do_not_go_to_a_table_by_their_numbers() {
    let home = tempdir().unwrap();
    let home = home.path();
    write(home, 0..10);
    let blocks = || pipeline::<Block>().map(text).any_edge();
    let why = refused(home, job(home).start(&blocks(), followed(home), table(home)));
    assert!(why.starts_with("the sink skips numbers that it has") && why.contains("`journaled`"), "{why}");

    let side = SideSink::new("texts", table(home));
    let p = || blocks().tee_to("texts", side.clone()).map(|text| text.clone()).any_edge();
    let out = FileSink::append(home.join("out"));
    let why = refused(home, job(home).side_sink(&side).start(&p(), followed(home), out.clone()));
    assert!(why.starts_with("the side sink \"texts\" skips numbers that it has"), "{why}");

    let state = StateDir::open(home.join("state"), "texts").unwrap();
    let (effects, _) = Effects::open(&state, SMALL).unwrap();
    let call = effects.recorded("call", Unknown::retry(), |_, text: &String| text.clone());
    let called = blocks().enumerate().map_blocking(call.clone()).map(|text| text.clone().unwrap());
    let job = Persistent::new(Rings::new(), state).recording(&effects);
    let why = refused(home, job.start(&called, followed(home), out.clone()));
    let expected = "the effect \"call\" has its answers by number, it is not known whose";
    assert!(why.starts_with(expected) && why.contains("`.named(\"call\")`"), "{why}");
    let called = blocks().enumerate().map_blocking(call).named("call").map(|text| text.clone().unwrap());
    let job = Persistent::new(Rings::new(), StateDir::open(home.join("state"), "texts").unwrap()).recording(&effects);
    let why = refused(home, job.start(&called, followed(home), out));
    assert!(why.starts_with("the effect \"call\" has its answers by number, and"), "{why}");
}

/// An effect that no stage of the present version can be does not matter.
#[test]
fn a_version_is_refused_that_a_start_would_refuse_for_its_numbers() {
    let home = tempdir().unwrap();
    let home = home.path();
    write(home, 0..10);
    let state = StateDir::open(home.join("state"), "texts").unwrap();
    let (effects, _) = Effects::open(&state, SMALL).unwrap();
    let call = effects.recorded("call", Unknown::retry(), |_, text: &String| text.clone());
    let blocks = || pipeline::<Block>().map(text);
    let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).recording(&effects);
    let running = job.start(&blocks().any_edge(), followed(home), FileSink::append(home.join("out"))).unwrap();
    let upgrader = running.upgrader();
    let called = blocks().enumerate().map_blocking(call.clone()).map(|text| text.clone().unwrap()).any_edge();
    let why = upgrader.upgrade(called, |_| "new".into(), |_| ()).unwrap_err().to_string();
    assert!(why.contains("the effect \"call\" has its answers by number, it is not known whose"), "{why}");
    let called = blocks().enumerate().map_blocking(call).named("call").map(|text| text.clone().unwrap()).any_edge();
    let why = upgrader.upgrade(called, |_| "new".into(), |_| ()).unwrap_err().to_string();
    assert!(why.contains("the effect \"call\" has its answers by number, and after a restart"), "{why}");
    upgrader.upgrade(blocks().any_edge(), |_| "new".into(), |_| ()).unwrap();
}

#[test]
fn lines_of_a_followed_file_have_their_own_numbers() {
    let home = tempdir().unwrap();
    let home = home.path();
    let lines = || pipeline::<Block>().lines().map(|line| String::from_utf8_lossy(&line).into_owned()).any_edge();
    let life = |lines_there: u64, stores: bool| {
        let running = job(home).start(&lines(), followed(home), table(home)).unwrap();
        let begun = Instant::now();
        while rows(home).len() < lines_there as usize {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", rows(home));
            sleep(Duration::from_millis(1));
        }
        if stores {
            running.snapshot().unwrap().unwrap();
            for n in lines_there..lines_there + 5 {
                write(home, n..n + 1);
                while rows(home).len() <= n as usize {
                    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", rows(home));
                    sleep(Duration::from_millis(1));
                }
            }
        }
    };
    write(home, 0..10);
    life(10, true);
    write(home, 15..25);
    life(25, false);
    assert_eq!(rows(home), (0..25).map(|n| n.to_string()).collect::<Vec<_>>());
}

/// A crash of the machine took the end of a journal that is not synced, and the database was elsewhere.
#[test]
fn a_journal_that_ends_before_what_the_table_has_is_refused() {
    let home = tempdir().unwrap();
    let home = home.path();
    let life = |lines: std::ops::Range<u64>| {
        let state = StateDir::open(home.join("state"), "texts").unwrap();
        let live = journaled(&state, SMALL, move || lines.map(|n| n.to_string()));
        let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall);
        job.run(&pipeline::<String>().map(Clone::clone).any_edge(), live, table(home))
    };
    life(0..100).unwrap();
    let mut segments: Vec<_> =
        fs::read_dir(home.join("state/journal")).unwrap().map(|file| file.unwrap().path()).collect();
    segments.retain(|path| path.extension().is_some_and(|end| end == "journal"));
    segments.sort();
    segments.iter().rev().take(2).for_each(|path| fs::remove_file(path).unwrap());
    let why = life(100..200).expect_err("it skips what comes").to_string();
    assert!(why.contains("ends at number") && why.contains("numbers below 100 were durable"), "{why}");
    assert_eq!(rows(home).len(), 100);
}

/// A source with a journal that does not say that it repeats.
struct Unrepeated<J>(J);

impl<J: Resumable<String>> Resumable<String> for Unrepeated<J> {
    type Mark = J::Mark;
    type Values = J::Values;
    const WAITS: bool = J::WAITS;

    fn repeats(&self) -> bool {
        false
    }

    fn begin(&self, position: Option<&Position>) -> io::Result<J::Values> {
        self.0.begin(position)
    }

    fn position(&self, mark: &J::Mark) -> io::Result<Position> {
        self.0.position(mark)
    }
}

/// It is the sink that it will have that counts, and not the one that it has until then.
#[test]
fn a_run_that_follows_is_judged_by_its_sink() {
    let home = tempdir().unwrap();
    let home = home.path();
    let (sender, lines) = sync_channel::<String>(10);
    let source = |state: &StateDir, lines| Unrepeated(journaled(state, SMALL, || lines));
    let texts = pipeline::<String>().map(Clone::clone).any_edge();
    let state = StateDir::open(home.join("state"), "texts").unwrap();
    let live = source(&state, lines);
    let present = Persistent::new(Rings::new(), state).start(&texts, live, FileSink::append(home.join("out"))).unwrap();
    let beside = || Persistent::new(Rings::new(), StateDir::read(home.join("state")).unwrap());
    let none = || sync_channel(1).1;
    let followed = beside().follow_run(&texts, |state| source(state, none()), FileSink::append(home.join("out")));
    assert!(followed.unwrap().is_some());
    let refused =
        beside().follow_run(&texts, |state| source(state, none()), table(home)).map(drop).expect_err("it follows");
    assert!(matches!(refused, JobError::OtherNumbers { .. }), "{refused}");
    drop(sender);
    present.wait().unwrap();
}
