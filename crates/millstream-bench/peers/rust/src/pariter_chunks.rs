//! pariter: a parallel map of an iterator, in order, over chunks of numbers.

use crate::crossbeam::chunks;
use crate::work;
use pariter::IteratorExt;

pub(crate) fn ordered(items: u64) -> u64 {
    let worked = |chunk: Vec<u64>| chunk.into_iter().map(|x| work::rounds(x, work::ROUNDS)).collect::<Vec<_>>();
    chunks(items).parallel_map_custom(|options| options.threads(2), worked).flatten().fold(0, work::joined)
}
