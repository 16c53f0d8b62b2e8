use millstream_core::{Arrow, pipeline};

fn main() {
    let _ = pipeline!(pipeline::<u64>() >>> .map(|x| x + 1) >>>);
    let _ = pipeline!(&&& .map(|x| x + 1));
    let _ = pipeline!(pipeline::<u64>() >>> .map(|x| x + 1) >>> ||| .map(|x| x + 1));
    let _ = pipeline!(.map(|x| x + 1) &&& .map(|x| x * 2));
    let _ = pipeline!(pipeline::<u64>(), pipeline::<u64>());
    let _ = pipeline!();
}
