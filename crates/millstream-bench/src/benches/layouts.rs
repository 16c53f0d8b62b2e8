//! Records of four numbers in two layouts: an array of structures is one ring of records, and a structure of arrays is
//! four rings. Each record is made from a number and read by a sink, on one worker: one field of each record, or all.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use std::hint::black_box;

/// The number of fields of a record that are read.
#[derive(Clone, Copy)]
enum Read {
    One,
    All,
}

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    Ok(Results::joined([case(setting, "one-field", Read::One)?, case(setting, "all-fields", Read::All)?]))
}

fn case(setting: &Setting, name: &'static str, read: Read) -> Result<Results, Failure> {
    let n = setting.items(20_000_000, 5_000_000);
    let (rings, expected) = (setting.rings(1), fused(n, read));
    let contestants = vec![
        Contestant::new("ours", expected, || arrays(&rings, n, read)),
        Contestant::new("records", expected, || records(&rings, n, read)),
        Contestant::new("fused", expected, || Ok(fused(black_box(n), read))),
    ];
    let speeds = take_turns(setting, Work { case: name, unit: Unit::ItemsPerSecond, size: n, goes: 5 }, contestants)?;
    let ratios = [speeds.ratio("records", Some(0.7)), speeds.ratio("fused", None)];
    Ok(speeds.results(ratios))
}

// Bits are mixed, so that the sum needs a loop.
fn first(x: u64) -> u64 {
    x ^ (x >> 7)
}

fn second(x: u64) -> u64 {
    x ^ (x >> 9)
}

fn third(x: u64) -> u64 {
    x ^ (x << 11)
}

fn fourth(x: u64) -> u64 {
    x.wrapping_sub(x >> 5)
}

/// The fields of one record, mixed into one number.
fn mixed(a: u64, b: u64, c: u64, d: u64) -> u64 {
    (a ^ b).wrapping_add(c ^ d)
}

/// A ring for each field. Each is the output of a stage, and the sink reads them by number.
fn arrays(rings: &Rings, n: u64, read: Read) -> Result<u64, Failure> {
    let p = pipeline::<u64>().fanout(
        |p| p.fanout(|p| p.map(|x| first(*x)), |p| p.map(|x| second(*x))),
        |p| p.fanout(|p| p.map(|x| third(*x)), |p| p.map(|x| fourth(*x))),
    );
    let ended = match read {
        Read::One => rings.run(p.from(source::ready(0..n)).to_fold(0_u64, |sum: &mut u64, _, ((_, b), _)| {
            *sum = sum.wrapping_add(*b);
        })),
        Read::All => rings.run(p.from(source::ready(0..n)).to_fold(0_u64, |sum: &mut u64, _, ((a, b), (c, d))| {
            *sum = sum.wrapping_add(mixed(*a, *b, *c, *d));
        })),
    };
    Ok(ended?.0)
}

/// A ring of records. One stage makes all fields.
fn records(rings: &Rings, n: u64, read: Read) -> Result<u64, Failure> {
    let p = pipeline::<u64>().map(|&x| [first(x), second(x), third(x), fourth(x)]);
    let ended = match read {
        Read::One => {
            rings.run((&p).from(source::ready(0..n)).to_fold(0_u64, |sum: &mut u64, _, [_, b, _, _]: &[u64; 4]| {
                *sum = sum.wrapping_add(*b);
            }))
        }
        Read::All => {
            rings.run((&p).from(source::ready(0..n)).to_fold(0_u64, |sum: &mut u64, _, &[a, b, c, d]: &[u64; 4]| {
                *sum = sum.wrapping_add(mixed(a, b, c, d));
            }))
        }
    };
    Ok(ended?.0)
}

/// The same work in one loop, without a record.
#[inline(never)]
fn fused(n: u64, read: Read) -> u64 {
    match read {
        Read::One => (0..n).map(second).fold(0, u64::wrapping_add),
        Read::All => (0..n).map(|x| mixed(first(x), second(x), third(x), fourth(x))).fold(0, u64::wrapping_add),
    }
}
