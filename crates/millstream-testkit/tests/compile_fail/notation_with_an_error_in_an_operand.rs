use millstream_core::{Arrow, id, pipeline};

fn main() {
    let _ = pipeline!(pipeline::<u64>() >>> id() &&& .map(|x| x.len()) >>> .map(|(x, y)| x + y));
}
