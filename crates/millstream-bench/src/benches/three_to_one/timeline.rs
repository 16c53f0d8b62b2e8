//! The same work over time, for the chart: with a ring for each producer and with one ring for all, two seconds each.

use super::add;
use crate::count::Count;
use crate::failure::Failure;
use crate::setting::Setting;
use crate::timeline::{Timeline, watched};
use crate::work::entry;
use millstream::prelude::*;
use std::time::{Duration, Instant};

const LASTS: Duration = Duration::from_secs(2);
const PRODUCERS: usize = 3;
/// The number of entries that a producer sends between two looks at the clock.
const ROUND: u64 = 4096;

pub(super) fn run(setting: &Setting) -> Result<Vec<Timeline>, Failure> {
    let of = |slots, shared| {
        let rings = setting.rings.clone().wait(Wait::Yielding).ring(setting.ring.unwrap_or(slots));
        over_time(&rings, slots, shared)
    };
    Ok(vec![of(16_384, false)?, of(65_536, false)?, of(65_536, true)?])
}

fn over_time(rings: &Rings, slots: usize, shared: bool) -> Result<Timeline, Failure> {
    let (title, fan_in) = match shared {
        false => (format!("a ring of {slots} entries for each producer"), fan_in(PRODUCERS)),
        true => (format!("one ring of {slots} entries for all producers"), fan_in(PRODUCERS).shared()),
    };
    let (senders, mut poller) = fan_in.open(rings)?;
    let names = ["all"].map(str::to_owned).into_iter();
    let names = names.chain((1..=PRODUCERS).map(|producer| format!("sent by producer {producer}"))).collect();
    let (taken, begun) = (Count::default(), Instant::now());
    let sent: [Count; PRODUCERS] = Default::default();
    std::thread::scope(|scope| {
        for (sender, sent) in senders.into_iter().zip(&sent) {
            let send = move || {
                for first in (0..).step_by(ROUND as usize).take_while(|_| begun.elapsed() < LASTS) {
                    if sender.send_all((first..first + ROUND).map(entry)).is_err() {
                        return;
                    }
                    sent.set(first + ROUND);
                }
            };
            std::thread::Builder::new().spawn_scoped(scope, send).map_err(Failure::io("a thread"))?;
        }
        let taken = &taken;
        let consume = move || {
            let mut sum = 0;
            while poller.poll_for(Duration::MAX, |_, entry| sum = add(sum, entry))? != Polled::Ended {
                taken.set(poller.next_number().0);
            }
            std::hint::black_box(sum);
            Ok::<(), RunError>(())
        };
        let consuming = std::thread::Builder::new().spawn_scoped(scope, consume).map_err(Failure::io("a thread"))?;
        let traffic = format!("entries of 24 bytes, {ROUND} at a time, as fast as they are taken");
        let timeline = watched(title, traffic, names, || {
            let counts = || [taken].into_iter().chain(&sent).map(Count::get).collect();
            (!consuming.is_finished()).then(counts)
        });
        consuming.join().map_err(|_| Failure::Answer("ours", 0))??;
        Ok(timeline)
    })
}
