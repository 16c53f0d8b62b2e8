use millstream_core::Dense;
use millstream_ring::ring;

fn main() {
    let (_producer, mut reader) = ring::<u64, Dense>(2).unwrap();
    let batch = reader.batch(1).unwrap();
    let kept = batch.get(0);
    drop(batch); // releases the slot
    println!("{kept:?}");
}
