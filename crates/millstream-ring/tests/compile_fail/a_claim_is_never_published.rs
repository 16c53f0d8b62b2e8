#![deny(unused_must_use)]
use millstream_core::Dense;
use millstream_ring::ring;

fn main() {
    let (mut producer, mut reader) = ring::<u64, Dense>(2).unwrap();
    producer.try_claim(1).unwrap().expect("room");
    producer.try_claim(1);
    reader.batch(1);
    reader.end();
}
