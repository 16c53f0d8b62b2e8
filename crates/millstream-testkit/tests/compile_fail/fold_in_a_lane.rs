use millstream_core::Either::{Left, Right};
use millstream_core::{Arrow, ChoiceExt, pipeline};

fn main() {
    let _ = pipeline::<u64>()
        .map(|x| if x % 2 == 0 { Left(*x) } else { Right(*x) })
        .choose(|even| even.fold(0, |sum, x| *sum += x, |sum| sum), |odd| odd);
}
