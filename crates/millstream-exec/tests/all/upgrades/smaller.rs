//! A new version whose limits are below what the old one has kept.

use super::number;
use millstream_core::{Arrow, FoldExt, KeysExt, StreamsExt, pipeline};
use millstream_exec::{Inline, JobExt, Rings, RunError, Runner, source};

#[test]
fn chunks_go_on_with_a_smaller_length() {
    let lengths = |n| pipeline::<u64>().chunks(n).named("rows").map(|rows: &Vec<u64>| rows.len());
    let rings = Rings::new().upgrade_at(number(50), lengths(10));
    // The first one has what was there, and the value that ends it.
    let expected = Ok(vec![51, 10, 10, 10, 10, 9]);
    assert_eq!(rings.collect(lengths(100).from(source::ready(0..100))), expected);
    assert_eq!(Inline::new(rings).collect(lengths(100).from(0..100)), expected);
}

#[test]
fn a_lower_limit_of_keys_is_a_limit() {
    let sums = |most| pipeline::<u64>().fold_by_within(most, |x| *x, 0_u64, |n, _| *n += 1, |n| n).named("sums");
    let rings = Rings::new().upgrade_at(number(50), sums(10));
    let ended: Result<Vec<_>, RunError> = rings.collect(sums(100).from(source::ready(0..90)));
    let said = ended.unwrap_err().to_string();
    assert!(said.contains("sums") && said.contains("number 50"), "{said}");
    // Known keys go on.
    let ended: Result<Vec<_>, RunError> = rings.collect(sums(100).from(source::ready((0..90).map(|x| x % 50))));
    assert_eq!(ended.map(|sums| sums[0].len()), Ok(50));
}

/// Also if no value comes after the change, and also up.
#[test]
fn the_greatest_values_are_as_many_as_the_new_version_asks_for() {
    let greatest = |n| pipeline::<u64>().top_n(n).named("greatest");
    for (from, to, at, expected) in [(10, 3, 50, 3), (10, 3, 60, 3), (3, 10, 50, 10)] {
        let rings = Rings::new().upgrade_at(number(at), greatest(to));
        let ended = rings.collect(greatest(from).from(source::ready(0..60)));
        let all: Vec<u64> = (0..60).rev().take(expected).collect();
        assert_eq!(ended, Ok(vec![all]), "{from} to {to} at {at}");
    }
}
