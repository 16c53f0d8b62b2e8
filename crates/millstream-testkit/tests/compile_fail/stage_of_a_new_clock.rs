use millstream_core::{ClockExt, id};
use millstream_exec::{Edge, Stage};

fn below<E: Edge<u64>>() -> impl Stage<E, u64> {
    id::<E>().flat_map(|x| 0..*x)
}

fn main() {
    let _ = below::<millstream_core::Val<u64>>();
}
