//! Batches as bytes.

use crate::schedules::Random;
use millstream_cluster::{Batch, BatchError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// A batch with values at some of the numbers.
fn batch<T>(random: &mut Random, most: u64, make: impl Fn(u64) -> T) -> Batch<T> {
    let (first, sparse) = (random.below(1 << 40), random.below(2) == 0);
    let mut values = Vec::new();
    let mut next = first;
    for _ in 0..random.below(most) {
        if sparse {
            next += random.below(3);
        }
        values.push((next, make(random.below(u64::MAX))));
        next += 1;
    }
    Batch { first, next: next + random.below(2), end: random.below(2) == 0, generation: random.below(9), values }
}

fn comes_back<T>(make: impl Fn(u64) -> T)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug + 'static,
{
    let mut random = Random(7);
    for _ in 0..200 {
        let batch = batch(&mut random, 50, &make);
        let bytes = batch.to_bytes().unwrap();
        assert_eq!(Batch::from_bytes(&bytes), Ok(batch));
        let mut damaged = bytes.clone();
        let place = random.below(bytes.len() as u64) as usize;
        damaged[place] ^= 1 << random.below(8);
        assert!(Batch::<T>::from_bytes(&damaged).is_err());
        assert!(Batch::<T>::from_bytes(&bytes[..place]).is_err());
    }
}

#[test]
fn batches_of_any_values_come_back_and_damage_is_seen() {
    comes_back(|n| n);
    comes_back(|n| n as u8);
    comes_back(|n| n as i16);
    comes_back(|n| f64::from(n as u32));
    comes_back(|n| i128::from(n) * -3);
    comes_back(|n| (n as u32, n.to_string()));
    comes_back(|n| (n % 2 == 0).then_some(n));
}

#[test]
fn plain_values_take_their_own_bytes() {
    let dense = Batch { first: 5, next: 4101, end: false, generation: 0, values: (5..4101).map(|n| (n, n)).collect() };
    let header = Batch::<u64> { first: 0, next: 0, end: false, generation: 0, values: Vec::new() };
    assert_eq!(dense.to_bytes().unwrap().len(), header.to_bytes().unwrap().len() + 32_768);
    assert_eq!(Batch::<i64>::from_bytes(&dense.to_bytes().unwrap()).unwrap_err(), BatchError::Type { expected: "i64" });
}
