//! `millstream run`, `check` and `stages`: what they read and write, their messages and their exit codes.

use crate::scene::{Input, PATIENCE, Scene, Seen, ended};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

const ORDERS: &str = "id,user,qty\n1,ann,2\n2,bo,1\n3,ann,5\n";

fn run(scene: &Scene, args: &[&str]) -> Seen {
    let mut command = scene.command("millstream", "run --quiet");
    command.args(args);
    scene.run(command, Input::Nothing)
}

#[track_caller]
fn check(scene: &Scene, args: &[&str], out: &str) {
    let seen = run(scene, args);
    assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), (out, "", Some(0)), "{args:?}");
}

#[track_caller]
fn refused(scene: &Scene, args: &[&str], message: &str, code: i32) {
    let seen = run(scene, args);
    assert!(seen.stderr.contains(message), "{args:?}: {}", seen.stderr);
    assert_eq!((seen.text().as_str(), seen.code), ("", Some(code)), "{args:?}");
}

#[test]
fn files_come_from_the_text_or_from_the_command_line() {
    let scene = Scene::new().file("a.csv", ORDERS).file("b.csv", "id,user,qty\n4,cy,1\n").file("c.txt", "x\n");
    check(&scene, &["-e", "csv | map(.id)", "a.csv", "b.csv"], "1\n2\n3\n4\n");
    check(&scene, &["-e", "csv(\"?.csv\") | count"], "{\"count\":4}\n");
    let scene = scene.file("p.mill", "#!/usr/bin/env -S millstream run\ncsv | count(by: .user)");
    check(&scene, &["p.mill", "b.csv", "--deploy", "inline"], "{\"user\":\"cy\",\"count\":1}\n");
    let piped = scene.command("millstream", "run --quiet p.mill");
    let seen = scene.run(piped, Input::Pipe(ORDERS.as_bytes(), 5));
    assert_eq!(seen.text(), "{\"user\":\"ann\",\"count\":2}\n{\"user\":\"bo\",\"count\":1}\n");
    refused(&scene, &["-e", "csv(\"a.csv\")", "b.csv"], "so no source reads b.csv", 2);
    refused(&scene, &["-e", "let a = csv; csv | join(a, on: .id)"], "2 sources name no files", 2);
    refused(&scene, &["-e", "csv(\"*.tsv\") | count"], "*.tsv: no file matches", 2);
    refused(&scene, &["-e", "csv | jsonl", "nosuch.csv"], "nosuch.csv: No such file", 1);
    let marked = scene.file("bom.mill", "\u{feff}lines | count");
    check(&marked, &["bom.mill", "a.csv"], "{\"count\":4}\n");
    refused(&marked, &["nosuch.mill"], "nosuch.mill: No such file", 1);
}

#[test]
fn the_rows_that_a_join_looks_up_are_read_first() {
    let scene = Scene::new().file("a.csv", ORDERS).file("users.jsonl", "{\"user\":\"ann\",\"city\":\"Ulm\"}\n");
    let text = "csv(\"a.csv\") | join(jsonl(\"users.jsonl\"), on: .user) | map([.id, .city])";
    check(&scene, &["-e", text], "[1,\"Ulm\"]\n[3,\"Ulm\"]\n");
    // One file, read twice.
    let text = "csv(\"a.csv\") | join(csv(\"a.csv\") | map({user, other: .id}), on: .user) | map([.id, .other])";
    check(&scene, &["-e", text], "[1,1]\n[1,3]\n[2,2]\n[3,1]\n[3,3]\n");
    refused(&scene, &["-e", "csv | join(csv(\"-\"), on: .user)"], "two sources read standard input", 2);
    let text = "csv(\"a.csv\") | join(jsonl(\"users.jsonl\") | count(by: .user), on: .user)";
    refused(&scene, &["-e", text], "`join` would find nothing", 2);
    let text = "csv(\"a.csv\") | join(jsonl(\"users.jsonl\", follow: true), on: .user)";
    refused(&scene, &["-e", text], "so a.csv, which comes after it, would never be read", 2);
}

#[test]
fn a_join_says_that_rows_found_no_partner() {
    let scene = Scene::new().file("a.csv", ORDERS).file("ids.jsonl", "{\"id\":\"1\"}\n{\"id\":\"2\"}\n");
    let scene = scene.file("users.jsonl", "{\"user\":\"ann\"}\n").file("none.jsonl", "{\"user\":null}\n");
    let scene = scene.file("counts.jsonl", "{\"id\":1,\"t\":7}\n");
    let scene = scene.file("long.jsonl", format!("{{\"user\":\"{}\"}}\n", "x".repeat(100_000)));
    let said = |join: &str| {
        let mut command = scene.command("millstream", "run -e");
        command.arg(format!("csv(\"a.csv\", schema: {{id: int, user: text, qty: int}}) | join({join}) | count"));
        let seen = scene.run(command, Input::Nothing);
        assert_eq!(seen.code, Some(0), "{}", seen.stderr);
        seen.stderr
    };
    let types =
        ".id is a number, as 1, and .id of the other rows is a text, as \"1\": compare texts by `on: (.id | tostring)`";
    for (join, says) in [
        ("jsonl(\"users.jsonl\"), on: .user", "1 of 3 rows found no partner"),
        ("jsonl(\"users.jsonl\"), on: .user, keep: true", ""),
        ("jsonl(\"ids.jsonl\"), on: .id", &format!("none of 3 rows found a partner: {types}")),
        ("jsonl(\"ids.jsonl\"), on: (.id | tostring)", "1 of 3 rows found no partner"),
        (
            "jsonl(\"none.jsonl\"), on: .user",
            "none of 3 rows found a partner: no other row with .user came before them",
        ),
        (
            "jsonl(\"counts.jsonl\") | count(by: .id, every: 1m, at: .t), on: .id",
            "none of 3 rows found a partner: other rows with .id 1 came after them, and a join sees those that came \
             before",
        ),
        (
            "jsonl(\"long.jsonl\"), on: .user",
            &format!(
                "none of 3 rows found a partner: .user is as \"ann\", and .user of the other rows is as \"{} ..",
                "x".repeat(159)
            ),
        ),
        ("jsonl(\"users.jsonl\"), on: .uesr", "none of 3 rows found a partner: .uesr is null in all of them"),
        (
            "jsonl(\"users.jsonl\"), on: .id, with: .user, keep: true",
            "none of 3 rows found a partner: .id is a number, as 1, and .user of the other rows is a text, as \"ann\": \
             compare texts by `on: (.id | tostring)`",
        ),
    ] {
        let says = if says.is_empty() { String::new() } else { format!("millstream run: join: {says}\n") };
        assert_eq!(said(join), says, "{join}");
    }
}

#[test]
fn compressed_files_are_read() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(ORDERS.as_bytes()).expect("a vector takes everything");
    let zstd = zstd::encode_all(ORDERS.as_bytes(), 1).expect("it can be compressed");
    let scene = Scene::new().file("a.gz", gzip.finish().expect("a vector")).file("b.zst", zstd);
    check(&scene, &["-e", "csv | sum(.qty)", "a.gz", "b.zst"], "{\"sum\":16}\n");
}

#[test]
fn sinks_and_dead_letters_are_files() {
    let scene = Scene::new().file("a.csv", format!("{ORDERS}4,cy\n"));
    let text =
        "let a = csv(\"a.csv\", dead: \"dead\"); a | where(.qty > 1) | jsonl(\"big\"); a | count(by: .user) | csv";
    check(&scene, &["-e", text], "user,count\nann,2\nbo,1\n");
    let read = |name| fs::read_to_string(scene.path(name)).expect("a file");
    assert_eq!(read("big"), "{\"id\":1,\"user\":\"ann\",\"qty\":2}\n{\"id\":3,\"user\":\"ann\",\"qty\":5}\n");
    let dead = "{\"file\":\"a.csv\",\"number\":4,\"stage\":\"csv\",\
                \"why\":\"the row has 2 cells, and the header has 3\",\"row\":\"4,cy\"}\n";
    assert_eq!(read("dead"), dead);
    refused(&scene, &["-e", "csv(\"a.csv\") | csv(\"./a.csv\")"], "a.csv is read and would be overwritten", 2);
    refused(
        &scene,
        &["-e", "csv(\"a.csv\", dead: \"b\") | csv(\"b\")"],
        "b is the file of a sink and of dead letters",
        2,
    );
    refused(&scene, &["-e", "csv(\"a.csv\") | csv(\"no/such\")"], "no/such: No such file", 1);
    // As a source it is standard input.
    check(&scene, &["-e", "lines(\"a.csv\") | take(1) | lines(\"-\")"], "id,user,qty\n");
    assert!(!scene.path("-").exists());
    let text = "let a = csv(\"a.csv\"); a | jsonl(\"-\"); a | csv";
    refused(&scene, &["-e", text], "two outputs go to standard output", 2);
}

#[test]
fn json_is_made_of_utf8_alone() {
    let scene = Scene::new().file("a.csv", b"id,name,n\n1,J\xf8rn,2\n2,bo,3\n");
    let said = |stage: &str| format!("row 1, {stage}: not UTF-8, which JSON needs: byte 0xf8, at column 4");
    for (text, stage, out) in [
        ("csv | jsonl", "jsonl", "{\"id\":2,\"name\":\"bo\",\"n\":3}\n"),
        ("csv | map({name})", "map", "{\"name\":\"bo\"}\n"),
        ("csv | sum(.n, by: .name)", "sum", "{\"name\":\"bo\",\"sum\":3}\n"),
        ("csv | latest", "latest", "{\"id\":2,\"name\":\"bo\",\"n\":3}\n"),
        ("csv | join(csv(\"a.csv\"), on: .id)", "join", "{\"id\":2,\"name\":\"bo\",\"n\":3}\n"),
    ] {
        let seen = run(&scene, &["-e", text, "a.csv"]);
        assert!(seen.stderr.contains(&said(stage)), "{text}: {}", seen.stderr);
        assert_eq!((seen.text().as_str(), seen.code), (out, Some(1)), "{text}");
    }
    let scene = scene.file("b.jsonl", b"{\"name\":\"J\xf8rn\"}\n{\"name\":\"bo\"}\n");
    for text in ["jsonl | count", "jsonl(schema: {name: text}) | count"] {
        let seen = run(&scene, &["-e", text, "b.jsonl"]);
        assert!(seen.stderr.contains("row 1, jsonl: not UTF-8"), "{text}: {}", seen.stderr);
        assert!(seen.stderr.contains("byte 0xf8, at column 11"), "{text}: {}", seen.stderr);
        assert_eq!((seen.text().as_str(), seen.code), ("{\"count\":1}\n", Some(1)), "{text}");
    }
    // Without a request for types, a table can have any bytes.
    check(&scene, &["-e", "csv | sum(.n)", "a.csv"], "{\"sum\":5}\n");
    let seen = run(&scene, &["-e", "csv | where(.n == 2)", "a.csv"]);
    assert_eq!((seen.stdout.as_slice(), seen.code), (&b"id,name,n\n1,J\xf8rn,2\n"[..], Some(0)));
}

#[test]
fn rows_in_place_of_a_program_are_recognized() {
    let scene = Scene::new().file("a.csv", ORDERS).file("b", "{\"a\":1}\n").file("c.csv", b"n\xf8\n");
    let scene = scene.file("d.jsonl.gz", b"\x1f\x8b\x08\xff").file("long", "a b\n".repeat(20_000));
    let scene = scene.file("e.mill", "[1]").file("f", "csv | nosuch");
    for (file, source) in [
        ("a.csv", "csv"),
        ("b", "jsonl"),
        ("c.csv", "csv"),
        ("d.jsonl.gz", "jsonl"),
        ("long", "lines"),
        ("/dev/zero", "lines"),
    ] {
        let seen = run(&scene, &[file]);
        let said = format!(
            "millstream run: {file} is data and not a program: the program is a text, in a file or after -e\n  to read \
             its rows: millstream run -e '{source} | count' {file}\n"
        );
        assert_eq!((seen.stderr, seen.code), (said.clone(), Some(2)));
        let checked = scene.millstream(&format!("check -e csv {file}"), Input::Nothing);
        assert_eq!((checked.stderr, checked.code), (said.replacen("run", "check", 1), Some(2)));
    }
    refused(&scene, &["e.mill"], "e.mill:1:1", 2);
    refused(&scene, &["f"], "there is no stage `nosuch`", 2);
}

#[test]
fn a_file_is_known_by_any_of_its_names() {
    let scene = Scene::new().file("a.csv", ORDERS).file("b", "");
    fs::hard_link(scene.path("a.csv"), scene.path("link")).expect("a link");
    refused(&scene, &["-e", "csv(\"a.csv\") | csv(\"link\")"], "link is read and would be overwritten", 2);
    // Standard input is a file as well, and so is the text.
    for text in ["csv | csv(\"link\")", "csv(dead: \"link\") | count"] {
        let mut command = scene.command("millstream", "run -e");
        command.arg(text);
        let seen = scene.run(command, Input::File("a.csv"));
        assert_eq!((&*seen.stderr, seen.code), ("millstream run: link is read and would be overwritten\n", Some(2)));
    }
    let scene = scene.file("p.mill", "csv | csv(\"p.mill\")");
    refused(&scene, &["p.mill", "a.csv"], "p.mill is read and would be overwritten", 2);
    assert_eq!(fs::read_to_string(scene.path("a.csv")).expect("a file"), ORDERS);
    for (sink, dead) in [("b", "./b"), ("new", "./new")] {
        let text = format!("csv(\"a.csv\", dead: \"{dead}\") | csv(\"{sink}\")");
        refused(&scene, &["-e", &text], &format!("{dead} and {sink} are the same file: each output needs its own"), 2);
    }
    assert!(!scene.path("new").exists());
    check(&scene, &["-e", "let a = csv(\"a.csv\"); a | csv(\"/dev/null\"); a | count"], "{\"count\":3}\n");
}

#[test]
fn sources_with_one_file_for_dead_letters_share_it() {
    let scene = Scene::new().file("one", "{\n{\n").file("two", "[\n");
    let text = "let a = jsonl(\"one\", dead: \"dead\"); let b = jsonl(\"two\", dead: \"dead\");
                a | map(.x) | jsonl(\"out\"); b | map(.x)";
    check(&scene, &["-e", text], "");
    let dead = fs::read_to_string(scene.path("dead")).expect("a file");
    let files: Vec<_> = dead.lines().map(|line| line.split('"').nth(3).expect("a file's name")).collect();
    assert_eq!(files, ["one", "one", "two"], "{dead}");
}

#[test]
fn files_are_complete_when_the_reader_of_standard_output_has_gone() {
    let scene = Scene::new().file("a.csv", format!("id,user,qty\n{}", "1,ann,2\n".repeat(200_000)));
    let text = "let a = csv(\"a.csv\"); a | jsonl; a | count | jsonl(\"counted\")";
    let mut command = scene.command("millstream", "run --quiet -e");
    let mut child = command.arg(text).stdout(Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    assert_eq!(ended(&mut child).code(), Some(0));
    assert_eq!(fs::read_to_string(scene.path("counted")).expect("a file"), "{\"count\":200000}\n");
}

#[test]
fn rows_that_fail_are_reported_and_the_rest_is_processed() {
    let scene = Scene::new().file("rows", "{\"a\":1}\n{\"a\":\n".repeat(12));
    let seen = run(&scene, &["-e", "jsonl | map(.a) | sum(.)", "rows"]);
    assert_eq!((seen.text().as_str(), seen.code), ("{\"sum\":12}\n", Some(1)));
    assert!(seen.stderr.starts_with("millstream run: rows: row 2, jsonl: not JSON"), "{}", seen.stderr);
    assert_eq!(seen.stderr.lines().count(), 11, "{}", seen.stderr);
    assert!(seen.stderr.contains("and 2 more; `dead: \"FILE\"`"), "{}", seen.stderr);
}

#[test]
fn a_schema_is_printed_once_it_is_sampled() {
    let scene = Scene::new().file("a.csv", ORDERS);
    let seen = scene.millstream("run -e csv|count a.csv", Input::Nothing);
    assert_eq!(seen.stderr, "millstream run: a.csv: schema: {id: int, user: text, qty: int}\n");
    let twice = scene.file("b.csv", "a,a\n1,2\n").file("c.csv", "\"a,b\n1,2\n");
    refused(&twice, &["-e", "csv | jsonl", "c.csv"], "c.csv: a quote in the header is not closed", 1);
    refused(&twice, &["-e", "csv | jsonl", "b.csv"], "b.csv: two columns are named \"a\"", 1);
}

#[test]
fn every_way_to_run_has_the_same_bytes() {
    let rows: String = (0..5000).map(|n| format!("{n},u{},{}\n", n % 7, n % 11)).collect();
    let scene = Scene::new().file("a.csv", format!("id,user,qty\n{rows}"));
    let text = "csv | where(.qty > 3) | map({user, qty: .qty * 2}) | sum(.qty, by: .user) | csv";
    let way = |flags: &str| {
        let mut args = vec!["-e", text, "a.csv", "--hash"];
        args.extend(flags.split(' '));
        let seen = run(&scene, &args);
        (seen.text(), seen.stderr, seen.code)
    };
    let expected = way("--deploy model");
    assert!(expected.0.starts_with("user,sum\nu0,") && expected.1.starts_with("hash "), "{expected:?}");
    for flags in ["--deploy inline", "--deploy queues", "--workers 1", "--workers 3 --shards 2", "--ring 1 --batch 1"] {
        assert_eq!(way(flags), expected, "{flags}");
    }
}

#[test]
fn programs_in_files_have_plans_graphs_and_verification() {
    let scene =
        Scene::new().file("a.csv", ORDERS).file("p.mill", "csv(\"a.csv\") | where(.qty > 1) | count(by: .user)");
    let plan = scene.millstream("plan p.mill", Input::Nothing);
    assert!(plan.text().contains("where") && plan.text().contains("count"), "{plan:?}");
    assert!(scene.millstream("graph p.mill --format dot", Input::Nothing).text().contains("where"));
    let verified = scene.millstream("verify --quiet p.mill", Input::Nothing);
    assert_eq!((verified.stderr.as_str(), verified.code), ("", Some(0)));
    assert!(verified.text().starts_with("output "), "{verified:?}");
    let scene = scene.file("wrong.mill", "csv | cuont");
    for command in ["plan", "graph", "verify", "check", "run"] {
        let seen = scene.millstream(&format!("{command} wrong.mill"), Input::Nothing);
        assert!(seen.stderr.contains("--> wrong.mill:1:7") && seen.code == Some(2), "{command}: {seen:?}");
    }
    for tuning in ["", "--workers 3", "--shards 2 --ring 8"] {
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        let explained = scene.millstream(&format!("plan p.mill --json --explain {tuning}"), Input::Nothing);
        let explained = json(&explained.text())["explain"].clone();
        let stats = scene.millstream(&format!("run p.mill --quiet --stats {tuning}"), Input::Nothing);
        let ran = json(&stats.stderr)["runs"][0].clone();
        assert!(stats.stderr.contains("\"deploy\"") && stats.stderr.contains("where"), "{}", stats.stderr);
        let tasklets = &explained["tasklets"];
        let tasklets = tasklets["shared"].as_u64().expect("n") + tasklets["own_thread"].as_u64().expect("n");
        assert_eq!(
            (&ran["tasklets"], &ran["ring_bytes"]),
            (&tasklets.into(), &explained["rings"]["bytes"]),
            "{tuning}"
        );
    }
}

#[test]
fn texts_are_checked_without_a_run() {
    let scene = Scene::new().file("a.mill", "csv(\"nosuch\") | count").file("b.mill", "csv |");
    let seen = scene.millstream("check a.mill b.mill", Input::Nothing);
    assert!(seen.text().starts_with("a.mill: ") && seen.text().ends_with("1 source, 1 sink\n"), "{seen:?}");
    assert!(seen.stderr.contains("--> b.mill:1:6") && seen.code == Some(2), "{seen:?}");
    for files in ["nosuch b.mill", "b.mill nosuch"] {
        assert_eq!(scene.millstream(&format!("check {files}"), Input::Nothing).code, Some(2), "{files}");
    }
    let seen = scene.millstream("check -e csv", Input::Nothing);
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
}

#[test]
fn editors_get_the_stages() {
    let json = Scene::new().millstream("stages --json", Input::Nothing).text();
    let stages: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let count = stages.as_array().and_then(|all| all.iter().find(|stage| stage["name"] == "count")).expect("a stage");
    assert_eq!((&count["version"], &count["parameters"][0]["name"]), (&1.into(), &"by".into()));
    assert!(Scene::new().millstream("stages", Input::Nothing).text().contains("where(condition)"));
}

#[test]
fn a_stage_that_fails_ends_the_run() {
    let scene = Scene::new().file("a.csv", ORDERS);
    refused(&scene, &["-e", "csv | count(by: .id, most: 2)", "a.csv"], "millstream: stage \"count\", number 0: ", 3);
}

#[test]
fn a_file_is_followed_until_a_signal() {
    followed("jsonl(\"log\", follow: true) | map(.a) | lines(\"out\")", "{\"a\":1}\n", "{\"a\":2}\n");
    // The types are sampled from the present rows.
    followed("csv(\"log\", follow: true) | map(.a) | lines(\"out\")", "a,b\n1,x\n", "2,y\n");
}

#[track_caller]
fn followed(text: &str, there: &str, more: &str) {
    let scene = Scene::new().file("log", there);
    let mut command = scene.command("millstream", "run --quiet");
    command.args(["-e", text]).stdout(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let shows = |text: &str| {
        let start = Instant::now();
        while fs::read_to_string(scene.path("out")).unwrap_or_default() != text {
            assert!(start.elapsed() < PATIENCE, "{text:?} is not written");
            sleep(Duration::from_millis(5));
        }
    };
    shows("1\n");
    let mut log = fs::OpenOptions::new().append(true).open(scene.path("log")).expect("the log");
    log.write_all(more.as_bytes()).expect("it can be written");
    shows("1\n2\n");
    let id = child.id().to_string();
    assert!(scene.run(scene.command("kill", &format!("-TERM {id}")), Input::Nothing).code == Some(0));
    assert_eq!(ended(&mut child).code(), Some(143));
}

#[cfg(not(feature = "sqlite"))]
#[test]
fn without_sqlite_the_message_says_how_to_build_with_it() {
    for text in ["csv | sqlite(\"shop.db\", table: \"t\")", "sqlite(\"shop.db\", query: \"select 1\") | count"] {
        let scene = Scene::new();
        let mut command = scene.command("millstream", "check -e");
        command.arg(text);
        let seen = scene.run(command, Input::Nothing);
        assert!(seen.stderr.contains("cargo install millstream-cli --features sqlite"), "{}", seen.stderr);
        assert_eq!(seen.code, Some(2));
    }
}
