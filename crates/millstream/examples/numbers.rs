//! A user's program with `millstream`'s subcommands: the sums of the squares of the numbers on its lines.
//!
//! ```console
//! $ seq 5 | cargo run --release -p millstream --features cli --example numbers -- run
//! $ seq 1000 | cargo run --release -p millstream --features cli --example numbers -- verify
//! $ cargo run --release -p millstream --features cli --example numbers -- plan --explain
//! ```

use millstream::Program;
use millstream::prelude::*;
use std::process::ExitCode;

fn squares(shards: usize) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> + Lasting {
    let square = |x: &u64| x.checked_mul(*x).expect("too large");
    pipeline::<u64>().shard(shards, move |p| p.map(square).named("square"))
}

fn sums(shards: usize) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> + Lasting {
    let add = |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    };
    squares(shards).scan(0, add).named("sum")
}

/// `run` can keep its state, and `verify` also prints the hash of the squares, beside that of the output.
pub(crate) fn main() -> ExitCode {
    Program::sharded(sums).edge(squares).lasting().main()
}
