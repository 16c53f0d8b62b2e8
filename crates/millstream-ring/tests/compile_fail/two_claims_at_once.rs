use millstream_core::Dense;
use millstream_ring::ring;

fn main() {
    let (mut producer, _reader) = ring::<u64, Dense>(2).unwrap();
    let mut first = producer.try_claim(1).unwrap().unwrap();
    let mut second = producer.try_claim(1).unwrap().unwrap();
    first.write(1);
    second.write(2);
}
