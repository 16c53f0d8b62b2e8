use millstream_core::Full;
use millstream_ring::ring;
use std::{cell::Cell, rc::Rc};

fn main() {
    let _ = ring::<Rc<u64>, Full>(2);
    let _ = ring::<Cell<u64>, Full>(2);
}
