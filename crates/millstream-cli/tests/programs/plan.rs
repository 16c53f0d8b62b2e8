use crate::scene::{Input, Scene};

fn plan(args: &str) -> String {
    let seen = Scene::new().millstream(&format!("plan {args}"), Input::Nothing);
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
    seen.text()
}

#[test]
fn every_stage_has_its_name() {
    let wc = plan("wc");
    for name in ["source", "lines", "words", "bytes", "counts", "sink"] {
        assert!(wc.lines().any(|line| line.starts_with(name)), "{name} in {wc}");
    }
    assert!(!wc.contains("warning"), "{wc}");
    assert!(plan("uppercase --shards 3").contains("uppercase x3"));
    assert!(plan("wc --shards 2").contains("parts x2"));
    assert!(plan("wc --ring 64").contains("64 slots"));
}

#[test]
fn json_is_the_same_plan() {
    let plan: serde_json::Value = serde_json::from_str(&plan("wc --json")).expect("JSON");
    let names: Vec<_> =
        plan["stages"].as_array().unwrap().iter().map(|stage| stage["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["lines", "words", "bytes", "counts"]);
    assert_eq!(plan["rings"].as_array().unwrap().len(), 5);
    assert_eq!(plan["warnings"].as_array().unwrap().len(), 0);
}

#[test]
fn every_program_has_a_plan() {
    for (program, stages) in [
        ("sleep", ["first", "left", "right", "last"].as_slice()),
        ("panic", &["first", "second", "third"]),
        ("idle", &["idle"]),
    ] {
        let plan: serde_json::Value = serde_json::from_str(&plan(&format!("{program} --json"))).expect("JSON");
        let names: Vec<_> =
            plan["stages"].as_array().unwrap().iter().map(|stage| stage["name"].as_str().unwrap()).collect();
        assert_eq!(names, stages);
    }
}

#[test]
fn shards_without_effect_are_reported() {
    for (args, said) in [
        ("plan copying --shards 2", "millstream plan: --shards has no effect: the pipeline has none\n"),
        ("plan copying --shards 1", ""),
        ("copying --items 9 --shards 2", "millstream copying: --shards has no effect: the pipeline has none\n"),
        ("copying --items 9 --shards 2 --quiet", ""),
    ] {
        let seen = Scene::new().millstream(args, Input::Nothing);
        assert_eq!((seen.stderr.as_str(), seen.code), (said, Some(0)), "{args}");
        assert!(!seen.text().is_empty(), "{args}");
    }
}

#[test]
fn explanations_say_what_and_why() {
    let wc = plan("wc --explain --workers 9 --wait blocking");
    for part in [
        "usable cores:",
        "at most 6 (fixed: 9 were asked for, and only 6 can share the tasklets)",
        "6 shared by the workers, 0 with a thread of their own",
        "5, 32 bytes together (",
        "tunables:       rings of 16 slots, steps of at most 2048; \
         back-off of 256 spins, 16 yields, naps of 1 to 512 us; step budget 100ms",
        "waiting:        blocking",
        "stages that block: none",
    ] {
        assert!(wc.contains(part), "{part} in {wc}");
    }
    let sleep = plan("sleep --explain --shards 2");
    assert!(sleep.contains("automatic: 1 to begin with"), "{sleep}");
    assert!(sleep.contains("2 shared by the workers, 8 with a thread of their own"), "{sleep}");
    assert!(sleep.contains("stage that blocks: left (own threads: 2)"), "{sleep}");
    assert!(plan("wc --explain --workers 1000 --wait busy-spin").contains("no busy-spin: there are "));
}

#[test]
fn explanations_are_json_too() {
    let plan: serde_json::Value = serde_json::from_str(&plan("sleep --explain --json")).expect("JSON");
    let explain = &plan["explain"];
    assert_eq!(explain["rings"]["count"], 5);
    assert_eq!(explain["rings"]["bytes"], 640);
    assert_eq!(explain["blocking"].as_array().unwrap().len(), 4);
    assert_eq!(explain["wait"]["strategy"], "phased");
    assert!(explain["cores"]["usable"].as_u64().unwrap() >= 1);
}

#[test]
fn tunables_are_shown_as_they_are_set() {
    let wc = plan("wc --explain --ring 64 --batch 7 --pin --memory-limit 123456 --workers 1");
    for part in [
        "tunables:       rings of 64 slots, steps of at most 7; back-off of",
        "workers:        at most 1, pinned to physical cores (fixed: as asked for)",
        "bytes together (the options allow 123456 bytes)",
    ] {
        assert!(wc.contains(part), "{part} in {wc}");
    }
    let json: serde_json::Value = serde_json::from_str(&plan("wc --explain --json --ring 64 --batch 7")).expect("JSON");
    let tunables = &json["explain"]["tunables"];
    assert_eq!((&tunables["ring"], &tunables["batch"]), (&64.into(), &7.into()));
    assert!(tunables["back_off"]["nap_us"].is_u64(), "{tunables}");
}

/// A run does what the explanation says.
#[test]
fn runs_do_what_was_explained() {
    for (program, args) in [("wc", "wc"), ("uppercase", "uppercase"), ("sleep", "sleep")] {
        let explained: serde_json::Value =
            serde_json::from_str(&plan(&format!("{program} --explain --json"))).expect("JSON");
        let seen = Scene::new().millstream(&format!("{args} --stats"), Input::Nothing);
        let stats: serde_json::Value = serde_json::from_str(&seen.stderr).expect("JSON");
        let run = &stats["runs"][0];
        let tasklets = &explained["explain"]["tasklets"];
        let explained_tasklets = tasklets["shared"].as_u64().unwrap() + tasklets["own_thread"].as_u64().unwrap();
        assert_eq!(run["tasklets"], explained_tasklets, "{program}");
        assert_eq!(run["ring_bytes"], explained["explain"]["rings"]["bytes"], "{program}");
        let blocking = run["stages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|stage| stage["name"] != "source" && stage["blocking"] == true)
            .count();
        assert_eq!(tasklets["own_thread"], blocking, "{program}");
    }
}

/// What `--json` writes is read back, and nothing changed since, whatever slots it was planned with.
#[test]
fn a_written_plan_is_compared_with_the_present_one() {
    let scene = Scene::new().file("wc.json", plan("wc --json")).file("explained.json", plan("wc --json --explain"));
    let scene = scene.file("two.json", plan("uppercase --json --shards 2"));
    let kept = "kept     lines\nkept     words\nkept     bytes\nkept     counts\n4 kept, 0 changed, 0 new, 0 dropped\n";
    for args in ["plan wc --diff wc.json", "plan wc --diff explained.json", "plan wc --ring 64 --diff wc.json"] {
        let seen = scene.millstream(args, Input::Nothing);
        assert_eq!((&*seen.text(), &*seen.stderr, seen.code), (kept, "", Some(0)), "{args}");
    }
    let seen = scene.millstream("plan uppercase --shards 3 --diff -", Input::File("two.json")).text();
    assert_eq!(seen, "changed  uppercase\n           tasklets: 2 -> 3\n0 kept, 1 changed, 0 new, 0 dropped\n");
    let seen = scene.millstream("plan uppercase --json --diff wc.json", Input::Nothing).text();
    let diff: serde_json::Value = serde_json::from_str(&seen).expect("JSON");
    let fates: Vec<_> = diff["stages"].as_array().unwrap().iter().map(|stage| &stage["fate"]).collect();
    assert_eq!(fates, ["new", "dropped", "dropped", "dropped", "dropped"]);
}

#[test]
fn a_file_without_a_plan_is_refused() {
    let plan = plan("wc --json");
    let scene = Scene::new().file("empty", "").file("later", plan.replace(r#""format": 1"#, r#""format": 2"#));
    for (file, why) in [
        ("nosuch", "No such file or directory\n"),
        ("empty", "it is not a plan as `plan --json` writes it: EOF while parsing a value at line 1 column 0\n"),
        ("later", "the plan has format 2, and this program reads format 1"),
    ] {
        let seen = scene.millstream(&format!("plan wc --diff {file}"), Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(1)), "{file}");
        assert!(seen.stderr.starts_with(&format!("millstream plan: {file}: ")), "{}", seen.stderr);
        assert!(seen.stderr.contains(why), "{}", seen.stderr);
    }
    let seen = scene.millstream("plan wc --explain --diff later", Input::Nothing);
    assert_eq!(seen.code, Some(2), "{}", seen.stderr);
}

#[test]
fn the_states_of_the_programs_have_names() {
    for program in ["wc", "uppercase", "spaces", "sleep", "panic", "idle", "copying", "pipe", "hidden-clock"] {
        assert_eq!(plan(&format!("{program} --durable")), plan(program));
    }
}
