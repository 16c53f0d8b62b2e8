use millstream_core::Dense;
use millstream_ring::{RingEnd, ring};

fn main() {
    let (mut producer, mut reader) = ring::<String, Dense>(2).unwrap();
    RingEnd::pass_by(&mut producer, 1, None);
    println!("{:?}", reader.batch(1).unwrap().get(0));
}
