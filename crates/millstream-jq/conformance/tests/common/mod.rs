//! What jaq's tests call to check a filter. There it is jaq's library; here it is `millstream jq`, as a process.

use serde_json::{Value, from_value};
use std::io::Write;
use std::process::{Command, Stdio};

pub use jaq_json::{Error, Val, ValR};

/// The outputs of a filter for one input, and what the program says about failures.
fn answer(input: &Value, filter: &str) -> (Vec<Val>, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_jaq"))
        .args(["-c", "--", filter])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that refuses the filter does not read.
    let _ = program.stdin.take().expect("a pipe").write_all(input.to_string().as_bytes());
    let output = program.wait_with_output().expect("the program ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let values = jaq_json::read::parse_many(&output.stdout).collect::<Result<_, _>>().expect("JSON");
    (values, said)
}

pub fn fail(input: Value, filter: &str, error: Error) {
    let (values, said) = answer(&input, filter);
    assert_eq!(values, [], "{filter} of {input}");
    assert!(said.contains(&error.to_string()), "{filter} of {input}: {error} is not in {said}");
}

pub fn give(input: Value, filter: &str, output: Value) {
    gives(input, filter, [output]);
}

pub fn gives<const N: usize>(input: Value, filter: &str, outputs: [Value; N]) {
    let outputs = outputs.map(|output| from_value::<Val>(output).expect("a value"));
    assert_eq!(answer(&input, filter), (outputs.to_vec(), String::new()), "{filter} of {input}");
}

#[macro_export]
macro_rules! yields {
    ($name:ident, $filter:expr, $output:expr) => {
        #[test]
        fn $name() {
            $crate::common::give(json!(null), $filter, json!($output))
        }
    };
}
