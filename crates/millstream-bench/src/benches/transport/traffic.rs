//! Generated traffic: events that arrive at a rate, in bursts, with bytes and uneven keys. The measured time of an
//! event begins when it is due, even if it is sent late, and ends when it is consumed.
//!
//! Consumers of rings share by key, so an uneven load is uneven for them. Consumers of the queue take the next event.

use super::CAPACITY;
use super::queue::Queue;
use crate::failure::Failure;
use crate::figure::Results;
use crate::latency::{Quantile, Waiter, compare};
use crate::setting::Setting;
use millstream::io::Arrival;
use millstream::io::time::{Clock, SystemClock};
use millstream::prelude::*;
use std::time::Duration;

pub(super) struct Event {
    due: Duration,
    pub(super) key: u32,
    bytes: Vec<u8>,
}

/// The result of an event: when it was due, and its checksum.
#[derive(Clone, Copy)]
struct Done {
    due: Duration,
    sum: u64,
}

impl From<Arrival> for Event {
    fn from(event: Arrival) -> Self {
        Event { due: event.due, key: event.key, bytes: event.bytes() }
    }
}

impl Event {
    fn done(&self) -> Done {
        let of_bytes = self.bytes.iter().fold(0, |sum: u64, byte| sum.rotate_left(5) ^ u64::from(*byte));
        Done { due: self.due, sum: of_bytes ^ u64::from(self.key) }
    }

    /// The checksum of its bytes and key.
    pub(super) fn sum(&self) -> u64 {
        self.done().sum
    }
}

/// The nanoseconds of every wait, and the sum of all checksums.
#[derive(Default)]
struct Waits(Vec<u64>, u64);

impl Waits {
    fn add(&mut self, clock: SystemClock, Done { due, sum }: Done) {
        self.0.push(clock.now().saturating_sub(due).as_nanos() as u64);
        self.1 = self.1.wrapping_add(sum);
    }

    fn checked(self, who: &'static str, expected: u64) -> Result<Vec<u64>, Failure> {
        if self.1 == expected {
            return Ok(self.0);
        }
        Err(Failure::Checksum { who, expected: expected.to_string(), got: self.1.to_string() })
    }
}

pub(super) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(50_000, 10_000) as usize;
    let expected = events(setting, n, Unhurried).fold(0, |sum: u64, event| sum.wrapping_add(event.sum()));
    let quantiles = [Quantile { case: "traffic-p50", of: 0.5 }, Quantile { case: "traffic-p99", of: 0.99 }];
    compare(
        setting,
        &quantiles,
        vec![
            Waiter::new("ours", || {
                ours(setting, n, pipeline().map(Event::done)).and_then(|waits| waits.checked("ours", expected))
            }),
            Waiter::new("ours-by-key-3", || {
                let p = pipeline::<Event>().shard_by(|event| event.key, 3, |p| p.map(Event::done));
                ours(setting, n, p).and_then(|waits| waits.checked("ours-by-key-3", expected))
            }),
            Waiter::new("queue", || queued(setting, n, 1)?.checked("queue", expected)),
            Waiter::new("queue-share-3", || queued(setting, n, 3)?.checked("queue-share-3", expected)),
        ],
    )
}

/// A clock whose sleeps return at once.
struct Unhurried;

impl Clock for Unhurried {
    fn now(&self) -> Duration {
        Duration::MAX
    }

    fn sleep(&self, _: Duration) {}
}

fn events(setting: &Setting, n: usize, clock: impl Clock) -> impl Iterator<Item = Event> {
    setting.demand.traffic().arrivals_by(clock).take(n).map(Event::from)
}

fn ours<P>(setting: &Setting, n: usize, p: P) -> Result<Waits, Failure>
where
    P: RunsOn<Rings, Item = Event> + Arrow<In = Val<Event>>,
    for<'a> P::Out: Shape<Ref<'a> = &'a Done>,
{
    let rings = setting.rings.clone().ring(setting.ring.unwrap_or(CAPACITY));
    let clock = SystemClock::default();
    let waits = Waits(Vec::with_capacity(n), 0);
    let (mut senders, poller) = fan_in(1).open(&rings)?;
    let run = rings.start((&p).from(poller).to_fold(waits, move |waits, _, done| waits.add(clock, *done)))?;
    let sender = senders.pop();
    for event in events(setting, n, clock) {
        if sender.as_ref().is_none_or(|sender| sender.send(event).is_err()) {
            break;
        }
    }
    drop(sender);
    Ok(run.wait()?.0)
}

fn queued(setting: &Setting, n: usize, consumers: usize) -> Result<Waits, Failure> {
    let (queue, clock) = (Queue::new(CAPACITY), SystemClock::default());
    let consume = || {
        let (mut mine, mut taken) = (Waits(Vec::with_capacity(n), 0), Vec::with_capacity(1));
        while queue.take(&mut taken, 1) {
            taken.iter().for_each(|event: &Event| mine.add(clock, event.done()));
        }
        mine
    };
    let produce = || events(setting, n, clock).for_each(|event| queue.put(std::iter::once(event)));
    let join = |Waits(all, sum): Waits, Waits(more, other)| Waits([all, more].concat(), sum.wrapping_add(other));
    Ok(queue.serve(consumers, consume, produce)?.into_iter().fold(Waits::default(), join))
}
