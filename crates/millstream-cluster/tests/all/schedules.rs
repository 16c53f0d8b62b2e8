//! Thousands of schedules of replicas that crash, come back and are late, over a network that does all that it may.

use crate::sums::{self, RIGHT};
use millstream_cluster::{Adversary, Batch, Edges, Ingress, Log, MemoryLog, Options, Replica, Segment, Step, cut};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % most
    }
}

pub(crate) fn edges() -> Edges {
    Edges { input: "in".to_owned(), output: "out".to_owned() }
}

/// What happened in one schedule.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) crashes: u64,
    pub(crate) zombies: u64,
    /// How many batches the output edge still had, or had when they were read.
    pub(crate) batches: u64,
}

/// One schedule, from its seed: two replicas, and those that were thought dead; two programs that bring the same
/// batches; a reader that trims what it has read. Returns the values of the output edge.
pub(crate) fn schedule<S>(segment: &S, batches: &[Vec<u8>], seed: u64) -> (Vec<(u64, S::Out)>, Seen)
where
    S: Segment<Out: Serialize + DeserializeOwned> + Clone,
{
    let mut random = Random(seed);
    let capacity = [usize::MAX, 8, 3][random.below(3) as usize];
    let adversary = Adversary::new(MemoryLog::with_capacity(capacity), random.below(u64::MAX), random.below(60));
    let options = |rank| Options {
        rank,
        patience: 3,
        snapshot_every: if capacity < 8 { 1 } else { 2 },
        window: 3,
        ..Options::default()
    };
    let replica = |rank| Replica::new(segment.clone(), adversary.clone(), edges(), options(rank));
    let mut ingresses = [(); 2].map(|()| Ingress::new(adversary.clone(), "in", batches.to_vec()));
    let mut replicas = vec![replica(0), replica(1)];
    let (crash_of, reads) = (20 + random.below(400), random.below(2) == 0);
    let (mut seen, mut values, mut next) = (Seen::default(), Vec::new(), 1);
    for _ in 0..100_000 {
        match random.below(8) {
            0 => _ = ingresses[random.below(2) as usize].step().unwrap(),
            1 => {
                for entry in adversary.read_from("out", next, 4).unwrap_or_default() {
                    assert_eq!(entry.number, next, "seed {seed}");
                    values.extend(Batch::from_bytes(&entry.bytes).unwrap().values);
                    next += 1;
                }
                if reads || capacity < usize::MAX {
                    _ = adversary.trim("out", next);
                }
            }
            _ => {
                let which = random.below(replicas.len() as u64) as usize;
                replicas[which].step().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
        }
        if random.below(crash_of) == 0 {
            let which = random.below(2) as usize;
            let before = std::mem::replace(&mut replicas[which], replica(which as u32));
            seen.crashes += 1;
            if random.below(3) == 0 && replicas.len() < 5 {
                replicas.push(before);
                seen.zombies += 1;
            }
        }
        if next > batches.len() as u64 {
            seen.batches = next - 1;
            return (values, seen);
        }
    }
    panic!("seed {seed}: batch {next} of {} did not come; {replicas:?}", batches.len());
}

#[test]
fn every_schedule_ends_with_the_bytes_of_the_model() {
    let input: Vec<u64> = (0..47).map(|number| number * number % 101).collect();
    let batches = cut(input.iter().copied(), 4).unwrap();
    let model = sums::model(&input);
    let (mut crashes, mut zombies) = (0, 0);
    for seed in 0..3000 {
        let (values, seen) = schedule(&RIGHT, &batches, seed);
        assert_eq!(values, model, "seed {seed}");
        (crashes, zombies) = (crashes + seen.crashes, zombies + seen.zombies);
    }
    assert!(crashes > 3000 && zombies > 1000, "{crashes} crashes and {zombies} zombies prove little");
}

#[test]
fn an_edge_that_is_read_ends_with_its_last_batch() {
    let log = MemoryLog::default();
    let mut ingress = Ingress::new(log.clone(), "in", cut(0..3_u64, 2).unwrap());
    while ingress.step().unwrap() != Step::Ended {}
    let mut replica = Replica::new(RIGHT, log.clone(), edges(), Options::default());
    while replica.step().unwrap() != Step::Ended {}
    let ends = log.read_from("out", 1, 9).unwrap().into_iter();
    let ends: Vec<bool> = ends.map(|entry| Batch::<u64>::from_bytes(&entry.bytes).unwrap().end).collect();
    assert_eq!(ends, [false, true]);
}
