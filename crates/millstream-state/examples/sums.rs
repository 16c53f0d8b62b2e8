//! A job whose rows are in a file or a database: the program that `cargo xtask chaos state` kills.
//!
//! `sums run PLACE STATE BELOW MILLISECONDS` runs the job over the numbers below one, and waits before each 64 of them;
//! `sums rows PLACE` prints the rows, and `sums clear PLACE` removes them. A place is `file:PATH`, `sqlite:PATH` or
//! `postgresql://..`.
#![expect(clippy::print_stdout, reason = "a program: its results go to standard output")]

#[path = "../tests/all/sums.rs"]
mod sums;

use std::path::Path;
use std::time::Duration;
use std::{env, error};
use sums::{Numbers, Place, clear, rows, run};

fn main() -> Result<(), Box<dyn error::Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let place = |text| Place::parse(text).ok_or("a place is `file:PATH`, `sqlite:PATH` or `postgresql://..`");
    match args[..] {
        ["run", to, state, below, pace] => {
            let numbers = Numbers { below: below.parse()?, pace: Duration::from_millis(pace.parse()?) };
            let stored = run(&place(to)?, Path::new(state), numbers, 3)?;
            eprintln!("went on at number {}", stored.began);
        }
        ["rows", of] => rows(&place(of)?).iter().for_each(|(x, sum)| println!("{x} {sum}")),
        ["clear", of] => clear(&place(of)?)?,
        _ => return Err("`sums run PLACE STATE BELOW MILLISECONDS`, `sums rows PLACE` or `sums clear PLACE`".into()),
    }
    Ok(())
}
