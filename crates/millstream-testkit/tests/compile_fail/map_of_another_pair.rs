use millstream_core::{Arrow, ModelExt, ViewExt, pipeline};

fn main() {
    let even = pipeline::<u64>().fanout(|p| p, |p| p.filter(|x| x % 2 == 0).maybe());
    even.map(|(x, even): (&u64, &Option<u64>)| even.unwrap_or(*x)).model(1..3);
}
