//! Values that arrive with a journal.

use millstream::exec::Reception;
use millstream::io::FileSink;
use millstream::net::arrivals;
use millstream::prelude::*;
use millstream::state::journal::JournalOptions;
use millstream::state::{Persistent, StateDir};

/// The source waits for a value when its run ends: it has no journal for the one that comes then.
#[test]
fn a_value_that_comes_when_the_journal_was_let_go_is_not_acknowledged() {
    let home = tempfile::tempdir().unwrap();
    let state = StateDir::open(home.path().join("state"), "lines").unwrap();
    let (reception, arriving) = Reception::<String, ()>::open(&Rings::new(), None).unwrap();
    let live = arrivals::journaled(&state, JournalOptions::default(), arriving);
    let sink = FileSink::append(home.path().join("out"));
    let mut running = Persistent::new(Rings::new(), state).start(&pipeline::<String>(), live, sink).unwrap();
    let client = reception.client(running.handle());
    assert_eq!(client.call_blocking("one\n".to_owned()), Ok(()));
    running.close();
    running.let_go();
    assert_eq!(client.call_blocking("two\n".to_owned()), Err(CallError::Ended));
    running.wait().unwrap();
}
