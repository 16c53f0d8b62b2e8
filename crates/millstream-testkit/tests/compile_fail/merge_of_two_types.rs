use millstream_core::Either::{Left, Right};
use millstream_core::{Arrow, ChoiceExt, pipeline};

fn main() {
    let _ = pipeline::<u64>()
        .map(|x| if x % 2 == 0 { Left(*x) } else { Right(*x) })
        .merge(|even| even.map(|x| x / 2), |odd| odd.map(|x| x.to_string()));
}
