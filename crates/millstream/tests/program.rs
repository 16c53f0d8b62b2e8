//! `millstream::main` adds `run`, `plan` and `verify` to a program. The program under test is this one, started again
//! with the name of a pipeline.

#[cfg(feature = "nats")]
#[path = "../../millstream-cluster/tests/all/certificates.rs"]
mod certificates;
#[cfg(feature = "nats")]
#[path = "program/clustered.rs"]
mod clustered;
#[path = "../examples/numbers.rs"]
mod numbers;
#[path = "program/printed.rs"]
mod printed;
#[cfg(feature = "nats")]
#[path = "../../millstream-cluster/tests/all/server.rs"]
mod server;
#[path = "program/taken_over.rs"]
mod taken_over;
#[path = "program/versions.rs"]
mod versions;
#[cfg(feature = "page")]
#[path = "program/watched.rs"]
mod watched;

use libtest_mimic::Trial;
use millstream::Program;
use millstream::prelude::*;
use std::fmt;
use std::fs;
use std::io::Write;
use std::num::ParseIntError;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// The variable with the name of the program to be.
const AS: &str = "MILLSTREAM_PROGRAM";

/// Tests by their paths, each with the name of its function.
macro_rules! tests {
    ($($test:path),+ $(,)?) => {
        vec![$({
            let name = stringify!($test).rsplit("::").next().unwrap_or_default();
            Trial::test(name, || {
                $test();
                Ok(())
            })
        }),+]
    };
}

fn main() -> ExitCode {
    match std::env::var(AS).as_deref() {
        Ok("numbers") => return numbers::main(),
        Ok("lengths") => return lengths(),
        Ok("clock") => return clock(),
        Ok("picky") => return picky(),
        Ok("narrow") => return narrow(),
        Ok("nameless") => return nameless(),
        Ok("bank") => return versions::bank(),
        Ok("slow") => return slow(),
        #[cfg(feature = "nats")]
        Ok("sums-1") => return clustered::sums_1(),
        #[cfg(feature = "nats")]
        Ok("sums-2") => return clustered::sums_2(),
        Ok("shy") => return millstream::main(pipeline::<u64>().map(|x| Shy(*x))),
        _ => {}
    }
    #[allow(unused_mut, reason = "a build without these features has no further tests")]
    let mut tests = tests![
        it_runs_over_lines_everywhere,
        a_line_that_is_no_value_is_reported_and_left_out,
        a_left_out_line_has_its_number_after_a_crash,
        it_plans,
        a_state_without_a_name_fails_the_check,
        it_verifies,
        a_hidden_clock_is_found,
        a_failure_is_reported_in_one_line,
        a_value_that_cannot_be_printed_is_a_failure_everywhere,
        a_panic_before_the_pipeline_runs_is_a_failure,
        wrong_use_is_refused,
        its_state_is_kept_and_a_failure_is_replayed,
        printed::lines_are_written_together,
        printed::a_line_is_written_before_the_next_one_comes,
        taken_over::its_output_is_that_of_one_process_however_often_it_is_taken_over,
        taken_over::it_goes_on_if_the_new_process_does_not,
        taken_over::a_new_process_whose_plan_is_refused_does_not_disturb_the_old_one,
        versions::a_file_of_another_name_goes_on_with_the_state_of_the_named_program,
        versions::the_tools_of_a_version_use_its_migrations,
        versions::a_version_goes_back_to_its_snapshot_and_its_output_is_that_of_one_run,
    ];
    #[cfg(feature = "page")]
    tests.extend(tests![watched::its_run_is_watched_also_by_the_process_that_takes_over]);
    #[cfg(feature = "nats")]
    tests.extend(tests![
        clustered::it_works_on_a_cluster,
        clustered::another_pipeline_is_refused_on_a_cluster,
        clustered::it_works_on_a_cluster_that_encrypts,
    ]);
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), tests).exit_code()
}

fn lengths() -> ExitCode {
    millstream::main(pipeline::<String>().map(String::len).named("length").filter(|length| *length > 0).named("some"))
}

fn nameless() -> ExitCode {
    millstream::main(pipeline::<u64>().dedup().scan(0, |sum, x| *sum + x).named("sum").delay(0))
}

/// Its state has the name that a variable says.
fn slow() -> ExitCode {
    let name = std::env::var("STATE_NAME").unwrap_or_default();
    let slow = pipeline::<u64>().map(|x| {
        thread::sleep(std::time::Duration::from_millis(1));
        *x
    });
    let sums = slow.named("slow").scan(0, |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    });
    Program::new(sums.named(name)).lasting().main()
}

fn clock() -> ExitCode {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let stamped = pipeline::<u64>().map(|x| x + 1).named("next").map(move |x| x ^ now()).named("stamp");
    millstream::main(stamped.map(|x| x + 1).named("last"))
}

/// A number that cannot be printed if it is 2.
#[derive(Clone)]
struct Shy(u64);

impl fmt::Display for Shy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert!(self.0 != 2, "not this one");
        self.0.fmt(f)
    }
}

/// A number whose parsing panics at 2.
#[derive(Clone)]
struct Picky(u64);

impl FromStr for Picky {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let number = text.parse()?;
        assert!(number != 2, "not this one");
        Ok(Picky(number))
    }
}

fn picky() -> ExitCode {
    millstream::main(pipeline::<Picky>().shard(2, |p| p.map(|picky| picky.0)))
}

/// It can be built for at most two shards.
fn narrow() -> ExitCode {
    let build = |shards: usize| {
        assert!(shards <= 2, "too many shards");
        pipeline::<u64>().shard(shards, |p| p.map(|x| x + 1))
    };
    Program::sharded(build).main()
}

const NO_SHARDS: &str = "--shards has no effect: the pipeline has none\n";

/// This program, whose file seems to have this name.
fn command(file: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the path of this program"));
    command.arg0(file);
    command
}

/// The output, the error output, and the exit code.
fn started(program: &str, args: &str, input: &str) -> (String, String, Option<i32>) {
    let mut command = command(program);
    command.env(AS, program).args(args.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    // A program that refuses its arguments reads nothing.
    let writing = thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().expect("it ends");
    writing.join().expect("the input is written");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr), output.status.code())
}

#[track_caller]
fn assert_output(seen: (String, String, Option<i32>), stdout: &str, stderr: &str, code: i32) {
    assert_eq!((seen.0.as_str(), seen.1.as_str(), seen.2), (stdout, stderr, Some(code)));
}

fn it_runs_over_lines_everywhere() {
    for way in ["", "--deploy model", "--deploy inline --ring 1", "--deploy queues", "--workers 2 --shards 3 --batch 1"]
    {
        assert_output(started("numbers", &format!("run {way}"), "1\n2\n3"), "1\n5\n14\n", "", 0);
        assert_output(
            started("lengths", &format!("run {way} --quiet"), "to be\n\r\n\nor not\r\nµ"),
            "5\n6\n2\n",
            "",
            0,
        );
    }
    // The hash is over (number, text), so empty slots do not count.
    let (_, hash, _) = started("lengths", "run --hash", "to be\n\nor");
    assert!(hash.starts_with("hash ") && hash.ends_with(" count 2\n"), "{hash}");
    assert_eq!(started("lengths", "run --hash --deploy model", "to be\n\nor").1, hash);
    assert_output(started("lengths", "run --shards 2", "a\n"), "1\n", &format!("lengths run: {NO_SHARDS}"), 0);
    let note = "picky run: --shards has no effect: the program fixes the shards of its pipeline\n";
    assert_output(started("picky", "run --shards 3", "1\n"), "1\n", note, 0);
    let (_, stats, _) = started("numbers", "run --stats", "1\n2\n");
    assert!(stats.contains("\"name\": \"square\"") && stats.contains("\"values\": 2"), "{stats}");
}

fn a_line_that_is_no_value_is_reported_and_left_out() {
    let message = "numbers run: -: line 2 is left out: invalid digit found in string\n";
    assert_output(started("numbers", "run", "1\nx\n3\n"), "1\n10\n", message, 1);
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("latin");
    std::fs::write(&path, b"one\n\xe9t\xe9\ntwo").expect("a file");
    let (out, err, code) = started("lengths", &format!("run {} nosuch", path.display()), "");
    assert_eq!((out.as_str(), code), ("3\n3\n", Some(1)));
    assert!(err.contains("latin: line 2 is left out: invalid utf-8") && err.contains("nosuch: No such file"), "{err}");
}

fn it_plans() {
    let (text, err, code) = started("numbers", "plan --shards 2 --explain", "");
    assert_eq!((err.as_str(), code), ("", Some(0)));
    for part in ["square x2", "sum", "4096 slots", "usable cores:", "may wait, so it has a thread"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let (_, err, code) = started("lengths", "plan --shards 2", "");
    assert_eq!((err, code), (format!("lengths plan: {NO_SHARDS}"), Some(0)));
    let (json, _, code) = started("lengths", "plan --json --ring 64", "");
    assert_eq!(code, Some(0));
    assert!(json.contains("\"name\": \"length\"") && json.contains("\"capacity\": 64"), "{json}");
}

fn a_state_without_a_name_fails_the_check() {
    assert_eq!(started("numbers", "plan --durable", "").2, Some(0));
    let plan = started("nameless", "plan", "").0;
    let (text, err, code) = started("nameless", "plan --durable", "");
    let missing = "\
nameless plan: dedup-1 keeps core::option::Option<u64>: add `.named(\"dedup\")` after its `dedup`
nameless plan: delay-1 keeps u64: add `.named(\"delay\")` after its `delay`
";
    assert_eq!((text, err.as_str(), code), (plan, missing, Some(4)));
}

fn it_verifies() {
    let numbers: String = (0..300).map(|n| format!("{n}\n")).collect();
    let (text, err, code) = started("numbers", "verify", &numbers);
    assert_eq!((err.as_str(), code), ("numbers verify: the same on 42 deployments\n", Some(0)));
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.iter().map(|line| line[0]).collect::<Vec<_>>(), ["square", "sum"]);
    assert!(lines.iter().all(|line| line[1].len() == 16 && line[2] == "300"), "{text}");
    let (_, hash, _) = started("numbers", "run --hash", &numbers);
    assert_eq!(hash, format!("hash {} count 300\n", lines[1][1]));
    assert_eq!(started("lengths", "verify", "a\nb\n").2, Some(0));
}

/// Without edges, every stage may be the cause.
fn a_hidden_clock_is_found() {
    let message = "clock: stage \"last\" or one of \"next\", \"stamp\", which cannot be distinguished, number 0: \
                --deploy model and --deploy inline --ring 1 --batch 1 differ\n";
    assert_output(started("clock", "verify", "1\n2\n"), "", message, 4);
}

fn a_failure_is_reported_in_one_line() {
    let input = format!("1\n2\n{}\n4\n", u64::MAX);
    for way in ["", "--deploy inline", "--deploy queues", "--shards 2 --workers 2"] {
        let (_, err, code) = started("numbers", &format!("run {way}"), &input);
        assert_eq!(err, "numbers: stage \"square\", number 2: panicked: too large\n");
        assert_eq!(code, Some(3));
    }
    let (_, err, code) = started("numbers", "verify", &input);
    assert!(err.contains("panicked: too large (--deploy model)"), "{err}");
    assert_eq!(code, Some(3));
}

fn a_value_that_cannot_be_printed_is_a_failure_everywhere() {
    for way in ["", "--deploy inline", "--deploy queues", "--workers 2"] {
        let message = "shy: stage \"sink\", number 1: panicked: not this one\n";
        assert_output(started("shy", &format!("run {way}"), "1\n2\n3\n"), "1\n", message, 3);
    }
    let message = "shy: the model failed, which knows neither stage nor number: panicked: not this one\n";
    assert_output(started("shy", "run --deploy model", "1\n2\n3\n"), "1\n", message, 3);
}

fn a_panic_before_the_pipeline_runs_is_a_failure() {
    let message = "picky: stage \"source\", number 1: panicked: not this one\n";
    for command in ["run --deploy inline", "run --deploy queues", "run --workers 2", "verify"] {
        let (_, err, code) = started("picky", command, "1\n2\n3\n");
        assert_eq!((err.as_str(), code), (message, Some(3)), "{command}");
    }
    assert_output(
        started("narrow", "verify", "1\n"),
        "",
        "narrow: the pipeline was not built: panicked: too many shards\n",
        3,
    );
}

fn wrong_use_is_refused() {
    for args in ["", "nosuch", "run --nosuch", "run --ring 3", "run --workers 0", "run --deploy nowhere", "plan x"] {
        let (out, err, code) = started("numbers", args, "");
        assert_eq!((out.as_str(), code), ("", Some(2)), "{args}");
        assert!(!err.is_empty(), "{args}");
    }
    let (help, _, code) = started("numbers", "--help", "");
    assert!(help.contains("verify") && code == Some(0), "{help}");
}

fn a_left_out_line_has_its_number_after_a_crash() {
    let home = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| fs::write(home.path().join(name), text).expect("a file");
    let run = || {
        let out = fs::OpenOptions::new().append(true).create(true).open(home.path().join("out")).expect("a file");
        let mut command = command("numbers");
        let args = "run --quiet --state state --snapshot-every 1 --batch 1 a b";
        command.env(AS, "numbers").args(args.split_whitespace()).current_dir(&home).stdin(Stdio::null()).stdout(out);
        let output = command.output().expect("it runs");
        (String::from_utf8(output.stderr).expect("text"), output.status.code())
    };
    let left_out = |place: &str| format!("numbers run: {place} is left out: invalid digit found in string\n");
    write("a", "1\nx\n3\n");
    write("b", "4\n5\ny\n7\n");
    assert_eq!(run(), (left_out("a: line 2") + &left_out("b: line 3"), Some(1)));
    // The next process begins after some of the lines, and counts on.
    write("b", "4\n5\ny\n7\n8\nz\n");
    let (said, code) = run();
    assert!(said.ends_with(&left_out("b: line 6")) && code == Some(1), "{said}");
    let numbers = [1_u64, 3, 4, 5, 7, 8].map(|n| n * n);
    let sums: String = (1..=6).map(|n| format!("{}\n", numbers[..n].iter().sum::<u64>())).collect();
    assert_eq!(fs::read_to_string(home.path().join("out")).expect("a file"), sums);
}

fn its_state_is_kept_and_a_failure_is_replayed() {
    let home = tempfile::tempdir().expect("a directory");
    let run = |program: &str, args: &str| {
        let out = fs::OpenOptions::new().append(true).create(true).open(home.path().join("out")).expect("a file");
        let mut command = command("numbers");
        command.env(AS, program).args(args.split_whitespace()).current_dir(&home).stdin(Stdio::null()).stdout(out);
        let output = command.output().expect("it runs");
        (String::from_utf8(output.stderr).expect("text"), output.status.code())
    };
    let looks = |args: &str| {
        let mut command = command("numbers");
        let output =
            command.env(AS, "numbers").args(args.split_whitespace()).current_dir(&home).output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (text(output.stdout), text(output.stderr), output.status.code())
    };
    let lines = |from: u64, to: u64| (from..to).map(|n| format!("{n}\n")).collect::<String>();
    let sums = |to: u64| (0..to).map(|n| format!("{}\n", (0..=n).map(|x| x * x).sum::<u64>())).collect::<String>();
    let out = || fs::read_to_string(home.path().join("out")).expect("a file");
    let args = "run --state state --snapshot-every 1 --batch 1 numbers.txt";
    fs::write(home.path().join("numbers.txt"), lines(0, 1000)).expect("a file");
    assert_eq!(run("numbers", args), (String::new(), Some(0)));
    fs::write(home.path().join("numbers.txt"), lines(0, 2000)).expect("a file");
    let (said, code) = run("numbers", args);
    assert!(said.contains("--state: goes on at number ") && code == Some(0), "{said}");
    assert!(out() == sums(2000), "other sums than those of one run");
    let (state, said, code) = looks("state state --at 10 --stage sum");
    assert_eq!((state.trim(), code), ("285", Some(0)), "{said}");
    // A number whose square is too large.
    fs::write(home.path().join("numbers.txt"), lines(0, 2000) + "99999999999\n").expect("a file");
    let (said, code) = run("numbers", args);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("stage \"square\", number 2000: panicked: too large"), "{said}");
    assert!(said.contains("to repeat the failure: ") && said.trim_end().ends_with(" replay state"), "{said}");
    let (_, again, code) = looks("replay state");
    assert_eq!(code, Some(3), "{again}");
    assert!(again.contains("stage \"square\", number 2000: panicked: too large"), "{again}");
    assert!(looks("snapshots state --verify").0.contains(" whole"));
    // Another run, in which number 77 is one more.
    fs::write(home.path().join("edited.txt"), lines(0, 77) + "78\n" + &lines(78, 500)).expect("a file");
    fs::remove_file(home.path().join("out")).expect("a file");
    assert_eq!(run("numbers", "run --state other --snapshot-every 100 edited.txt"), (String::new(), Some(0)));
    fs::write(home.path().join("numbers.txt"), lines(0, 2000)).expect("a file");
    let before = (0..77).map(|x: u64| x * x).sum::<u64>();
    let (first, second) = (before + 77 * 77, before + 78 * 78);
    let differs = format!("stage \"sum\", number 77: {first} in the first directory, {second} in the second\n");
    assert_eq!(looks("diff state other"), (differs, String::new(), Some(4)));
    let (said, code) = run("lengths", "run --state other numbers.txt");
    assert!(said.contains("--state: this program keeps no state") && code == Some(2), "{said}");
}
