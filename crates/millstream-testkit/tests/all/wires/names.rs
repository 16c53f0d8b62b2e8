//! Names in blocks of wires.

use millstream_core::{Arrow, ModelExt, Val, wires};

/// A wire has the name of a function, and the value has that of an item which the macro once had.
#[test]
fn names_of_paths_are_no_wires() {
    #[derive(Clone, Debug, PartialEq)]
    struct Here(u64);
    #[derive(Clone, Debug, PartialEq)]
    struct InLane(u64);
    let p = wires!(|here: Val<Here>| {
        let max = here.map(|here: &Here| here.0).scan(0, |max, x| {
            *max = u64::max(*max, *x);
            *max
        });
        let capped = |here| std::cmp::min(here.0, 10).max(u64::max(2, 3));
        let side = if |capped| *capped > 5 { |capped| InLane(*capped) } else { |capped| InLane(u64::max(*capped, 4)) };
        (max, side)
    });
    let slots = p.model([1, 20, 7].map(Here));
    let expected = [(1, 4), (20, 10), (20, 7)].map(|(max, side)| (max, InLane(side)));
    assert_eq!(slots, expected);
}
