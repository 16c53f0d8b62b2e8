use millstream_core::Dense;
use millstream_ring::ring;

fn main() {
    let (mut producer, _reader) = ring::<u64, Dense>(2).unwrap();
    let claim = producer.try_claim(1).unwrap().unwrap();
    claim.publish();
    claim.publish();
}
