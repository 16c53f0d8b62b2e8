//! The wait of one item for its own stage, in a graph with a branch that takes longer: case `branch`.

use crate::failure::Failure;
use crate::figure::Results;
use crate::latency::{Quantile, Waiter, compare};
use crate::setting::{Effort, Setting};
use millstream::prelude::*;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

const CASE: [Quantile; 1] = [Quantile { case: "branch", of: 0.5 }];
const OWN_STAGE: Duration = Duration::from_millis(6);
const OTHER_STAGE: Duration = Duration::from_millis(20);

/// Compares a block with a pipeline that has only the item's own stage, and with one whose stage reads a pair of all
/// bound names, as a translation of names into pairs does.
pub(super) fn run(setting: &Setting) -> Result<Results, Failure> {
    let rings = setting.rings(1);
    // Each sleeps, so there are no more than usual.
    let most = if setting.effort == Effort::Quick { 10 } else { 50 };
    let n = setting.items(most, most).min(most);
    let block = |done: Sender<u64>| {
        wires!(|sent: Val<Instant>| {
            let other = sent.map_blocking(|_: &Instant| thread::sleep(OTHER_STAGE));
            let own = sent.map_blocking(own_stage).inspect(move |sent| note(&done, sent));
            (other, own)
        })
        .map(|_| ())
    };
    let alone = |done: Sender<u64>| {
        pipeline::<Instant>().map_blocking(own_stage).inspect(move |sent| note(&done, sent)).map(|_| ())
    };
    let pairs = |done: Sender<u64>| {
        pipeline::<Instant>()
            .fanout(|p| p.map_blocking(|_: &Instant| thread::sleep(OTHER_STAGE)), |p| p)
            .map_blocking(|(_, sent): (&(), &Instant)| own_stage(sent))
            .inspect(move |sent| note(&done, sent))
            .map(|_| ())
    };
    let waiters = vec![
        Waiter::new("ours", || waits(&rings, n, block)),
        Waiter::new("own-stage", || waits(&rings, n, alone)),
        Waiter::new("pairs", || waits(&rings, n, pairs)),
    ];
    let mut results = compare(setting, &CASE, waiters)?;
    for ratio in results.ratios.iter_mut().filter(|ratio| ratio.who == "own-stage") {
        ratio.bound = Some(0.97);
    }
    Ok(results)
}

fn own_stage(sent: &Instant) -> Instant {
    thread::sleep(OWN_STAGE);
    *sent
}

fn note(done: &Sender<u64>, sent: &Instant) {
    let wait = sent.elapsed().as_nanos() as u64;
    done.send(wait).expect("the bench listens until the run has ended");
}

/// The times from a send to the end of the item's own stage. Each item is sent when the pipeline has finished the one
/// before.
fn waits<P>(rings: &Rings, n: u64, pipeline: impl FnOnce(Sender<u64>) -> P) -> Result<Vec<u64>, Failure>
where
    P: Pipeline<Instant, ()>,
{
    let (done, waited) = mpsc::channel();
    let (ended, finished) = mpsc::channel();
    let (sender, receiver) = source::channel(4);
    let end = move |_: &mut (), _, _: &()| ended.send(()).expect("the bench listens until the run has ended");
    let run = rings.start(pipeline(done).from(receiver).to_fold((), end))?;
    for _ in 0..n {
        if sender.send(Instant::now()).is_err() || finished.recv().is_err() {
            break;
        }
    }
    drop(sender);
    run.wait()?;
    Ok(waited.try_iter().collect())
}
