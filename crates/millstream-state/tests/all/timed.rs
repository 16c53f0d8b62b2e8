//! Sources that look at a clock, with a journal: what came once comes again, whatever the clock says then.

use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::journal::{Fsync, JournalOptions};
use millstream::state::{JobError, Persistent, Recorded, Span, StateDir, journaled, replay};
use std::fmt::Debug;
use std::sync::mpsc::channel;
use std::time::Duration;

const SHORT: Duration = Duration::from_micros(100);

/// Lines that come in bursts. Their process dies after them.
fn bursts(life: u64) -> impl Iterator<Item = String> + Send {
    (0..60_u64).map(move |n| {
        if n % 7 == 0 {
            std::thread::sleep(SHORT * 3);
        }
        assert!(n < 50, "the end of this process");
        format!("{life}/{n}")
    })
}

/// Two lives of a job with this source, each of which dies. Asserts that the output goes on in the second one as the
/// model of what came in both, and that a replay of the journal has the same.
fn assert_comes_again<T, X>(source: impl Fn(u64) -> X)
where
    T: Recorded + Debug + Clone + PartialEq,
    X: Source<T> + Send + 'static,
{
    let home = tempfile::tempdir().unwrap();
    let (directory, out) = (home.path().join("state"), home.path().join("out"));
    let numbered = || {
        let count = |n: &mut u64, item: &T| {
            *n += 1;
            format!("{n} {item:?}\n")
        };
        pipeline::<T>().scan(0_u64, count).named("number")
    };
    let options = JournalOptions { fsync: Fsync::Every, ..JournalOptions::default() };
    let (came, all) = channel();
    for life in 0..2 {
        let (came, source) = (came.clone(), source(life));
        let state = StateDir::open(&directory, "lines").unwrap();
        let live = move || source.into_values().inspect(move |item| came.send(item.clone()).unwrap());
        let live = journaled(&state, options, live);
        let died = Persistent::new(Rings::new(), state).run(&numbered(), live, FileSink::append(&out)).unwrap_err();
        assert!(matches!(died, JobError::Run(_)), "{died}");
    }
    drop(came);
    let came: Vec<T> = all.iter().collect();
    let expected = numbered().model(came);
    assert!(expected.len() >= 2, "{expected:?}");

    let state = StateDir::read(&directory).unwrap();
    let recorded = journaled(&state, options, std::iter::empty::<T>);
    let whole = replay(&state, &Rings::new(), &numbered(), &recorded, Span::default(), sink::collect()).unwrap().output;
    // Of the last value of a process that has died it is not known that it is durable.
    assert!(whole.len() + 1 >= expected.len() && expected.starts_with(&whole), "{whole:?}, {expected:?}");

    let state = StateDir::open(&directory, "lines").unwrap();
    let rest = journaled(&state, options, std::iter::empty::<T>);
    Persistent::new(Rings::new(), state).run(&numbered(), rest, FileSink::append(&out)).unwrap();
    assert_eq!(std::fs::read_to_string(&out).unwrap(), expected.concat());
}

#[test]
fn what_passed_a_debounce_comes_again() {
    assert_comes_again(|life| source::debounce(bursts(life), SHORT));
}

#[test]
fn what_a_timeout_said_comes_again() {
    assert_comes_again(|life| source::timeout(bursts(life), SHORT));
}

#[test]
fn what_passed_a_throttle_comes_again() {
    assert_comes_again(|life| source::throttle(bursts(life), SHORT));
}
