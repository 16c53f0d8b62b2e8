//! Jobs whose pipeline is replaced while they run.

use crate::jobs::job;
use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::{Cadence, Places, Position, Resumable, SnapshotEntry, StateDir, again};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use std::{fs, io};

fn sums(by: u64) -> impl Pipeline<u64, String> + Lasting {
    let sum = |sum: &mut u64, x: &u64| {
        *sum += x;
        format!("{sum}\n")
    };
    pipeline::<u64>().map(move |x| x * by).scan(0_u64, sum).named("sum").any_edge()
}

/// What is written of the numbers below `n` if those from `at` on are ten times as great.
fn expected(at: u64, n: u64) -> String {
    let each = (0..n).scan(0, |sum, x| {
        *sum += if x < at { x } else { 10 * x };
        Some(format!("{sum}\n"))
    });
    each.collect()
}

fn jobs(home: &Path) -> Vec<(u64, String)> {
    let all = StateDir::read(home.join("state")).unwrap().snapshots().unwrap();
    let whole = all.iter().filter_map(SnapshotEntry::manifest);
    whole.map(|manifest| (manifest.at, manifest.plan["job"].as_str().unwrap_or("").to_owned())).collect()
}

/// Whatever takes snapshots, the job goes on with the states of the version that had come so far.
#[test]
fn a_job_goes_on_with_the_version_that_is_stored() {
    for every in [Cadence::OnCall, Cadence::Numbers(7), Cadence::Every(Duration::from_millis(1))] {
        for _ in 0..5 {
            let home = tempfile::tempdir().unwrap();
            let out = home.path().join("out");
            let old = job(home.path(), every).described_as("old".into());
            let running = old.start(&sums(1), again(|| 0..), FileSink::append(&out)).unwrap();
            while fs::read_to_string(&out).unwrap_or_default().lines().count() < 100 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let changed = running.upgrader().upgrade(sums(10), |_| "new".into(), |_| ()).unwrap();
            assert_eq!(changed.stored, Ok(()));
            assert_eq!(running.upgrader().changes().len(), 1);
            let at = changed.at.0;
            assert_eq!(jobs(home.path()).iter().find(|(_, job)| job == "new").unwrap().0, at);
            // As if it were killed.
            drop(running);
            for (of, job) in jobs(home.path()).into_iter().filter(|(of, _)| *of != at) {
                assert_eq!(job, if of < at { "old" } else { "new" }, "{of}, and {at}");
            }
            let end = jobs(home.path()).last().unwrap().0 + 50;
            let new = job(home.path(), every).described_as("new".into());
            let (_, stored) = new.run(&sums(10), again(move || 0..end), FileSink::append(&out)).unwrap();
            assert!(stored.began >= at, "{stored:?}");
            assert!(fs::read_to_string(&out).unwrap() == expected(at, end), "from {at}, to {end}, {every:?}");
        }
    }
}

/// The stream has ended, or is about to: the change is stored where it was made.
#[test]
fn a_change_at_the_end_of_the_stream_is_stored() {
    let mut made = 0;
    for n in (100..4000).step_by(100) {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("out");
        let old = job(home.path(), Cadence::OnCall);
        let running = old.start(&sums(1), again(move || 0..n), FileSink::append(&out)).unwrap();
        let changed = running.upgrader().upgrade(sums(10), |_| "new".into(), |_| ());
        running.wait().unwrap();
        let at = match changed {
            Ok(changed) => {
                made += 1;
                assert_eq!(changed.stored, Ok(()));
                changed.at.0
            }
            Err(_) => n,
        };
        assert!(fs::read_to_string(&out).unwrap() == expected(at, n), "{at} of {n}");
        if at < n {
            let (_, stored) =
                job(home.path(), Cadence::OnCall).run(&sums(10), again(move || 0..n), FileSink::append(&out)).unwrap();
            assert_eq!(stored.began, at);
            assert!(fs::read_to_string(&out).unwrap() == expected(at, n), "{at} of {n}, again");
        }
    }
    assert!(made > 0);
}

#[test]
fn a_change_that_is_refused_changes_nothing_that_is_stored() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let old = job(home.path(), Cadence::OnCall).described_as("old".into());
    let running = old.start(&sums(1), again(|| 0..), FileSink::append(&out)).unwrap();
    let upgrader = running.upgrader();
    let lost = pipeline::<u64>().map(|x| format!("{x}\n")).any_edge();
    let refused = upgrader.upgrade(lost, |_| "new".into(), |_| panic!("it does not begin")).unwrap_err();
    assert!(matches!(refused, UpgradeError::Check(_)), "{refused}");
    assert!(running.snapshot().unwrap().is_some());
    assert!(jobs(home.path()).iter().all(|(_, job)| job == "old"));
}

/// One value that is not whole, and nothing more until the other end of the channel is gone.
struct Cut(Mutex<Option<Receiver<()>>>);

struct CutValues {
    passed: u64,
    more: Receiver<()>,
}

impl Resumable<u64> for Cut {
    type Mark = u64;
    type Values = CutValues;
    const WAITS: bool = true;

    fn begin(&self, _: Option<&Position>) -> io::Result<CutValues> {
        Ok(CutValues { passed: 0, more: self.0.lock().unwrap().take().unwrap() })
    }

    fn position(&self, mark: &u64) -> io::Result<Position> {
        Ok((*mark).into())
    }
}

impl Iterator for CutValues {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.passed > 0 {
            self.more.recv().ok()?;
        }
        self.passed += 1;
        Some(7)
    }
}

impl Places for CutValues {
    type Mark = u64;

    fn place(&self) -> u64 {
        self.passed
    }

    fn is_whole(&self) -> bool {
        self.passed != 1
    }
}

/// A start would read the value again, and not go on behind it.
#[test]
fn nothing_is_stored_behind_a_value_that_is_not_whole_and_that_is_said() {
    let home = tempfile::tempdir().unwrap();
    let (sender, more) = sync_channel(1);
    let old = job(home.path(), Cadence::OnCall).described_as("old".into());
    let out = FileSink::append(home.path().join("out"));
    let running = old.start(&sums(1), Cut(Mutex::new(Some(more))), out).unwrap();
    let unstored = || {
        let why = std::iter::repeat_with(|| running.snapshot()).find(|stored| *stored != Ok(Some(0)));
        let why = why.unwrap().unwrap_err();
        assert!(why.starts_with("the last value is not whole"), "{why}");
        // Another process can go on nevertheless, and reads the value again.
        assert_eq!(running.storer().newest(), Ok(Some(0)));
    };
    unstored();
    let changed = running.upgrader().upgrade(sums(10), |_| "new".into(), |_| ()).unwrap();
    assert!(changed.stored.is_err(), "{changed:?}");
    unstored();
    assert!(jobs(home.path()).iter().all(|stored| *stored == (0, "old".to_owned())), "{:?}", jobs(home.path()));
    sender.send(()).unwrap();
    while running.snapshot() != Ok(Some(2)) {}
    assert_eq!(running.storer().newest(), Ok(Some(2)));
    assert_eq!(jobs(home.path()).last(), Some(&(2, "new".to_owned())));
    drop(sender);
    let (_, stored) = running.wait().unwrap();
    assert_eq!(stored.failed, 0, "{stored:?}");
}
