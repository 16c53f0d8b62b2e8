//! Larger items, of 8 bytes to 64 KiB, through a map that writes each of their numbers, on one worker: bytes a second.
//! The loop by hand writes into one buffer, which stays in the cache; the slots of two rings do not.

use super::{Place, Step, curve, places};
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::work::second;
use millstream::prelude::*;
use std::hint::black_box;

const PLACES: &[Place] =
    &[(8, "8B"), (64, "64B"), (512, "512B"), (4_096, "4KiB"), (32_768, "32KiB"), (65_536, "64KiB")];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let (bytes, rings) = (setting.items(256 << 20, 64 << 20), setting.rings(1));
    let rings = &rings;
    let steps = places(setting, PLACES).map(|place| {
        let n = bytes / place.0;
        Step {
            place,
            unit: Unit::BytesPerSecond,
            size: n * place.0,
            expected: in_words(
                place.0,
                n,
                fused::<1>,
                [fused::<8>, fused::<64>, fused::<512>, fused::<4096>, fused::<8192>],
            ),
            contestants: vec![
                ("ours", Box::new(move || sized(rings, place.0, n)) as super::Run<'_>),
                (
                    "fused",
                    Box::new(move || {
                        let all = [fused::<8>, fused::<64>, fused::<512>, fused::<4096>, fused::<8192>];
                        Ok(in_words(place.0, black_box(n), fused::<1>, all))
                    }),
                ),
            ],
        }
    });
    curve(setting, steps)
}

/// The function for items of this size.
fn in_words(bytes: u64, n: u64, smallest: fn(u64) -> u64, larger: [fn(u64) -> u64; 5]) -> u64 {
    let sized = PLACES.iter().skip(1).zip(larger).find(|((size, _), _)| *size == bytes);
    sized.map_or(smallest, |(_, f)| f)(n)
}

fn sized(rings: &Rings, bytes: u64, n: u64) -> Result<u64, Failure> {
    match bytes {
        8 => ours::<1>(rings, n),
        64 => ours::<8>(rings, n),
        512 => ours::<64>(rings, n),
        4_096 => ours::<512>(rings, n),
        32_768 => ours::<4096>(rings, n),
        _ => ours::<8192>(rings, n),
    }
}

/// An item of this many numbers.
fn item<const WORDS: usize>(x: u64) -> [u64; WORDS] {
    std::array::from_fn(|i| second(x.wrapping_add(i as u64)))
}

fn ours<const WORDS: usize>(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let p = pipeline::<u64>().map(|x| item::<WORDS>(*x));
    let add = |sum: &mut u64, _, item: &[u64; WORDS]| *sum = item.iter().copied().fold(*sum, u64::wrapping_add);
    Ok(rings.run(p.from(source::ready(0..n)).to_fold(0, add))?.0)
}

#[inline(never)]
fn fused<const WORDS: usize>(n: u64) -> u64 {
    let mut buffer = [0; WORDS];
    (0..n).fold(0, |sum, x| {
        buffer = item::<WORDS>(x);
        black_box(&buffer).iter().copied().fold(sum, u64::wrapping_add)
    })
}
