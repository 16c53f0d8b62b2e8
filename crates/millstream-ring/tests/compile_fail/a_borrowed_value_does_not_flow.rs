use millstream_core::Dense;
use millstream_ring::ring;

fn main() {
    let local = 7;
    let (mut producer, _reader) = ring::<&u64, Dense>(2).unwrap();
    producer.try_claim(1).unwrap().unwrap().write(&local);
}
