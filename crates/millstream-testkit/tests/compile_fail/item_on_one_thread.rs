use millstream_core::{Arrow, pipeline};
use std::rc::Rc;

fn main() {
    let _ = pipeline::<u64>().map(|x| Rc::new(*x));
}
