use millstream::prelude::*;

fn show<E: Edge<u64>>() -> impl Stage<E, String> {
    id::<E>().map(|x| x.to_string())
}

fn main() {
    let even = pipeline::<u64>().filter(|x| x % 2 == 0);
    assert_eq!(even.then(show).collect([1, 2]), Ok(vec!["2".to_owned()]));
}
