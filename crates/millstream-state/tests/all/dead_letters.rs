//! Failures that are set aside, and come home.

use millstream::io::{FileSink, FileSinkOptions};
use millstream::prelude::*;
use millstream::state::dead_letters::KeptLetters;
use millstream::state::{
    Cadence, ClaimingSink, JobError, OpenError, Persistent, Position, Retention, StateDir, Stored, again,
};
use millstream_state::journal::JournalOptions;
use proptest::prelude::{Just, ProptestConfig, any, prop, prop_assert_eq, prop_oneof, proptest};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// What becomes of a wrong number.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// It is set aside.
    Alone,
    /// It is set aside, by a stage that is named once more.
    UnderALaterName,
    /// And all later ones of its key.
    WithItsKey,
}

/// Sums by key, and a running sum, after a stage that sets numbers aside.
macro_rules! sums {
    ($checked:expr) => {
        $checked
            .shard_by(|x| x % 3, 2, |p| p.scan(0_u64, |sum, x| (*sum + x, *sum += x).0).named("sums"))
            .named("keys")
            .map(|sum| format!("{sum}\n"))
            .any_edge()
    };
}

/// A number is wrong in the first version of the program if it has a bit of `wrong`.
fn run(home: &Path, n: u64, wrong: u64, every: u64, dies: Option<u64>, redo: bool) -> Result<Stored, JobError> {
    run_with(Wrong::Alone, home, (n, wrong, every), dies, redo)
}

fn run_with(
    becomes: Wrong,
    home: &Path,
    (n, wrong, every): (u64, u64, u64),
    dies: Option<u64>,
    redo: bool,
) -> Result<Stored, JobError> {
    let state = StateDir::open(home.join("state"), "sums").unwrap();
    let letters = KeptLetters::open(&state, JournalOptions::default()).unwrap();
    let check = move |x: &u64| if x & wrong == 0 { Ok(*x) } else { Err(format!("{x} is wrong")) };
    let key = |x: &u64| x % 7;
    let twice = || pipeline::<u64>().flat_map(|x| [*x, *x + 1]).named("twice");
    let values = move || (0..n).inspect(move |x| assert_ne!(Some(*x), dies, "the end of this process"));
    let job = Persistent::new(Rings::new().batch(3), state).snapshot_every(Cadence::Numbers(every)).letters(&letters);
    let job = job.keep(Retention { count: Some(1), ..Retention::default() });
    let job = if redo { job.redo() } else { job };
    let out = FileSink::append(home.join("out"));
    let (_, stored) = match becomes {
        Wrong::Alone => {
            job.run(&sums!(twice().try_map_or_dead_letter("check", check, letters.taking())), again(values), out)?
        }
        Wrong::UnderALaterName => {
            let checked = twice().try_map_or_dead_letter("check", check, letters.taking()).named("checked");
            job.run(&sums!(checked), again(values), out)?
        }
        Wrong::WithItsKey => {
            job.run(&sums!(twice().try_map_or_park("check", key, check, letters.taking())), again(values), out)?
        }
    };
    let mut parked = [false; 7];
    let set_aside = |x: &u64| {
        let after = &mut parked[key(x) as usize];
        *after |= x & wrong != 0 && matches!(becomes, Wrong::WithItsKey);
        *after || x & wrong != 0
    };
    let set_aside = (0..n).flat_map(|x| [x, x + 1]).filter(set_aside).count();
    assert_eq!(letters.list().len(), set_aside);
    Ok(stored)
}

fn out(home: &Path) -> String {
    fs::read_to_string(home.join("out")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn parked_values_are_done_again_and_the_output_is_that_of_a_run_that_never_failed(
        n in 1_u64..120,
        wrong in 1_u64..64,
        every in 1_u64..40,
        becomes in prop_oneof![Just(Wrong::Alone), Just(Wrong::UnderALaterName), Just(Wrong::WithItsKey)],
        deaths in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..3),
    ) {
        let (home, never) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let run = |home: &Path, wrong, dies, redo| run_with(becomes, home, (n, wrong, every), dies, redo);
        run(never.path(), 0, None, false).unwrap();
        // The first version, and a second one that is half as wrong, die now and then, and begin again and again.
        for (death, redo) in deaths {
            let dies = Some(death.index(n as usize) as u64);
            let wrong = if redo { wrong & (wrong - 1) } else { wrong };
            _ = catch_unwind(AssertUnwindSafe(|| run(home.path(), wrong, dies, redo)));
        }
        run(home.path(), 0, None, true).unwrap();
        prop_assert_eq!(out(home.path()), out(never.path()));
    }
}

/// Their numbers are those of a clock behind the source's.
#[test]
fn letters_of_a_stage_with_a_later_name_outlive_their_run() {
    let (home, never) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = |home: &Path, wrong, dies, redo| run_with(Wrong::UnderALaterName, home, (40, wrong, 10), dies, redo);
    run(never.path(), 0, None, false).unwrap();
    _ = catch_unwind(AssertUnwindSafe(|| run(home.path(), 8, Some(25), false)));
    run(home.path(), 8, None, false).unwrap();
    run(home.path(), 0, None, true).unwrap();
    assert_eq!(out(home.path()), out(never.path()));
}

#[test]
fn the_snapshot_before_the_first_letter_stays_and_later_ones_go_when_it_is_gone() {
    let home = tempfile::tempdir().unwrap();
    let at = || -> Vec<u64> {
        let state = StateDir::read(home.path().join("state")).unwrap();
        state.snapshots().unwrap().iter().map(|entry| entry.manifest().unwrap().at).collect()
    };
    // Wrong from 64 on, in several lives: later snapshots have no parts of that one.
    for n in [100, 200, 300, 400] {
        run(home.path(), n, 64, 10, None, false).unwrap();
    }
    let kept = at();
    assert!(kept[0] <= 63, "{kept:?}");
    let stored = run(home.path(), 400, 0, 10, None, true).unwrap();
    assert!(stored.began <= 63 && stored.began >= kept[0], "{stored:?} of {kept:?}");
    // There is nothing to do again, so this is a start like any other.
    assert!(run(home.path(), 450, 0, 10, None, true).unwrap().began >= stored.began);
    let all: Vec<u64> = out(home.path()).lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(all.len(), 900);
}

#[test]
fn a_run_that_is_done_again_leaves_no_snapshot_of_the_one_that_failed() {
    let (home, never) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = || -> Vec<u64> {
        let state = StateDir::read(home.path().join("state")).unwrap();
        state.snapshots().unwrap().iter().map(|entry| entry.manifest().unwrap().at).collect()
    };
    let mut n = 0;
    // There is no snapshot at numbers that pass while another one is stored, so this waits until one is after the first
    // letter.
    while n == 0 || at().iter().all(|at| *at <= 64) {
        n += 400;
        run(home.path(), n, 64, 10, None, false).unwrap();
    }
    // It dies before it has a letter, and the sink may hold as much again before there is a snapshot.
    _ = catch_unwind(AssertUnwindSafe(|| run(home.path(), n, 0, 1000, Some(64), true)));
    let left = at();
    assert!(!left.is_empty() && left.iter().all(|at| *at <= 64), "{left:?}");
    run(home.path(), n, 0, 10, None, true).unwrap();
    run(never.path(), n, 0, 10, None, false).unwrap();
    assert_eq!(out(home.path()), out(never.path()));
}

/// A sink that cannot be cut.
struct Table(FileSinkOptions);

impl ClaimingSink<AnyEdge<String>> for Table {
    type Open = FileSink;

    fn open(&self, claim: Option<(SequenceNumber, &Position)>) -> Result<FileSink, OpenError> {
        ClaimingSink::<AnyEdge<String>>::open(&self.0, claim)
    }
}

#[test]
fn a_sink_that_keeps_what_it_got_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let run = |redo: bool| {
        let state = StateDir::open(home.path().join("state"), "lines").unwrap();
        let letters = KeptLetters::open(&state, JournalOptions::default()).unwrap();
        let even = |x: &u64| if x.is_multiple_of(2) { Ok(format!("{x}\n")) } else { Err("odd") };
        let lines = pipeline::<u64>().try_map_or_dead_letter("even", even, letters.taking()).any_edge();
        let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).letters(&letters);
        let job = if redo { job.redo() } else { job };
        job.run(&lines, again(|| 0..3), Table(FileSink::append(home.path().join("out")))).map(drop)
    };
    run(false).unwrap();
    let refused = run(true).unwrap_err();
    assert!(matches!(refused, JobError::SinkStays), "{refused}");
    let state = StateDir::read(home.path().join("state")).unwrap();
    let letters = KeptLetters::open(&state, JournalOptions::default()).unwrap().list();
    assert_eq!((letters.len(), letters[0].stage.as_str(), letters[0].number), (1, "even", 1));
    assert_eq!((letters[0].why.as_str(), &letters[0].input[..]), ("odd", &[1][..]));
}

/// A run whose letters may have this many bytes. Every third number is wrong, unless it is fixed.
fn run_within(home: &Path, max_bytes: u64, fixed: bool, redo: bool) -> Result<Stored, JobError> {
    let state = StateDir::open(home.join("state"), "sums").unwrap();
    let options = JournalOptions { max_bytes, ..JournalOptions::default() };
    let letters = KeptLetters::open(&state, options).unwrap();
    let check = move |x: &u64| if fixed || !x.is_multiple_of(3) { Ok(*x) } else { Err(format!("{x} is wrong")) };
    let job = Persistent::new(Rings::new().batch(3), state).snapshot_every(Cadence::Numbers(5)).letters(&letters);
    let job = if redo { job.redo() } else { job };
    let checked = pipeline::<u64>().try_map_or_dead_letter("check", check, letters.taking());
    job.run(&sums!(checked), again(|| 0..200), FileSink::append(home.join("out"))).map(|(_, stored)| stored)
}

#[test]
fn a_full_journal_of_letters_can_be_gone_on_with_and_done_again() {
    let (home, never) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run_within(never.path(), 1 << 30, true, false).unwrap();
    for life in 0..20 {
        let failed = run_within(home.path(), 1500, false, false).unwrap_err();
        let why = failed.to_string();
        assert!(matches!(failed, JobError::Run(_)), "life {life}: {why}");
        assert!(why.contains("`max_bytes`") && why.contains("redo"), "{why}");
    }
    let bytes = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().metadata().unwrap().len();
    let bytes: u64 = fs::read_dir(home.path().join("state/dead-letters")).unwrap().map(bytes).sum();
    assert!(bytes < 3500, "{bytes} bytes");
    run_within(home.path(), 1500, true, true).unwrap();
    assert_eq!(out(home.path()), out(never.path()));
}

#[test]
fn letters_that_came_again_and_again_take_the_room_of_one() {
    let home = tempfile::tempdir().unwrap();
    // All letters fit, and those of each life are removed by the next one.
    for life in 0..10 {
        let (dies, n) = ((life < 9).then_some(190), 200);
        let state = StateDir::open(home.path().join("state"), "sums").unwrap();
        let options = JournalOptions { max_bytes: 6000, ..JournalOptions::default() };
        let letters = KeptLetters::open(&state, options).unwrap();
        let check = |x: &u64| if x.is_multiple_of(4) { Err("it is wrong") } else { Ok(*x) };
        let values = move || (0..n).inspect(move |x| assert_ne!(Some(*x), dies, "the end of this process"));
        let job = Persistent::new(Rings::new().batch(3), state).snapshot_every(Cadence::OnCall).letters(&letters);
        let checked = pipeline::<u64>().try_map_or_dead_letter("check", check, letters.taking());
        let ran = job.run(&sums!(checked), again(values), FileSink::append(home.path().join("out")));
        let why = ran.err().map_or("no failure".to_owned(), |error| error.to_string());
        let expected = if life < 9 { "the end of this process" } else { "no failure" };
        assert!(why.contains(expected), "life {life}: {why}");
        assert!(life < 9 || letters.list().len() == 50, "{:?}", letters.list().len());
    }
}
