use millstream_core::{ClockExt, id, pipeline};

fn main() {
    let _ = pipeline!(pipeline::<u64>() >>> id() &&& .flat_map(|x| 0..*x));
}
