use millstream_core::{Dense, Sparse};
use millstream_ring::ring;

fn main() {
    let kept = {
        let (_producer, mut reader) = ring::<u64, Dense>(2).unwrap();
        let batch = reader.batch(1).unwrap();
        batch.iter().next().unwrap()
    };
    println!("{kept:?}");

    let (_producer, mut reader) = ring::<u64, Sparse>(2).unwrap();
    let end = reader.end().unwrap();
    let last = end.value();
    drop(reader);
    println!("{last:?}");
}
