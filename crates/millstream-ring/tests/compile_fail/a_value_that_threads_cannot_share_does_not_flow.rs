use millstream_core::Dense;
use millstream_ring::ring;
use std::{cell::Cell, rc::Rc};

fn main() {
    let _ = ring::<Rc<u64>, Dense>(2);
    let _ = ring::<Cell<u64>, Dense>(2);
}
