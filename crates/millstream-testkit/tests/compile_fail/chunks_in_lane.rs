use millstream_core::{ChoiceExt, Either, StreamsExt, pipeline};

fn main() {
    let _ = pipeline::<Either<u64, u64>>().choose(|l| l.chunks(3), |r| r);
}
