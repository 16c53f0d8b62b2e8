//! A pipeline of thirty stages, for the bench that measures the compile time of a stage.

#![expect(clippy::print_stdout, reason = "a program: its result goes to standard output")]

use millstream::prelude::*;

fn thirty() -> impl Deployable<In = Val<u64>, Out = Val<u64, AtEnd>> {
    let one = |x: &u64| x + 1;
    let parity = |x: &u64| if x.is_multiple_of(2) { Either::Left(*x) } else { Either::Right(*x) };
    let add = |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    };
    pipeline::<u64>()
        .map(|x| x + 1)
        .map(|x| x + 1)
        .map(|x| x + 1)
        .map(|x| x + 1)
        .map(|x| x + 1)
        .map(|x| x + 1)
        .fanout(|p| p.map(|x| x + 1).map(|x| x + 1).map(|x| x + 1), |p| p.map(|x| x + 2).map(|x| x + 2).map(|x| x + 2))
        .map(|(a, b)| a + b)
        .map(parity)
        .merge(|p| p.map(|x| x + 1).map(|x| x + 1).map(|x| x + 1), |p| p.map(|x| x + 1).map(|x| x + 1).map(|x| x + 1))
        .shard(2, move |p| p.map(one).map(one).map(one).map(one))
        .scan(0, add)
        .filter(|x| *x > 0)
        .delay(0)
        .flat_map(|x| [*x, *x])
        .map(|x| x + 1)
        .fold(0, |sum, x| *sum += x, |sum| sum)
}

fn main() -> Result<(), RunError> {
    let p = thirty();
    let sums = p.collect(source::ready(0..1000))?;
    println!("{} {sums:?}", p.plan().stages.len());
    Ok(())
}
