use millstream_core::Dense;
use millstream_ring::ring;

fn main() {
    let (_producer, mut reader) = ring::<u64, Dense>(2).unwrap();
    let (mut next, _reader) = ring::<&'static u64, Dense>(2).unwrap();
    let batch = reader.batch(1).unwrap();
    let mut claim = next.try_claim(1).unwrap().unwrap();
    batch.map_into(&mut claim, &mut (), |(), _, value| value.unwrap());
}
