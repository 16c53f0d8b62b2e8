//! The program's output, its files, and its refusals.

use std::process::{Command, Output};

fn bench(args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_millstream-bench");
    Command::new(program).args(args).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

const NAMES: [&str; 69] = [
    "chain2",
    "filter-map",
    "boxes",
    "wires",
    "copying5",
    "copying10",
    "copying",
    "compile",
    "merge",
    "instructions",
    "layouts",
    "shard-by",
    "shard2",
    "wc",
    "word-count",
    "word-split",
    "hop",
    "chain3",
    "zip2",
    "zip10",
    "zip10-write",
    "shard2-ordered",
    "chain7",
    "oversubscribed",
    "upgrade",
    "rescale",
    "elastic",
    "observe",
    "wake",
    "sleep",
    "three-to-one",
    "transport",
    "fair",
    "spaces-long",
    "spaces-short",
    "spaces-pipe",
    "text-batch",
    "wc-fast",
    "contended",
    "log",
    "uppercase",
    "jq",
    "csv",
    "pipe",
    "evolve",
    "evolve-cores",
    "iterator",
    "sensors",
    "crawler",
    "service",
    "latency",
    "libraries",
    "growth-items",
    "growth-stages",
    "growth-halves",
    "growth-shards",
    "growth-keys",
    "growth-sizes",
    "growth-rings",
    "growth-cores",
    "snapshot",
    "journal",
    "recorded",
    "restore",
    "serve",
    "cluster-hop",
    "cluster-failover",
    "cluster-words",
    "rss",
];

/// These benches need a build, a server, or gigabytes, or count under valgrind, however few the items are.
const LARGE: [&str; 27] = [
    "wc",
    "compile",
    "instructions",
    "observe",
    "upgrade",
    "rescale",
    "elastic",
    "spaces-long",
    "spaces-short",
    "spaces-pipe",
    "wc-fast",
    "contended",
    "log",
    "uppercase",
    "jq",
    "csv",
    "pipe",
    "rss",
    "serve",
    "cluster-hop",
    "cluster-failover",
    "cluster-words",
    "snapshot",
    "journal",
    "restore",
    "growth-items",
    "growth-sizes",
];

/// These wait more than they compute, so they run in parallel to the others.
const WAITING: [&str; 4] = ["wires", "wake", "sleep", "evolve"];

#[test]
fn standard_output_has_result_lines_only_and_json_says_the_same() {
    let bounds = ["chain2.speed.ratio.fused 0.900", "copying10.speed.ratio.copying5 0.500"];
    has_result_lines(|name| !WAITING.contains(name), &bounds);
}

#[test]
fn standard_output_has_result_lines_only_and_json_says_the_same_of_benches_that_wait() {
    has_result_lines(|name| WAITING.contains(name), &["evolve.even.ratio.free 0.930"]);
}

/// Runs the chosen benches that are not large. The lines of some ratios end with these bounds.
fn has_result_lines(chosen: impl Fn(&&str) -> bool, bounds: &[&str]) {
    let runs = tempfile::tempdir().unwrap();
    let names: Vec<_> = NAMES.into_iter().filter(|name| !LARGE.contains(name) && chosen(name)).collect();
    let options = ["--quick", "--items", "500", "--runs", runs.path().to_str().unwrap()];
    let output = bench(&[&names[..], &options[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));

    let out = text(&output.stdout);
    for line in out.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let path: Vec<_> = words[0].split('.').collect();
        assert!(names.contains(&path[0]), "{line}");
        assert!(words[1].parse::<f64>().is_ok_and(|value| value > 0.0), "{line}");
        match (path.len(), words.len()) {
            (3, 3) => assert!(["items/s", "B/s", "s", "ns", "B", "cores", "x"].contains(&words[2]), "{line}"),
            (4, 6) => assert_eq!((path[2], words[2]), ("ratio", "x"), "{line}"),
            _ => panic!("{line}"),
        }
    }
    for bound in bounds {
        let (name, bound) = bound.split_once(' ').unwrap();
        let line = out.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line.ends_with(bound), "{line}");
    }

    // Every table names the machine.
    let tables = text(&output.stderr);
    assert_eq!(tables.lines().filter(|line| line.starts_with("  on ") && line.contains(" cores")).count(), names.len());

    let dir = std::fs::read_dir(runs.path()).unwrap().next().unwrap().unwrap().path();
    for name in &names {
        let json = std::fs::read_to_string(dir.join(format!("{name}.json"))).unwrap();
        let run: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(run["bench"], *name);
        assert_machine(&run["machine"]);
        // So few items are over too soon to tell, but not if they wait.
        if cfg!(target_os = "linux") && WAITING.contains(name) {
            assert!(run["others"].is_number(), "{name} does not say how busy the machine was");
        }
        let lines = run["figures"].as_array().unwrap().len() + run["ratios"].as_array().unwrap().len();
        let prefix = format!("{name}.");
        assert_eq!(lines, out.lines().filter(|line| line.starts_with(&prefix)).count());
    }
}

/// Every figure has a description of the machine that it was measured on.
fn assert_machine(machine: &serde_json::Value) {
    assert!(!machine["cpu"].as_str().unwrap().is_empty(), "{machine}");
    assert!(machine["cores"].as_u64().unwrap() > 0, "{machine}");
    assert!(machine["kernel"].as_str().unwrap().starts_with(std::env::consts::OS), "{machine}");
    if cfg!(target_os = "linux") {
        assert!(machine["memory"].as_u64().unwrap() > 1 << 20, "{machine}");
        assert!(!machine["clock_source"].as_str().unwrap().is_empty(), "{machine}");
        assert!(machine["virtual"].is_boolean(), "{machine}");
    }
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        assert!(machine["family"].as_u64().is_some() && machine["model"].as_u64().is_some(), "{machine}");
    }
}

#[test]
fn the_list_names_every_bench() {
    let output = bench(&["--list"]);
    assert!(output.status.success());
    let names: Vec<_> = text(&output.stdout).lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(names, NAMES);
}

#[test]
fn wrong_use_is_refused() {
    assert!(bench(&["--list", "--rivals", "--rivals"]).status.success());
    for wrong in [&["chain3000"][..], &[], &["chain2", "--quick", "--full"], &["chain2", "--items", "0"]] {
        let output = bench(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(output.stdout.is_empty());
    }
    assert!(text(&bench(&["chain3000"]).stderr).contains("the benches are chain2, "));
}

#[test]
fn a_check_that_has_nothing_to_judge_is_an_error() {
    let runs = tempfile::tempdir().unwrap();
    let options = ["--quick", "--items", "500", "--check", "--runs", runs.path().to_str().unwrap()];
    let output = bench(&[&["copying5"][..], &options[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let message = "millstream-bench: --check has nothing to judge: no ratio of copying5 has a bound in this run\n";
    assert!(text(&output.stderr).ends_with(message), "{}", text(&output.stderr));
    // The bounds of this one are beside a rival.
    let output = bench(&[&["chain7"][..], &options[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let message = "\n  ring4096.crossbeam is not judged: it was left out\n";
    assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
}

#[test]
fn a_bench_that_failed_hides_no_missed_bound() {
    let runs = tempfile::tempdir().unwrap();
    // So few numbers take less time than the start of a run, and a job of them is over before its second snapshot.
    let options = ["--quick", "--items", "1000", "--check", "--runs", runs.path().to_str().unwrap()];
    let output = bench(&[&["chain2", "snapshot"][..], &options[..]].concat());
    assert_eq!(output.status.code(), Some(4));
    let said = text(&output.stderr);
    assert!(said.contains("\nmillstream-bench: chain2: speed.ratio.fused is 0."), "{said}");
    assert!(said.contains(" snapshots, but 2 are needed: "), "{said}");
}

#[test]
fn rivals_whose_tools_are_missing_are_a_failure_if_everything_is_required() {
    let runs = tempfile::tempdir().unwrap();
    for (name, message) in [
        ("libraries", "millstream-bench: `Go` failed: there is no go\n"),
        ("cluster-words", "millstream-bench: `Flink` failed: there is no java and no mvn\n"),
    ] {
        let mut bench = Command::new(env!("CARGO_BIN_EXE_millstream-bench"));
        bench.args([name, "--rivals", "--quick", "--items", "500", "--runs"]).arg(runs.path());
        let output = bench.env("PATH", "").env("MILLSTREAM_REQUIRE", "all").output().expect("the program starts");
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).ends_with(message), "{}", text(&output.stderr));
    }
}

#[cfg(unix)]
#[test]
fn rivals_that_cannot_be_built_are_left_out() {
    use std::os::unix::fs::PermissionsExt;
    let (runs, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let go = tools.path().join("go");
    std::fs::write(&go, "#!/bin/sh\nexit 3\n").unwrap();
    std::fs::set_permissions(&go, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_millstream-bench"));
    bench.args(["libraries", "--rivals", "--quick", "--items", "500", "--runs"]).arg(runs.path());
    // If it is required, it is not left out.
    let output = bench.env("PATH", tools.path()).env("MILLSTREAM_REQUIRE", "all").output().expect("the program starts");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.starts_with("millstream-bench: `Go` failed: `"), "{said}");
    assert!(said.ends_with("failed: exit status: 3\n"), "{said}");
}

#[test]
fn a_job_without_snapshots_is_no_measurement_of_them() {
    let runs = tempfile::tempdir().unwrap();
    let output = bench(&["snapshot", "--quick", "--items", "1000", "--runs", runs.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(" snapshots, but 2 are needed: "), "{}", text(&output.stderr));
}
