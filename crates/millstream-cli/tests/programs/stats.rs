use crate::scene::{Input, Scene, ended};
use millstream_testkit::programs::skipped;
use serde_json::Value;
#[cfg(feature = "page")]
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

#[test]
fn stats_go_where_they_are_sent() {
    let scene = Scene::new().file("text", "a b\n");
    let seen = scene.millstream("wc text text --stats", Input::Nothing);
    let stats: Value = serde_json::from_str(&seen.stderr).expect("JSON on standard error");
    assert_eq!(stats["runs"].as_array().unwrap().len(), 2);
    for _ in ["new", "overwritten"] {
        let seen = scene.millstream("wc --stats stats.json text", Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), ("1 2 4 text\n", "", Some(0)));
        let stats: Value = serde_json::from_slice(&std::fs::read(scene.path("stats.json")).unwrap()).expect("JSON");
        assert_eq!(stats["runs"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn stats_describe_the_run() {
    let scene = Scene::new().file("text", "a b\n");
    let seen = scene.millstream("wc text --stats --workers 2", Input::Nothing);
    let stats: Value = serde_json::from_str(&seen.stderr).expect("JSON on standard error");
    let run = &stats["runs"][0];
    assert_eq!((&run["ending"], &run["workers"]), (&"end".into(), &2.into()));
    assert!(run["decisions"][0].as_str().unwrap().starts_with("2 workers, as asked for"));
    let stages = run["stages"].as_array().unwrap();
    let names: Vec<&str> = stages.iter().map(|stage| stage["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["source", "lines", "words", "bytes", "counts", "sink"]);
    for stage in &stages[1..] {
        assert_eq!((&stage["moved"], &stage["left"], &stage["blocking"]), (&2.into(), &0.into(), &false.into()));
        assert!(stage["longest_step"].is_f64() && stage["ns_per_number"].is_f64(), "{stage}");
        assert!(stage["mean_batch"].as_f64().unwrap() * stage["steps"].as_f64().unwrap() == 2.0, "{stage}");
    }
}

#[test]
fn busy_spinning_threads_do_not_outnumber_the_cores() {
    let scene = Scene::new().file("text", "a b\n");
    let args = "wc text --stats --workers 1000 --wait busy-spin";
    let seen = scene.millstream(args, Input::Nothing);
    let said = seen.stderr.lines().next().unwrap_or_default();
    assert!(said.starts_with("millstream wc: --wait: no busy-spin: there are "), "{}", seen.stderr);
    let seen = scene.millstream(&format!("{args} --quiet"), Input::Nothing);
    let stats: Value = serde_json::from_str(&seen.stderr).expect("JSON on standard error");
    let decisions = stats["runs"][0]["decisions"].to_string();
    assert!(decisions.contains("no busy-spin: there are "), "{decisions}");
}

#[test]
fn stats_have_the_core_of_a_pinned_worker_or_the_reason() {
    let scene = Scene::new().file("text", "a b\n");
    let seen = scene.millstream("wc text --stats --workers 1 --pin", Input::Nothing);
    assert_eq!((seen.text().as_str(), seen.code), ("1 2 4 text\n", Some(0)));
    let stats: Value = serde_json::from_str(&seen.stderr).expect("JSON on standard error");
    let (pinned, decisions) = (&stats["runs"][0]["pinned"], stats["runs"][0]["decisions"].to_string());
    assert_eq!(pinned.as_array().unwrap().len(), 1);
    let decision =
        if pinned[0].is_null() { "not pinned: ".to_owned() } else { format!("pinned: worker 0 to core {}", pinned[0]) };
    assert!(decisions.contains(&decision), "{decisions}");
}

/// Every step takes some time, so every stage overruns a budget of 0.
#[test]
fn stages_that_overrun_their_budget_are_named() {
    let scene = Scene::new().file("text", "a b\n");
    let run = |flags: &str| -> Value {
        let seen = scene.millstream(&format!("wc text --stats {flags}"), Input::Nothing);
        serde_json::from_str::<Value>(&seen.stderr).expect("JSON on standard error")["runs"][0].clone()
    };
    let none = run("--step-budget 0");
    let named: Vec<_> = none["overruns"].as_array().unwrap().iter().map(|overrun| &overrun["stage"]).collect();
    for name in ["lines", "words", "bytes", "counts", "sink"] {
        assert!(named.iter().any(|stage| *stage == name), "{none}");
    }
    assert!(none["overruns"][0]["by"].as_f64().unwrap() > 0.0 && none["overruns"][0]["steps"].is_u64(), "{none}");
    assert_eq!(run("--step-budget 3600000")["overruns"], serde_json::json!([]));
}

#[test]
fn stats_overwrite_nothing_else() {
    let scene = Scene::new().file("text", "a b\n").file("other.json", "{\"runs\": 7}");
    for name in ["text", "other.json"] {
        let before = std::fs::read(scene.path(name)).unwrap();
        let seen = scene.millstream(&format!("wc --stats {name}"), Input::Nothing);
        assert_eq!(seen.code, Some(2));
        assert!(seen.stderr.contains("--stats would overwrite"), "{}", seen.stderr);
        assert_eq!(std::fs::read(scene.path(name)).unwrap(), before);
    }
}

#[test]
fn stats_overwrite_stats_of_either_format() {
    let scene = Scene::new().file("text", "a b\n");
    for format in ["table", "table", "json", "table"] {
        let seen = scene.millstream(&format!("wc --stats report --stats-format {format} text"), Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), ("1 2 4 text\n", "", Some(0)), "{format}");
        let report = std::fs::read_to_string(scene.path("report")).unwrap();
        assert_eq!(report.starts_with("rings: 1 numbers in "), format == "table", "{report}");
    }
}

#[test]
fn a_look_at_the_states_of_a_run_overwrites_no_reports() {
    let scene = Scene::new().file("text", "a b\n");
    let seen = scene.millstream("wc --state state --stats report --record-picture run.svg text", Input::Nothing);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    let scene = scene.file("report", "mine").file("run.svg", "mine");
    for look in ["state state", "replay state", "diff state state"] {
        let seen = scene.millstream(look, Input::Nothing);
        assert_eq!(seen.code, Some(0), "{look}: {}", seen.stderr);
    }
    assert!(["report", "run.svg"].iter().all(|name| std::fs::read(scene.path(name)).unwrap() == b"mine"));
}

#[test]
fn stats_that_cannot_be_written_are_known_before_the_work() {
    let scene = Scene::new().file("text", "a b\n");
    let seen = scene.millstream("wc --stats nosuch/stats.json text", Input::Nothing);
    assert_eq!(seen.text(), "");
    assert_eq!(seen.stderr, "millstream wc: nosuch/stats.json: No such file or directory\n");
    assert_eq!(seen.code, Some(1));
    let seen = scene.millstream("wc --stats . text", Input::Nothing);
    assert_eq!((&*seen.text(), &*seen.stderr, seen.code), ("", "millstream wc: .: Is a directory\n", Some(1)));
}

/// There is nothing in a pipe that would be overwritten, and looking for it would wait.
#[test]
fn reports_can_go_to_a_pipe() {
    if !Path::new("/dev/stderr").exists() {
        return skipped("reports_can_go_to_a_pipe", "there is no /dev/stderr");
    }
    let scene = Scene::new().file("text", "a b\n");
    for (args, begin) in [
        ("wc --stats=/dev/stderr text", "{\n  \"runs\": ["),
        ("wc --record-picture /dev/stderr text", "<svg "),
        ("pipe --joblog /dev/stderr cat", "Seq\tHost"),
    ] {
        let mut command = scene.command("millstream", args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A picture is larger than a pipe.
        let stderr = child.stderr.take().unwrap();
        let said = std::thread::spawn(move || std::io::read_to_string(stderr).unwrap());
        assert_eq!(ended(&mut child).code(), Some(0), "{args}");
        let said = said.join().unwrap();
        assert!(said.starts_with(begin), "{args}: {said}");
    }
}

/// What observers saw of a run agrees with its counts, and is in the table as well.
#[test]
fn a_run_is_looked_at_while_it_goes_on() {
    let scene = Scene::new();
    let seen = scene.millstream("sleep --stats --observe", Input::Nothing);
    let stats: Value = serde_json::from_str(&seen.stderr).expect("JSON on standard error");
    let run = &stats["runs"][0];
    let of = |stages: &Value, name: &str| -> Vec<Value> {
        stages.as_array().unwrap().iter().map(|stage| stage[name].clone()).collect()
    };
    assert_eq!(of(&run["stages"], "moved"), of(&run["seen"]["stages"], "moved"), "{run:#}");
    assert_eq!(of(&run["rings"], "produced"), of(&run["seen"]["rings"], "produced"));
    assert!(run["bottleneck"]["sentence"].is_string() && run["seen"]["looks"].as_u64().unwrap() > 0, "{run:#}");
    assert!(run["seen"].get("bottleneck").is_none(), "one run, one sentence: {run:#}");

    let table = scene.millstream("sleep --stats --observe --stats-format table", Input::Nothing).stderr;
    for part in ["stage ", "working", "right ", "holds the run back", "source to sink: p50"] {
        assert!(table.contains(part), "no {part:?} in\n{table}");
    }
    let wrong = scene.millstream("sleep --observe --deploy queues", Input::Nothing);
    assert_eq!((wrong.code, wrong.stderr.contains("--deploy rings")), (Some(2), true));
}

#[test]
fn a_run_is_recorded_as_a_picture() {
    let scene = Scene::new().file("text", "a b\n".repeat(100_000)).file("more", "c\n").file("notes.txt", "mine");
    let seen = scene.millstream("wc --record-picture run.svg text more", Input::Nothing);
    assert_eq!((seen.code, &*seen.stderr), (Some(0), ""));
    // END counts as a number.
    for (picture, blocks) in [("run.svg", 400_000_u64.div_ceil(64 * 1024)), ("run-2.svg", 1)] {
        let svg = std::fs::read_to_string(scene.path(picture)).unwrap();
        assert!(svg.starts_with("<svg ") && svg.contains("<script>"), "{svg}");
        assert!(svg.contains(&format!(">{} numbers</text>", blocks + 1)), "{picture}: {svg}");
    }
    assert_eq!(scene.millstream("wc --record-picture run.svg text", Input::Nothing).code, Some(0), "once more");
    std::fs::write(scene.path("run-2.svg"), "mine").unwrap();
    let second = scene.millstream("wc --record-picture run.svg text more", Input::Nothing);
    assert_eq!((second.code, std::fs::read_to_string(scene.path("run-2.svg")).unwrap()), (Some(1), "mine".to_owned()));
    assert!(second.stderr.contains("would overwrite run-2.svg, which is not a picture"), "{}", second.stderr);

    let over = scene.millstream("wc --record-picture notes.txt text", Input::Nothing);
    assert_eq!((over.code, std::fs::read_to_string(scene.path("notes.txt")).unwrap()), (Some(2), "mine".to_owned()));
    assert!(over.stderr.contains("would overwrite notes.txt, which is not a picture"), "{}", over.stderr);
    let nowhere = scene.millstream("wc --record-picture nosuch/run.svg text", Input::Nothing);
    assert_eq!(nowhere.stderr, "millstream wc: nosuch/run.svg: No such file or directory\n");
    assert_eq!((nowhere.code, nowhere.text().is_empty()), (Some(1), true));
    assert_eq!(scene.millstream("wc --deploy queues --record-picture x.svg text", Input::Nothing).code, Some(2));
}

#[cfg(feature = "page")]
#[test]
fn the_hash_is_the_last_line_while_the_page_stays() {
    let scene = Scene::new().file("text", "a b\n");
    let seen = scene.millstream("wc text --hash --page 127.0.0.1:0 --page-linger 1", Input::Nothing);
    let lines: Vec<&str> = seen.stderr.lines().collect();
    assert!(lines[1].ends_with(": the page stays for 1 s, or until a signal comes"), "{}", seen.stderr);
    assert!(lines[2].starts_with("hash ") && lines.len() == 3, "{}", seen.stderr);
}

/// It has no page of its own.
#[cfg(feature = "page")]
#[test]
fn a_look_at_the_states_of_a_run_does_not_stay_with_its_page() {
    let scene = Scene::new().file("text", "a b\n");
    let spawned = |args: &str| {
        let mut command = scene.command("millstream", args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut run = spawned("wc --state state --page 127.0.0.1:0 --page-linger 1000 text");
    let mut said = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    said.find(|line| line.contains(": the page stays for 1000 s")).expect("the run ends, and the page stays");
    let kill = scene.command("kill", &format!("-TERM {}", run.id()));
    assert_eq!(scene.run(kill, Input::Nothing).code, Some(0));
    assert_eq!(ended(&mut run).code(), Some(0));
    for look in ["state state", "replay state", "diff state state"] {
        assert_eq!(ended(&mut spawned(look)).code(), Some(0), "{look}");
    }
}

#[cfg(feature = "page")]
#[test]
fn a_page_has_an_address_or_fails_before_the_work() {
    let scene = Scene::new().file("text", "a b\n");
    let seen = scene.millstream("wc text --page 127.0.0.1:0", Input::Nothing);
    assert!(seen.stderr.starts_with("millstream wc: the run is shown at http://127.0.0.1:"), "{}", seen.stderr);
    assert_eq!((seen.text().as_str(), seen.code), ("1 2 4 text\n", Some(0)));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    for named in [address.to_string(), format!(":{}", address.port()), address.port().to_string()] {
        let seen = scene.millstream(&format!("wc text --page {named}"), Input::Nothing);
        assert_eq!(seen.stderr, format!("millstream wc: --page {address}: Address already in use\n"), "{named}");
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(1)), "{named}");
    }
    for named in ["localhost:0", ":0", "0"] {
        let seen = scene.millstream(&format!("wc text --page {named}"), Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("1 2 4 text\n", Some(0)), "{named}: {}", seen.stderr);
    }
    for named in ["127.0.0.1:99999", "nowhere", "127.0.0.1"] {
        let seen = scene.millstream(&format!("wc text --page {named}"), Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)), "{named}: {}", seen.stderr);
        assert!(seen.stderr.contains("HOST:PORT"), "{named}: {}", seen.stderr);
    }
}
