//! Channels of crossbeam: a thread for each stage, and a bounded channel between two of them.

pub(crate) mod items;
pub(crate) mod vecs;
pub(crate) mod zips;

/// The items of one `Vec`.
const CHUNK: u64 = 1024;

/// The numbers below `items`, in chunks.
pub(crate) fn chunks(items: u64) -> impl Iterator<Item = Vec<u64>> {
    (0..items).step_by(CHUNK as usize).map(move |from| (from..items.min(from + CHUNK)).collect())
}
