//! A sink learns which of its claims no run begins at any more.

use millstream::prelude::*;
use millstream::state::{
    Cadence, ClaimingSink, Claims, OpenError, Persistent, Position, Retention, SideSink, StateDir, again,
};
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;
use tempfile::tempdir;

/// A sink that counts its claims, and notes what it may forget.
#[derive(Clone, Default)]
struct Noting {
    claims: Arc<AtomicU64>,
    forgotten: Arc<Mutex<Vec<u64>>>,
}

impl<A: Shape> ClaimingSink<A> for Noting {
    type Open = Noting;

    fn open(&self, _: Option<(SequenceNumber, &Position)>) -> Result<Noting, OpenError> {
        Ok(self.clone())
    }

    fn goes_back(&self) -> bool {
        true
    }
}

impl Claims for Noting {
    fn claim(&mut self) -> io::Result<Position> {
        Ok(self.claims.fetch_add(1, Ordering::Relaxed).into())
    }

    fn forget(&mut self, oldest: &Position) {
        self.forgotten.lock().unwrap().push(oldest.as_u64().unwrap());
    }
}

impl<A: Shape> Sink<A> for Noting {
    type Output = ();
    type Error = Infallible;

    fn put(&mut self, _: SequenceNumber, _: A::Ref<'_>) -> Result<(), Infallible> {
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<(), Infallible> {
        Ok(())
    }
}

fn sums(side: SideSink<AnyEdge<u64>, Noting>) -> impl Pipeline<u64, u64> + Lasting {
    pipeline::<u64>()
        .scan(0, |sum, x| {
            *sum += x;
            *sum
        })
        .named("sum")
        .tee(|p| p.map(|sum| *sum).any_edge().tee_to("side", side))
        .any_edge()
}

/// The claims of both sinks in the oldest snapshot.
fn oldest(state: &Path) -> [u64; 2] {
    let stored = StateDir::read(state).unwrap().snapshots().unwrap();
    let manifest = stored[0].manifest().unwrap();
    [&manifest.sink, &manifest.side_sinks["side"]].map(|claim| claim.as_u64().unwrap())
}

#[test]
fn a_sink_forgets_up_to_the_oldest_snapshot_that_is_kept() {
    let home = tempdir().unwrap();
    let state = home.path().join("state");
    let sinks = [Noting::default(), Noting::default()];
    let side = SideSink::new("side", sinks[1].clone());
    let keep = Retention { count: Some(2), ..Retention::default() };
    let job = Persistent::new(Rings::new(), StateDir::open(&state, "sums").unwrap());
    let job = job.snapshot_every(Cadence::OnCall).keep(keep).side_sink(&side);
    let numbers = again(|| (0..).inspect(|_| sleep(Duration::from_micros(200))));
    let running = job.start(&sums(side), numbers, sinks[0].clone()).unwrap();
    let mut kept = vec![oldest(&state)];
    for _ in 0..9 {
        running.snapshot().unwrap().expect("it runs");
        kept.push(oldest(&state));
    }
    drop(running);
    // What the last snapshot has changed, the sinks would learn at the next one.
    kept.pop();
    kept.dedup();
    assert!(kept.len() > 3, "{kept:?}");
    for (nth, sink) in sinks.iter().enumerate() {
        let known: Vec<u64> = kept[1..].iter().map(|claims| claims[nth]).collect();
        assert_eq!(*sink.forgotten.lock().unwrap(), known, "sink {nth}");
    }
}
