use millstream_core::{Arrow, pipeline};
use std::rc::Rc;

fn main() {
    let factor = Rc::new(3);
    let _ = pipeline::<u64>().map(move |x| x * *factor);
}
