//! The same work over time, for the chart: a panel for each transport and number of consumers, a second each; and
//! generated traffic, with bytes and uneven keys, by which consumers of rings share it.

use super::queue::Queue;
use super::traffic::Event;
use super::{Batches, CAPACITY, mixed};
use crate::count::Count;
use crate::demand::Demand;
use crate::failure::Failure;
use crate::setting::Setting;
use crate::timeline::{Timeline, watched};
use millstream::exec::Counters;
use millstream::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const LASTS: Duration = Duration::from_secs(1);
const BATCH: usize = 64;

pub(super) fn run(setting: &Setting) -> Result<Vec<Timeline>, Failure> {
    let rings = setting.rings.clone().ring(setting.ring.unwrap_or(CAPACITY));
    let share = |consumers| pipeline::<u64>().shard(consumers, |p| p.map(mixed).named("consumer"));
    let all = || pipeline::<u64>().tee(|p| p.map(mixed).named("consumer 1"));
    let three = || all().tee(|p| p.map(mixed).named("consumer 2")).tee(|p| p.map(mixed).named("consumer 3"));
    let five = || three().tee(|p| p.map(mixed).named("consumer 4")).tee(|p| p.map(mixed).named("consumer 5"));
    let by_key = pipeline::<Event>().shard_by(|event| event.key, 3, |p| p.map(Event::sum).named("consumer"));
    let (longs, generated) = (Longs(&setting.demand), Generated(&setting.demand));
    Ok(vec![
        of_queue(1, &longs)?,
        of_queue(3, &longs)?,
        of_queue(5, &longs)?,
        of_rings(&share(1), &rings, "rings, 1 consumer", &longs)?,
        of_rings(&share(3), &rings, "rings, 3 consumers share by number", &longs)?,
        of_rings(&share(5), &rings, "rings, 5 consumers share by number", &longs)?,
        of_rings(&all(), &rings, "rings, 1 consumer on the side sees all", &longs)?,
        of_rings(&three(), &rings, "rings, 3 consumers see all", &longs)?,
        of_rings(&five(), &rings, "rings, 5 consumers see all", &longs)?,
        of_queue(3, &generated)?,
        of_rings(&by_key, &rings, "rings, 3 consumers share by key", &generated)?,
    ])
}

/// The load of a producer.
trait Load: Sync {
    type Event: Send + Sync + 'static;

    /// Consumes one event.
    fn consume(event: &Self::Event) -> u64;

    /// Passes events to `send`, which takes all of them, until `send` returns false.
    fn produce(&self, send: impl FnMut(&mut Vec<Self::Event>) -> bool);

    /// A description.
    fn describe(&self) -> String;
}

/// Random longs, at the rate of the command line, or as fast as they are taken.
struct Longs<'a>(&'a Demand);

impl Load for Longs<'_> {
    type Event = u64;

    fn consume(event: &u64) -> u64 {
        mixed(event)
    }

    fn produce(&self, mut send: impl FnMut(&mut Vec<u64>) -> bool) {
        let Longs(demand) = self;
        let begun = Instant::now();
        let mut batch = Vec::with_capacity(BATCH);
        let mut sent = |batch: &mut Vec<u64>| begun.elapsed() < LASTS && send(batch);
        if demand.rate.is_none() {
            for longs in (Batches { n: u64::MAX, batch: BATCH }).each() {
                batch.extend_from_slice(longs);
                if !sent(&mut batch) {
                    return;
                }
            }
        }
        for event in demand.traffic().arrivals() {
            batch.push(event.random);
            let whole = batch.len() == BATCH || (event.number + 1).is_multiple_of(demand.burst);
            if whole && !sent(&mut batch) {
                return;
            }
        }
    }

    fn describe(&self) -> String {
        let Longs(Demand { rate, burst, .. }) = self;
        match rate {
            None => format!("longs of 8 bytes, {BATCH} at a time, as fast as they are taken"),
            Some(rate) => format!("{rate} longs/s of 8 bytes, {burst} at a time"),
        }
    }
}

/// Generated events, one by one.
struct Generated<'a>(&'a Demand);

impl Load for Generated<'_> {
    type Event = Event;

    fn consume(event: &Event) -> u64 {
        event.sum()
    }

    fn produce(&self, mut send: impl FnMut(&mut Vec<Event>) -> bool) {
        let Generated(demand) = self;
        let events = demand.traffic().arrivals().take_while(|event| event.due < LASTS);
        for event in events.map(Event::from) {
            if !send(&mut vec![event]) {
                return;
            }
        }
    }

    fn describe(&self) -> String {
        self.0.to_string()
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

fn of_queue<L: Load>(consumers: usize, load: &L) -> Result<Timeline, Failure> {
    let (queue, sent, next, over) =
        (Queue::new(CAPACITY), Count::default(), AtomicUsize::new(0), AtomicBool::new(false));
    let consumed: Vec<_> = (0..consumers).map(|_| Count::default()).collect();
    let consume = || {
        let mine = &consumed[next.fetch_add(1, Ordering::Relaxed)];
        let (mut sum, mut taken) = (0_u64, Vec::with_capacity(BATCH));
        while queue.take(&mut taken, BATCH) {
            sum = taken.iter().map(L::consume).fold(sum, u64::wrapping_add);
            mine.add(taken.len());
        }
        std::hint::black_box(sum);
    };
    let send = |batch: &mut Vec<L::Event>| {
        let more = batch.len();
        queue.put(batch.drain(..));
        sent.add(more);
        true
    };
    std::thread::scope(|scope| {
        let serve = || {
            let served = queue.serve(consumers, consume, || load.produce(send));
            over.store(true, Ordering::Relaxed);
            served
        };
        let serving = std::thread::Builder::new().spawn_scoped(scope, serve).map_err(Failure::io("a thread"))?;
        let plural = if consumers == 1 { "" } else { "s" };
        let title = format!("queue, {consumers} consumer{plural}");
        let timeline = watched(title, load.describe(), names(consumers), || {
            let over = over.load(Ordering::Relaxed) || serving.is_finished();
            (!over).then(|| counts(sent.get(), consumed.iter().map(Count::get).collect()))
        });
        serving.join().map_err(|_| Failure::Answer("queue", 0))??;
        Ok(timeline)
    })
}

/// Each stage named `consumer` counts. The counts are those of the rings and stages, so they cost nothing.
fn of_rings<L: Load, P>(p: &P, rings: &Rings, title: &str, load: &L) -> Result<Timeline, Failure>
where
    P: RunsOn<Rings, Item = L::Event> + Arrow<In = Val<L::Event>>,
    for<'a> P::Out: Shape<Ref<'a> = &'a u64>,
{
    let (mut senders, poller) = fan_in(1).open(rings)?;
    let run = rings.start(p.from(poller).to_fold(0_u64, |sum, _, x| *sum = sum.wrapping_add(*x)))?;
    let (observer, mut counted) = (run.observer(), Counters::default());
    let which: Vec<_> = observer
        .tasklets()
        .enumerate()
        .filter(|(_, tasklet)| !tasklet.side_output && tasklet.name.starts_with("consumer"))
        .map(|(at, _)| at)
        .collect();
    std::thread::scope(|scope| {
        let sender = senders.pop();
        let send =
            move |batch: &mut Vec<_>| sender.as_ref().is_some_and(|sender| sender.send_all(batch.drain(..)).is_ok());
        std::thread::Builder::new().spawn_scoped(scope, move || load.produce(send)).map_err(Failure::io("a thread"))?;
        let timeline = watched(title.to_owned(), load.describe(), names(which.len()), || {
            observer.read(&mut counted);
            let consumed = which.iter().map(|at| counted.tasklets[*at].moved).collect();
            counted.running.then(|| counts(counted.rings[0].produced, consumed))
        });
        run.wait()?;
        Ok(timeline)
    })
}
