use millstream_core::Dense;
use millstream_ring::ring;

fn main() {
    let (_producer, mut reader) = ring::<u64, Dense>(2).unwrap();
    let batch = reader.batch(1).unwrap();
    let again = reader.batch(1);
    let fork = reader.fork();
    drop((batch, again, fork));
}
