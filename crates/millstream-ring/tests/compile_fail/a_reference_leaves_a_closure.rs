use millstream_core::Dense;
use millstream_ring::ring;

fn main() {
    let (_producer, mut reader) = ring::<u64, Dense>(2).unwrap();
    let mut kept = None;
    reader.batch(1).unwrap().for_each(&mut (), |(), _, value| kept = value);
    println!("{kept:?}");
}
