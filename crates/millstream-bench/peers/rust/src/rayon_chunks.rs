//! rayon: every chunk of numbers is a parallel iterator of its own, so that its results are in order.

use crate::work;
use rayon::prelude::*;

pub(crate) fn ordered(items: u64, chunk: usize) -> u64 {
    let mut results = Vec::new();
    let mut sum = 0;
    for from in (0..items).step_by(chunk) {
        let numbers = from as usize..items.min(from + chunk as u64) as usize;
        numbers.into_par_iter().map(|x| work::rounds(x as u64, work::ROUNDS)).collect_into_vec(&mut results);
        sum = results.iter().fold(sum, |sum, x| work::joined(sum, *x));
    }
    sum
}
