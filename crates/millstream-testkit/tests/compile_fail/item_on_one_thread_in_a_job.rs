use millstream::prelude::*;
use std::rc::Rc;

fn main() {
    let shared = pipeline::<u64>().map(|x| Rc::new(*x));
    assert_eq!(shared.map(|x| **x).collect([1]), Ok(vec![1]));
}
