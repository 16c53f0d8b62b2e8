//! The same over time, for the chart: a panel for each transport and number of consumers, a second each.

use super::queue::Queue;
use super::{Batches, CAPACITY, mixed};
use crate::demand::Demand;
use crate::failure::Failure;
use crate::setting::Setting;
use crate::timeline::{Timeline, watched};
use millstream::exec::Counters;
use millstream::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const LASTS: Duration = Duration::from_secs(1);
const BATCH: usize = 64;

/// A count on cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Count(AtomicU64);

impl Count {
    fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) fn run(setting: &Setting) -> Result<Vec<Timeline>, Failure> {
    let rings = setting.rings.clone().ring(setting.ring.unwrap_or(CAPACITY));
    let demand = &setting.demand;
    let share = |consumers| pipeline::<u64>().shard(consumers, |p| p.map(mixed).named("consumer"));
    let all = || pipeline::<u64>().tee(|p| p.map(mixed).named("consumer 1"));
    let three = || all().tee(|p| p.map(mixed).named("consumer 2")).tee(|p| p.map(mixed).named("consumer 3"));
    let five = || three().tee(|p| p.map(mixed).named("consumer 4")).tee(|p| p.map(mixed).named("consumer 5"));
    Ok(vec![
        of_queue(demand, 1)?,
        of_queue(demand, 3)?,
        of_queue(demand, 5)?,
        of_rings(demand, &share(1), &rings, "rings, 1 consumer".to_owned())?,
        of_rings(demand, &share(3), &rings, "rings, 3 consumers share by number".to_owned())?,
        of_rings(demand, &share(5), &rings, "rings, 5 consumers share by number".to_owned())?,
        of_rings(demand, &all(), &rings, "rings, 1 consumer on the side sees all".to_owned())?,
        of_rings(demand, &three(), &rings, "rings, 3 consumers see all".to_owned())?,
        of_rings(demand, &five(), &rings, "rings, 5 consumers see all".to_owned())?,
    ])
}

/// Random longs for as long as it lasts: as generated, if somebody said at which rate, or as fast as they are taken.
fn produce(demand: &Demand, mut send: impl FnMut(&[u64]) -> bool) {
    let begun = Instant::now();
    let lasts = || begun.elapsed() < LASTS;
    if demand.rate.is_none() {
        let mut batches = Batches { n: u64::MAX, batch: BATCH }.each();
        while lasts() && batches.next().is_some_and(&mut send) {}
        return;
    }
    let burst = demand.burst;
    let mut batch = Vec::with_capacity(BATCH);
    for event in demand.traffic().arrivals() {
        batch.push(event.random);
        if batch.len() == BATCH || (event.number + 1).is_multiple_of(burst) {
            if !lasts() || !send(&batch) {
                return;
            }
            batch.clear();
        }
    }
}

fn names(consumers: usize) -> Vec<String> {
    let each = (1..=consumers).map(|consumer| format!("consumer {consumer}"));
    std::iter::once("all".to_owned()).chain(each).chain(["sent".to_owned()]).collect()
}

fn counts(sent: u64, consumed: Vec<u64>) -> Vec<u64> {
    let all = consumed.iter().sum();
    std::iter::once(all).chain(consumed).chain([sent]).collect()
}

fn of_queue(demand: &Demand, consumers: usize) -> Result<Timeline, Failure> {
    let (queue, sent, next, over) = (Queue::new(), Count::default(), AtomicUsize::new(0), AtomicBool::new(false));
    let consumed: Vec<_> = (0..consumers).map(|_| Count::default()).collect();
    let consume = || {
        let mine = &consumed[next.fetch_add(1, Ordering::Relaxed)];
        let (mut sum, mut taken) = (0_u64, Vec::with_capacity(BATCH));
        while queue.take(&mut taken, BATCH) {
            sum = taken.iter().fold(sum, |sum, x| sum.wrapping_add(mixed(x)));
            mine.add(taken.len());
        }
        std::hint::black_box(sum);
    };
    let send = |batch: &[u64]| {
        queue.put(batch.iter().copied());
        sent.add(batch.len());
        true
    };
    std::thread::scope(|scope| {
        let serve = || {
            let served = queue.serve(consumers, consume, || produce(demand, send));
            over.store(true, Ordering::Relaxed);
            served
        };
        let serving = std::thread::Builder::new().spawn_scoped(scope, serve).map_err(Failure::io("a thread"))?;
        let plural = if consumers == 1 { "" } else { "s" };
        let timeline = watched(format!("queue, {consumers} consumer{plural}"), names(consumers), || {
            let over = over.load(Ordering::Relaxed) || serving.is_finished();
            (!over).then(|| counts(sent.get(), consumed.iter().map(Count::get).collect()))
        });
        serving.join().map_err(|_| Failure::Answer("queue", 0))??;
        Ok(timeline)
    })
}

/// Whoever is named `consumer` counts. Nothing is counted for it: rings and stages know.
fn of_rings<P: Run<u64> + Arrow<In = Val<u64>, Out = Val<u64>>>(
    demand: &Demand,
    p: &P,
    rings: &Rings,
    title: String,
) -> Result<Timeline, Failure> {
    let (mut senders, run) = p.start_fan_in(rings, fan_in(1), 0_u64, |sum, _, x| *sum = sum.wrapping_add(*x))?;
    let (observer, mut counted) = (run.observer(), Counters::default());
    let which: Vec<_> = observer
        .tasklets()
        .enumerate()
        .filter(|(_, tasklet)| !tasklet.aside && tasklet.name.starts_with("consumer"))
        .map(|(at, _)| at)
        .collect();
    std::thread::scope(|scope| {
        let sender = senders.pop();
        let send =
            move |batch: &[u64]| sender.as_ref().is_some_and(|sender| sender.send_all(batch.iter().copied()).is_ok());
        std::thread::Builder::new()
            .spawn_scoped(scope, move || produce(demand, send))
            .map_err(Failure::io("a thread"))?;
        let timeline = watched(title, names(which.len()), || {
            observer.read(&mut counted);
            let consumed = which.iter().map(|at| counted.tasklets[*at].moved).collect();
            counted.running.then(|| counts(counted.rings[0].produced, consumed))
        });
        run.wait()?;
        Ok(timeline)
    })
}
