//! `millstream jq` under the name of the program that jaq's tests start.

use std::os::unix::process::CommandExt;
use std::process::Command;

fn main() {
    let millstream = std::env::var_os("MILLSTREAM").expect("MILLSTREAM is the path of the program");
    let error = Command::new(millstream).arg("jq").args(std::env::args_os().skip(1)).exec();
    panic!("millstream does not start: {error}");
}
