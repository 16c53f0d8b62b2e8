//! Moving averages that cross, as a block of named wires. An empty slot says "not yet": there is no `NaN` and no
//! `Option`.
//!
//! ```console
//! $ seq 1 60 | awk '{ print 10 + 5 * sin($1 / 5) }' | cargo run --release -p millstream --example crossover
//! ```
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use millstream::prelude::*;
use std::io;

/// The average of the last `n` values, from the n-th on.
fn average<E: Edge<f64>>(n: usize) -> impl Stage<E, f64> {
    id::<E>().windows(n).map(move |last| last.iter().sum::<f64>() / n as f64)
}

/// Each price with whether the short average is above the long one, where that has just changed.
fn crossover(short: usize, long: usize) -> impl Deployable<In = Val<f64>, Out: Edge<(f64, bool)>> {
    wires!(|price: Val<f64>| {
        let fast = price.then(average(short));
        let slow = price.then(average(long));
        let turn = (|fast, slow| fast > slow).dedup();
        |price, turn| (*price, *turn)
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let prices = io::stdin()
        .lines()
        .map(|line| Ok(line?.trim().parse()?))
        .collect::<Result<Vec<f64>, Box<dyn std::error::Error>>>()?;
    for (price, up) in Rings::new().collect(crossover(5, 20).from(prices))? {
        println!("{} at {price}", if up { "up" } else { "down" });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices() -> Vec<f64> {
        (0..200).map(|n| 10.0 + 5.0 * (f64::from(n) / 7.0).sin()).collect()
    }

    /// The same, by hand.
    fn expected(prices: &[f64], short: usize, long: usize) -> Vec<(f64, bool)> {
        let average = |end: usize, n: usize| prices[end + 1 - n..=end].iter().sum::<f64>() / n as f64;
        let mut turns: Vec<(f64, bool)> = Vec::new();
        for n in long - 1..prices.len() {
            let up = average(n, short) > average(n, long);
            if turns.last().is_none_or(|(_, last)| *last != up) {
                turns.push((prices[n], up));
            }
        }
        turns
    }

    #[test]
    fn turns_are_those_of_a_loop() {
        let expected = expected(&prices(), 5, 20);
        assert!(expected.len() > 5, "{expected:?}");
        let pipeline = crossover(5, 20);
        assert_eq!(pipeline.model(prices()), expected);
        assert_eq!(Rings::new().ring(4).collect((&pipeline).from(prices())).unwrap(), expected);
    }

    #[test]
    fn the_first_turn_stands_where_the_long_average_begins() {
        let slots = crossover(5, 20).model_slots(prices());
        assert_eq!(slots.iter().position(Option::is_some), Some(19));
    }
}
