//! Sinks of `tee_to` that go on with their job.

use millstream::io::{FileSink, FileSinkOptions};
use millstream::prelude::*;
use millstream::state::journal::JournalOptions;
use millstream::state::{
    Cadence, ClaimingSink, Claims, JobError, Persistent, Retention, SideSink, StateDir, again, journaled, written,
};
use std::fs;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread::sleep;
use std::time::Duration;
use tempfile::tempdir;

type Odd = SideSink<AnyEdge<String>, FileSinkOptions>;

fn odd(home: &Path) -> Odd {
    SideSink::new("odd", FileSink::append(home.join("odd")))
}

/// Sums; the odd ones go to the side, too.
fn sums(odd: Odd) -> impl Pipeline<u64, String> + Lasting {
    pipeline::<u64>()
        .scan(0, |sum, x| {
            *sum += x;
            *sum
        })
        .named("sum")
        .tee(|p| p.filter(|sum| sum % 2 == 1).map(|sum| format!("{sum}\n")).any_edge().tee_to("odd", odd))
        .map(|sum| format!("{sum}\n"))
        .any_edge()
}

fn job(home: &Path) -> Persistent {
    let keep = Retention { count: Some(10), ..Retention::default() };
    let dir = StateDir::open(home.join("state"), "sums").unwrap();
    Persistent::new(Rings::new().batch(3), dir).snapshot_every(Cadence::Numbers(7)).keep(keep)
}

/// Runs the job until its source dies at a value.
fn dies(home: &Path, at: u64) {
    let odd = odd(home);
    let source = again(move || {
        (1..).inspect(move |x| {
            assert!(*x != at, "the end of this process");
            // Snapshots are stored meanwhile.
            sleep(Duration::from_micros(200));
        })
    });
    let job = job(home).side_sink(&odd);
    let died = job.run(&sums(odd), source, FileSink::append(home.join("all"))).unwrap_err();
    assert!(died.to_string().contains("the end of this process"), "{died}");
}

fn ends(home: &Path, n: u64) -> Result<u64, JobError> {
    let odd = odd(home);
    let job = job(home).side_sink(&odd);
    let (_, stored) = job.run(&sums(odd), again(move || 1..=n), FileSink::append(home.join("all")))?;
    assert_eq!(stored.failed, 0, "{stored:?}");
    Ok(stored.began)
}

fn check(home: &Path, n: u64) {
    let sums = || (1..=n).map(|x| x * (x + 1) / 2);
    let lines = |sums: &mut dyn Iterator<Item = u64>| sums.map(|sum| format!("{sum}\n")).collect::<String>();
    assert_eq!(fs::read_to_string(home.join("all")).unwrap(), lines(&mut sums()));
    assert_eq!(fs::read_to_string(home.join("odd")).unwrap(), lines(&mut sums().filter(|sum| sum % 2 == 1)));
}

#[test]
fn each_value_is_in_a_side_sink_once_however_often_the_job_dies() {
    let home = tempdir().unwrap();
    for at in [3, 30, 31, 55, 90, 200] {
        dies(home.path(), at);
    }
    assert!(ends(home.path(), 300).unwrap() > 0);
    check(home.path(), 300);
}

/// Runs the job on the values of its journal, and then on these. When a snapshot after a list is stored, `stored` is
/// told its number.
fn runs(home: &Path, lists: &[std::ops::Range<u64>], mut stored: impl FnMut(u64)) -> Result<u64, JobError> {
    let (sender, values) = sync_channel(1000);
    let state = StateDir::open(home.join("state"), "sums").unwrap();
    let source = journaled(&state, JournalOptions::default(), || values);
    let side = odd(home);
    let keep = Retention { count: Some(1000), ..Retention::default() };
    let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).keep(keep).side_sink(&side);
    let running = job.start(&parsed(side), source, FileSink::append(home.join("all")))?;
    for list in lists {
        list.clone().for_each(|x| sender.send(x.to_string()).unwrap());
        while running.snapshot().unwrap().unwrap() < list.end - 1 {}
        stored(list.end - 1);
    }
    drop(sender);
    Ok(running.wait()?.1.began)
}

fn parsed(side: Odd) -> impl Pipeline<String, String> + Lasting {
    pipeline::<String>().map(|x| x.parse().unwrap()).then(sums(side))
}

#[test]
fn a_side_sink_that_holds_less_begins_at_an_older_snapshot() {
    let home = tempdir().unwrap();
    let path = home.path().join("odd");
    let mut snapshots = Vec::new();
    let stored = |at| snapshots.push((at, fs::metadata(&path).unwrap().len()));
    assert_eq!(runs(home.path(), &[1..40, 40..81], stored).unwrap(), 0);
    let [(first, held), (second, more)] = snapshots[..] else { panic!("{snapshots:?}") };
    assert!(0 < first && first < second && held < more, "{snapshots:?}");
    // It has lost what it got after the first.
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(held + 1).unwrap();
    let began = runs(home.path(), &[], |_| ()).unwrap();
    // Snapshots just after the first may claim no more.
    assert!((first..second).contains(&began), "{began} {snapshots:?}");
    check(home.path(), 80);
    // Later ones are of what it has lost, and are gone.
    let state = StateDir::read(home.path().join("state")).unwrap();
    assert_eq!(state.newest().unwrap().map(|newest| newest.at), Some(began));
    // And now all of it: the job begins at the beginning, if that is still kept.
    file.set_len(0).unwrap();
    assert_eq!(runs(home.path(), std::slice::from_ref(&(81..101)), |_| ()).unwrap(), 0);
    check(home.path(), 100);
    // A start that is refused cuts no other sink.
    let all = fs::read_to_string(home.path().join("all")).unwrap() + "more\n";
    fs::write(home.path().join("all"), &all).unwrap();
    file.set_len(0).unwrap();
    let mut snapshots: Vec<_> = fs::read_dir(home.path().join("state/snapshots")).unwrap().flatten().collect();
    snapshots.sort_by_key(|snapshot| snapshot.file_name());
    snapshots.pop();
    snapshots.iter().for_each(|snapshot| fs::remove_file(snapshot.path()).unwrap());
    let why = runs(home.path(), &[], |_| ()).unwrap_err().to_string();
    assert!(why.contains("the side sink \"odd\": ") && why.contains("it has 0 bytes, and had "), "{why}");
    assert_eq!(fs::read_to_string(home.path().join("all")).unwrap(), all);
}

#[test]
fn a_side_sink_needs_a_stage_of_its_own_name() {
    let home = tempdir().unwrap();
    let other = SideSink::<AnyEdge<String>, _>::new("even", FileSink::append(home.path().join("even")));
    let (all, values) = (FileSink::append(home.path().join("all")), again(|| 1..5_u64));
    let missing = job(home.path()).side_sink(&other).run(&sums(odd(home.path())), values, all.clone()).unwrap_err();
    assert!(
        missing.to_string().starts_with("the pipeline has no `tee_to(\"even\", ..)`, or more than one"),
        "{missing}"
    );
    assert!(matches!(missing, JobError::NoSideSink { name } if name == "even"));

    let side = odd(home.path());
    let twice = sums(side.clone()).any_edge().tee_to("odd", side.clone());
    let twice = job(home.path()).side_sink(&side).run(&twice, again(|| 1..5), all.clone()).unwrap_err();
    assert!(matches!(twice, JobError::NoSideSink { name } if name == "odd"));

    let stage = pipeline::<u64>().map(|x| x + 1).named("odd").then(sums(side.clone()));
    let stage = job(home.path()).side_sink(&side).run(&stage, again(|| 1..5), all).unwrap_err();
    assert!(matches!(stage, JobError::NoSideSink { name } if name == "odd"));
}

#[test]
fn a_job_that_did_not_have_a_side_sink_may_get_one() {
    let home = tempdir().unwrap();
    let without = sums(odd(home.path()));
    let all = || FileSink::append(home.path().join("all"));
    // This job does not know the sink.
    job(home.path()).run(&without, again(|| 1..=20), all()).unwrap();
    drop(without);
    let had = fs::read_to_string(home.path().join("odd")).unwrap();
    let refused = ends(home.path(), 50).unwrap_err().to_string();
    assert!(refused.contains("the side sink \"odd\": ") && refused.contains("odd: "), "{refused}");
    fs::remove_file(home.path().join("odd")).unwrap();
    let began = ends(home.path(), 50).unwrap();
    assert!(began > 0);
    fs::write(home.path().join("odd"), had_until(&had, began) + &fs::read_to_string(home.path().join("odd")).unwrap())
        .unwrap();
    check(home.path(), 50);
}

/// The lines of the odd sums below this number.
fn had_until(had: &str, began: u64) -> String {
    let sum = began * (began + 1) / 2;
    had.lines().filter(|line| line.parse::<u64>().unwrap() <= sum).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_new_version_goes_on_with_the_side_sink() {
    let home = tempdir().unwrap();
    let side = odd(home.path());
    let (sender, values) = sync_channel(1000);
    let state = StateDir::open(home.path().join("state"), "sums").unwrap();
    let source = journaled(&state, JournalOptions::default(), || values);
    let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).side_sink(&side);
    let running = job.start(&parsed(side.clone()), source, FileSink::append(home.path().join("all"))).unwrap();
    let send = |values: std::ops::Range<u64>| values.for_each(|x| sender.send(x.to_string()).unwrap());
    send(1..40);
    running.snapshot().unwrap();
    let changed = running.upgrader().upgrade(parsed(side.clone()), |_| "next".into(), |_| ()).unwrap();
    assert_eq!(changed.stored, Ok(()));
    send(40..60);
    running.snapshot().unwrap();
    send(60..81);
    drop(sender);
    let (_, stored) = running.wait().unwrap();
    assert_eq!(stored.failed, 0, "{stored:?}");
    drop(side);
    check(home.path(), 80);
}

#[test]
fn values_of_any_type_are_written_by_one_sink_in_one_run_after_the_other() {
    let home = tempdir().unwrap();
    let file = FileSink::append(home.path().join("side"));
    let side = SideSink::new("side", written(file, |x: &u64, line| line.extend(format!("{x};").bytes())));
    let p = pipeline::<u64>().any_edge().tee_to("side", side.clone()).map(|x| format!("{x}\n"));
    for n in [10, 20] {
        let all = FileSink::append(home.path().join("all"));
        job(home.path()).side_sink(&side).run(&p, again(move || 0..n), all).unwrap();
    }
    let expected: String = (0..20).map(|x| format!("{x};")).collect();
    assert_eq!(fs::read_to_string(home.path().join("side")).unwrap(), expected);
}

#[test]
fn a_job_with_side_sinks_cannot_follow() {
    let home = tempdir().unwrap();
    ends(home.path(), 5).unwrap();
    let side = odd(home.path());
    let beside = Persistent::new(Rings::new(), StateDir::read(home.path().join("state")).unwrap()).side_sink(&side);
    let source = |state: &StateDir| journaled(state, JournalOptions::default(), std::iter::empty);
    let refused = beside.follow_run(&parsed(side), source, FileSink::append(home.path().join("all"))).unwrap_err();
    assert!(matches!(refused, JobError::CannotFollow), "{refused}");
}

#[test]
fn without_a_job_that_keeps_its_state_it_is_a_sink_like_any_other() {
    let home = tempdir().unwrap();
    let side = odd(home.path());
    assert_eq!(sums(side.clone()).collect(1..4).unwrap(), ["1\n", "3\n", "6\n"]);
    assert_eq!(fs::read_to_string(home.path().join("odd")).unwrap(), "1\n3\n");
    let refused = sums(side).collect(1..4).unwrap_err().to_string();
    assert!(refused.starts_with("stage \"odd\", number 0: "), "{refused}");
}

#[test]
fn a_run_that_is_dropped_writes_nothing_to_its_side_sinks_later() {
    for _ in 0..5 {
        let home = tempdir().unwrap();
        let side: Odd = SideSink::new("odd", FileSink::append(home.path().join("odd")).keep_at_pauses());
        let all = || FileSink::append(home.path().join("all"));
        // No snapshot makes it write its buffer.
        let first = job(home.path()).snapshot_every(Cadence::OnCall).side_sink(&side);
        let running = first.start(&sums(side.clone()), again(|| 1..), all()).unwrap();
        while fs::metadata(home.path().join("odd")).map_or(0, |file| file.len()) == 0 {
            sleep(Duration::from_millis(1));
        }
        drop(running);
        ends(home.path(), 300).unwrap_or_else(|error| panic!("{error}"));
        let written = fs::read_to_string(home.path().join("odd")).unwrap();
        drop(side);
        assert!(fs::read_to_string(home.path().join("odd")).unwrap() == written, "stale values were written");
    }
}

#[test]
fn a_written_file_keeps_its_buffer_at_pauses_if_it_should() {
    for keeps in [false, true] {
        let home = tempdir().unwrap();
        let file = FileSink::append(home.path().join("out"));
        let file = if keeps { file.keep_at_pauses() } else { file };
        let sink = written(file, |x: &u64, line| line.extend(format!("{x}\n").bytes()));
        let mut open = ClaimingSink::<Val<u64>>::open(&sink, None).unwrap();
        Sink::<Val<u64>>::put(&mut open, 0.into(), &7).unwrap();
        Sink::<Val<u64>>::pause(&mut open).unwrap();
        let held = fs::read_to_string(home.path().join("out")).unwrap();
        assert_eq!(held, if keeps { "" } else { "7\n" });
        open.claim().unwrap();
        assert_eq!(fs::read_to_string(home.path().join("out")).unwrap(), "7\n");
    }
}
