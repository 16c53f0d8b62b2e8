use millstream_core::{Arrow, id, pipeline};
use millstream_exec::{Edge, Stage};

fn show<E: Edge<u64>>() -> impl Stage<E, String> {
    id::<E>().map(|x| x.to_string())
}

fn main() {
    let _ = pipeline::<u64>().shard(4, |p| p.then(show()));
}
