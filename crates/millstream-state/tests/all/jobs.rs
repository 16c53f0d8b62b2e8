//! Jobs that die, and go on.

use millstream::io::{Block, FileSink};
use millstream::prelude::*;
use millstream::state::journal::{Fsync, JournalOptions};
use millstream::state::{
    Cadence, FollowedFile, Groups, JobError, Persistent, Retention, SnapshotEntry, Span, StateDir, TextFiles, again,
    journaled, journaled_in_groups, replay,
};
use proptest::prelude::{ProptestConfig, any, prop, prop_assert_eq, proptest};
use std::collections::VecDeque;
use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Numbers, sums, counts by key, and a stage that renumbers: a line for each output.
pub(crate) fn lines() -> impl Pipeline<u64, String> + Lasting {
    pipeline::<u64>()
        .scan(0_u64, |sum, x| {
            *sum += x;
            *sum
        })
        .named("sums")
        .shard_by(
            |sum| sum % 7,
            2,
            |p| {
                p.scan(0_u64, |count, sum| {
                    *count += 1;
                    *sum * 1000 + *count
                })
                .named("counts")
            },
        )
        .named("keys")
        .flat_scan(0_u64, |sent, x| {
            *sent += 1;
            let sent = *sent;
            (0..*x % 3).map(move |i| sent * 10 + i)
        })
        .named("some")
        .map(|x| format!("{x}\n"))
        .any_edge()
}

/// What an undisturbed run writes.
fn expected(n: u64) -> String {
    lines().collect(source::ready(0..n)).unwrap().concat()
}

pub(crate) fn job(home: &Path, every: Cadence) -> Persistent {
    let state = StateDir::open(home.join("state"), "lines").unwrap();
    Persistent::new(Rings::new().batch(3), state).snapshot_every(every)
}

/// The numbers below `n`. To make `dies` panics.
pub(crate) fn numbers(n: u64, dies: Option<u64>) -> impl Fn() -> Box<dyn Iterator<Item = u64> + Send> + Send + Sync {
    move || Box::new((0..n).inspect(move |x| assert_ne!(Some(*x), dies, "the end of this process")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_job_that_dies_again_and_again_writes_what_an_undisturbed_one_does(
        n in 1_u64..300,
        every in 1_u64..40,
        kept in 1_usize..4,
        deaths in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("out");
        for death in deaths {
            let dies = death.index(n as usize) as u64;
            let keep = Retention { count: Some(kept), ..Retention::default() };
            let job = job(home.path(), Cadence::Numbers(every)).keep(keep);
            let run = || job.run(&lines(), again(numbers(n, Some(dies))), FileSink::append(&out));
            // It may die while it skips the values before its position.
            match catch_unwind(AssertUnwindSafe(run)) {
                Ok(Err(JobError::Run(error))) => assert!(error.to_string().contains("the end of this"), "{error}"),
                Ok(Err(other)) => panic!("{other}"),
                Ok(Ok(_)) => panic!("it did not come to number {dies} of {n}"),
                Err(_) => {}
            }
        }
        let (_, stored) = job(home.path(), Cadence::Numbers(every))
            .run(&lines(), again(numbers(n, None)), FileSink::append(&out))
            .unwrap();
        prop_assert_eq!(stored.failed, 0);
        prop_assert_eq!(fs::read_to_string(&out).unwrap(), expected(n));
    }

    /// From every snapshot that is kept, and to every number, the states are those of a run from the beginning.
    #[test]
    fn the_states_at_a_number_do_not_depend_on_the_snapshot_before_it(
        n in 2_u64..200,
        every in 1_u64..30,
        to in any::<prop::sample::Index>(),
    ) {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("out");
        let keep = Retention::default();
        let job = job(home.path(), Cadence::Numbers(every)).keep(keep);
        job.run(&lines(), again(numbers(n, None)), FileSink::append(&out)).unwrap();
        let to = to.index(n as usize) as u64;
        let span = Span { from: None, to: Some(to) };
        let state = StateDir::read(home.path().join("state")).unwrap();
        let seen = replay(&state, &Rings::new(), &lines(), &again(numbers(n, None)), span, sink::collect()).unwrap();
        let fresh = Persistent::new(Rings::new(), StateDir::open(home.path().join("fresh"), "lines").unwrap());
        fresh
            .snapshot_every(Cadence::OnCall)
            .run(&lines(), again(|| 0..0), FileSink::append(home.path().join("none")))
            .unwrap();
        let fresh = StateDir::read(home.path().join("fresh")).unwrap();
        let whole = replay(&fresh, &Rings::new(), &lines(), &again(numbers(n, None)), span, sink::collect()).unwrap();
        prop_assert_eq!(whole.began, 0);
        prop_assert_eq!(seen.snapshot.to_parts().unwrap(), whole.snapshot.to_parts().unwrap());
        prop_assert_eq!(whole.output.concat(), expected(to));
    }
}

#[test]
fn a_job_over_files_goes_on_where_it_was() {
    let home = tempfile::tempdir().unwrap();
    let (log, out) = (home.path().join("log"), home.path().join("out"));
    let counted = || {
        pipeline::<Block>()
            .lines()
            .scan(0_u64, |count, _| {
                *count += 1;
                *count
            })
            .named("count")
            .map(|count| format!("{count}\n"))
    };
    let mut text = String::new();
    for day in 1..=3_u64 {
        text += &"a line\n".repeat(100);
        fs::write(&log, &text).unwrap();
        let state = StateDir::open(home.path().join("state"), "count").unwrap();
        let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::Numbers(1));
        let files = TextFiles::new([&log]).block_size(70);
        let (_, stored) = job.run(&counted(), files, FileSink::append(&out)).unwrap();
        assert!(stored.began > 0 || day == 1, "{stored:?}");
        let expected: String = (1..=100 * day).map(|count| format!("{count}\n")).collect();
        assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    }
}

#[test]
fn a_file_that_is_followed_is_read_on_when_it_has_grown_and_was_rotated() {
    let home = tempfile::tempdir().unwrap();
    let (log, out) = (home.path().join("log"), home.path().join("out"));
    let counted = pipeline::<Block>()
        .lines()
        .scan(0_u64, |count, line| {
            *count += 1;
            format!("{count} {}\n", String::from_utf8_lossy(&line))
        })
        .named("count");
    let write = |from: u64, to: u64| {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(&log).unwrap();
        (from..to).for_each(|n| writeln!(file, "line {n}").unwrap());
    };
    let run = |until: u64| {
        let state = StateDir::open(home.path().join("state"), "count").unwrap();
        let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall);
        let source = FollowedFile::new(&log).interval(Duration::from_millis(1));
        let stopper = source.stopper();
        let running = job.start(&counted, source, FileSink::append(&out)).unwrap();
        let last = format!("{until} line {}\n", until - 1);
        let written = || fs::read_to_string(&out).is_ok_and(|text| text.ends_with(&last));
        let begun = Instant::now();
        while !written() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", fs::read_to_string(&out));
            std::thread::sleep(Duration::from_millis(1));
        }
        running.snapshot().unwrap().unwrap();
        // This value comes after the snapshot, and is processed again.
        write(until, until + 1);
        stopper.stop();
        running.wait().unwrap();
    };
    write(0, 100);
    run(100);
    write(101, 150);
    run(150);
    // Rotated while no process follows it, with lines that were not read.
    write(151, 200);
    fs::rename(&log, home.path().join("log.1")).unwrap();
    write(200, 300);
    run(300);
    let expected: String = (0..301).map(|n| format!("{} line {n}\n", n + 1)).collect();
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    // What was not read is lost, and the job does not go on as if nothing had been.
    fs::write(&log, "another file\n").unwrap();
    let state = StateDir::open(home.path().join("state"), "count").unwrap();
    let lost = Persistent::new(Rings::new(), state).run(&counted, FollowedFile::new(&log), FileSink::append(&out));
    let why = lost.unwrap_err().to_string();
    assert!(why.contains("its bytes before byte ") || why.contains("or is shorter"), "{why}");
}

/// Standard input, as it were: each life gets lines that no later one can get again.
#[test]
fn live_values_survive_the_process_and_their_journal_is_trimmed() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let counted = || {
        pipeline::<String>()
            .scan(0_u64, |count, line| {
                *count += 1;
                format!("{count} {line}\n")
            })
            .named("count")
    };
    let options = JournalOptions { segment_bytes: 400, fsync: Fsync::Never, ..JournalOptions::default() };
    let mut expected = String::new();
    for life in 0..6_u64 {
        let state = StateDir::open(home.path().join("state"), "count").unwrap();
        let live = journaled(&state, options, move || {
            (0..100_u64).map(move |n| {
                // Values after this number are not read in this life.
                assert!(n < 50 + life, "the end of this process");
                format!("{life}/{n}")
            })
        });
        let job = Persistent::new(Rings::new().batch(4), state).snapshot_every(Cadence::Numbers(20));
        let keep = Retention { count: Some(1), ..Retention::default() };
        let died = job.keep(keep).run(&counted(), live, FileSink::append(&out)).unwrap_err();
        assert!(matches!(died, JobError::Run(_)), "{died}");
        let before = 50 * life + life.saturating_sub(1) * life / 2;
        expected.extend((0..50 + life).map(|n| format!("{} {life}/{n}\n", before + n + 1)));
    }
    let state = StateDir::open(home.path().join("state"), "count").unwrap();
    let live = journaled(&state, options, || ["the last one".to_owned()]);
    let (_, stored) = Persistent::new(Rings::new(), state).run(&counted(), live, FileSink::append(&out)).unwrap();
    assert!(stored.began > 200, "{stored:?}");
    expected += &format!("{} the last one\n", expected.lines().count() + 1);
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    let segments = fs::read_dir(home.path().join("state/journal")).unwrap().count();
    assert!(segments < 30, "{segments} segments: what no snapshot needs is gone");

    let state = StateDir::read(home.path().join("state")).unwrap();
    let recorded = journaled(&state, options, std::iter::empty::<String>);
    let span = Span { from: None, to: Some(stored.began) };
    let replayed = replay(&state, &Rings::new(), &counted(), &recorded, span, sink::collect()).unwrap();
    assert_eq!(replayed.snapshot.json("count").unwrap()[0], stored.began);
}

/// Lines, each a group, and the number of each in the stream.
struct Lines(Vec<&'static str>, Arc<Mutex<Vec<u64>>>);

impl Groups for Lines {
    type Item = String;

    fn next_group(&mut self, group: &mut VecDeque<String>) -> bool {
        group.extend((!self.0.is_empty()).then(|| self.0.remove(0).to_owned()));
        !group.is_empty()
    }

    fn committed(&mut self, first: u64) {
        self.1.lock().unwrap().push(first);
    }
}

#[test]
fn a_journal_that_has_lost_values_goes_on_with_new_ones() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let life = |lines: &[&'static str], skip_corrupt| {
        let counted = pipeline::<String>().scan(0_u64, |count, line| {
            *count += 1;
            format!("{count} {line}\n")
        });
        let state = StateDir::open(home.path().join("state"), "count").unwrap();
        let (numbers, live) = (Arc::new(Mutex::new(Vec::new())), lines.to_vec());
        let given = numbers.clone();
        let options = JournalOptions { skip_corrupt, ..JournalOptions::default() };
        let found = Arc::new(Mutex::new(Vec::new()));
        let tell = found.clone();
        let live = journaled_in_groups(&state, options, move || Lines(live, given))
            .on_recovery(move |recovered| tell.lock().unwrap().extend(recovered.lost.iter().cloned().flatten()));
        let cadence = if skip_corrupt { Cadence::Numbers(1) } else { Cadence::OnCall };
        let job = Persistent::new(Rings::new(), state).snapshot_every(cadence);
        let (_, stored) = job.run(&counted.named("count"), live, FileSink::append(&out))?;
        let (numbers, found) = (numbers.lock().unwrap().clone(), found.lock().unwrap().clone());
        Ok::<_, JobError>((stored.began, numbers, found))
    };
    life(&["one", "two", "three", "four"], false).unwrap();
    let journal = fs::read_dir(home.path().join("state/journal")).unwrap().map(|file| file.unwrap().path());
    let journal = journal.into_iter().find(|path| path.extension().is_some_and(|end| end == "journal")).unwrap();
    let mut bytes = fs::read(&journal).unwrap();
    let two = bytes.windows(3).position(|part| part == b"two").unwrap();
    bytes[two] ^= 1;
    fs::write(&journal, bytes).unwrap();
    assert!(life(&[], false).is_err(), "it is refused by default");

    assert_eq!(life(&["five", "six"], true).unwrap(), (0, vec![3, 4], vec![1]));
    assert_eq!(fs::read_to_string(&out).unwrap(), "1 one\n2 three\n3 four\n4 five\n5 six\n");
    // It goes on after the snapshot, where the numbers of the journal differ from the stream's.
    let (began, numbers, _) = life(&["seven"], true).unwrap();
    assert!(began > 0 && numbers == [5], "{began} {numbers:?}");
    assert_eq!(fs::read_to_string(&out).unwrap(), "1 one\n2 three\n3 four\n4 five\n5 six\n6 seven\n");
}

#[test]
fn a_sink_that_has_lost_what_it_held_is_refused_with_both_numbers() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    fs::write(&out, "what was there before\n").unwrap();
    let after = || FileSink::append(&out).after_contents();
    let run = || job(home.path(), Cadence::Numbers(10)).run(&lines(), again(numbers(90, None)), after());
    run().unwrap();
    let whole = fs::read_to_string(&out).unwrap();
    // A little less: an older snapshot serves.
    fs::write(&out, &whole[..whole.len() - 30]).unwrap();
    run().unwrap();
    assert_eq!(fs::read_to_string(&out).unwrap(), whole);
    fs::write(&out, "wh").unwrap();
    let refused = run().unwrap_err();
    assert!(matches!(refused, JobError::SinkHoldsLess { .. }), "{refused}");
    let why = refused.to_string();
    assert!(why.starts_with("the sink holds less than it did when number ") && why.contains("it has 2 bytes"), "{why}");
    fs::write(&out, whole.replace("before", "BEFORE")).unwrap();
    assert!(run().unwrap_err().to_string().contains("its bytes before byte "));
}

#[test]
fn snapshots_are_taken_on_call_and_by_time_and_one_that_cannot_be_stored_ends_nothing() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let slow = || (0..40_u64).inspect(|_| std::thread::sleep(Duration::from_millis(2)));
    let running = job(home.path(), Cadence::OnCall).start(&lines(), again(slow), FileSink::append(&out)).unwrap();
    let at = running.snapshot().unwrap();
    let (_, stored) = running.wait().unwrap();
    assert!(at.is_none_or(|at| stored.snapshots == 1 && stored.last == Some(at)), "{at:?}, {stored:?}");
    fs::remove_dir_all(home.path().join("state")).unwrap();
    fs::remove_file(&out).unwrap();
    let every = Cadence::Every(Duration::from_millis(1));
    let running = job(home.path(), every).start(&lines(), again(slow), FileSink::append(&out)).unwrap();
    let (_, stored) = running.wait().unwrap();
    assert!(stored.snapshots > 1 && stored.failed == 0, "{stored:?}");
    assert_eq!(fs::read_to_string(&out).unwrap(), expected(40));

    fs::remove_dir_all(home.path().join("state")).unwrap();
    fs::remove_file(&out).unwrap();
    let running = job(home.path(), Cadence::OnCall).start(&lines(), again(slow), FileSink::append(&out)).unwrap();
    fs::remove_dir_all(home.path().join("state/snapshots")).unwrap();
    let failed = running.snapshot();
    let (_, stored) = running.wait().unwrap();
    assert!(failed.is_err() || failed == Ok(None), "{failed:?}");
    assert_eq!((stored.snapshots, stored.failed), (0, u64::from(failed.is_err())));
    assert_eq!(fs::read_to_string(&out).unwrap(), expected(40));
}

#[test]
fn a_job_without_its_state_does_not_append_to_its_output_again() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let run = |out| job(home.path(), Cadence::Numbers(10)).run(&lines(), again(numbers(40, None)), out);
    let append = || FileSink::append(&out);
    run(append()).unwrap();
    fs::remove_dir_all(home.path().join("state")).unwrap();
    let written = expected(40);
    let why = run(append()).unwrap_err().to_string();
    assert!(why.contains("out: cannot open: it has ") && why.contains("`.after_contents()`"), "{why}");
    assert_eq!(fs::read_to_string(&out).unwrap(), written);
    // Again, since nothing may be left in the state directory that says the job has begun.
    run(append()).unwrap_err();
    run(append().after_contents()).unwrap();
    assert_eq!(fs::read_to_string(&out).unwrap(), written.repeat(2));
    // What a file begins with is no contents.
    fs::remove_dir_all(home.path().join("state")).unwrap();
    fs::write(&out, "head\n").unwrap();
    run(append().header("head\n")).unwrap();
    assert_eq!(fs::read_to_string(&out).unwrap(), format!("head\n{written}"));
}

#[test]
fn a_damaged_snapshot_is_passed_over_and_the_one_before_serves() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let run = |n| job(home.path(), Cadence::Numbers(10)).run(&lines(), again(numbers(n, None)), FileSink::append(&out));
    // A fast run may store one snapshot only, so there are two runs.
    run(50).unwrap();
    run(90).unwrap();
    let whole = fs::read_to_string(&out).unwrap();
    let state = StateDir::read(home.path().join("state")).unwrap();
    let newest = state.newest().unwrap().unwrap();
    let path = home.path().join("state/snapshots").join(newest.file());
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(matches!(state.snapshots().unwrap().last(), Some(SnapshotEntry::Unreadable { .. })));
    let (_, stored) = run(90).unwrap();
    assert!(stored.began > 0 && stored.began < newest.at, "{stored:?} before {}", newest.at);
    assert_eq!(fs::read_to_string(&out).unwrap(), whole);
}
