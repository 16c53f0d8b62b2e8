//! A function that follows any edge says that its pipeline runs on queues, and not that its edge does.

use millstream_core::{Arrow, id, pipeline};
use millstream_exec::{Edge, Everywhere, Stage};

fn doubled<E: Edge<u64>>() -> impl Stage<E, u64> + Everywhere {
    id::<E>().map(|x| x * 2)
}

fn main() {
    let _ = pipeline::<u64>().then(doubled());
}
