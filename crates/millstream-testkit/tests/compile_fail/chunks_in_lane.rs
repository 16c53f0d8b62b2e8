use millstream_core::{ArrowChoice, Either, StreamsExt, pipeline};

fn main() {
    let _ = pipeline::<Either<u64, u64>>().choose(|l| l.chunks(3), |r| r);
}
