use crate::scene::{Input, PATIENCE, Scene, Seen, ended};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SMALL: &str = "evolve --model epidemic --states 60 --rounds 8 --quiet --hash";

fn run(scene: &Scene, args: &str) -> Seen {
    let seen = scene.millstream(args, Input::Nothing);
    assert_eq!(seen.code, Some(0), "{args}: {}", seen.stderr);
    seen
}

#[test]
fn a_filter_is_the_same_wherever_its_workers_are() {
    let scene = Scene::new();
    let expected = run(&scene, SMALL);
    assert!(expected.stderr.starts_with("hash ") && expected.stderr.ends_with(" count 480\n"), "{}", expected.stderr);
    assert!(expected.text().lines().last().unwrap().starts_with("rmse estimate truth "), "{}", expected.text());
    let ways = [
        "--workers 1",
        "--workers 7 --no-steal",
        "--workers 2 --transport tcp --batch 1",
        "--workers 3 --transport unix --backup-every 1 --no-pin",
        "--workers 2 --resume kept",
        "--workers 2 --resume kept",
    ];
    for way in ways {
        assert_eq!(run(&scene, &format!("{SMALL} {way}")), expected, "{way}");
    }
    assert_ne!(run(&scene, &format!("{SMALL} --seed 2")).stderr, expected.stderr);
}

#[test]
fn models_with_an_exact_answer_show_it() {
    let scene = Scene::new();
    for model in ["linear", "volatility"] {
        let seen =
            run(&scene, &format!("evolve --model {model} --states 300 --rounds 5 --workers 1 --plot {model}.svg"));
        let text = seen.text();
        assert!(text.starts_with("round\ttruth\tobservation\testimate\texact\n"), "{text}");
        let off = text.lines().find_map(|line| line.strip_prefix("rmse estimate exact ")).unwrap();
        assert!(off.parse::<f64>().unwrap() < 0.3, "{text}");
        assert!(std::fs::read_to_string(scene.path(&format!("{model}.svg"))).unwrap().contains(">exact<"));
        for told in ["worker   evolved   working s   waiting s", "from answer to next request, "] {
            assert!(seen.stderr.contains(told), "{}", seen.stderr);
        }
    }
}

#[test]
fn what_everybody_did_is_told_as_json() {
    let scene = Scene::new();
    run(&scene, &format!("{SMALL} --workers 2 --stats told.json"));
    let told: serde_json::Value = serde_json::from_slice(&std::fs::read(scene.path("told.json")).unwrap()).unwrap();
    let told = &told["runs"][0];
    let workers = told["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2);
    let evolved: u64 = workers.iter().map(|worker| worker["evolved"].as_u64().unwrap()).sum();
    assert_eq!(told["counts"]["evolved"].as_u64(), Some(evolved));
    assert!(workers.iter().all(|worker| worker["working"].as_f64().unwrap() >= 0.0), "{told}");
    let steps = told["latency"]["steps"].as_array().unwrap();
    assert_eq!(steps.iter().map(|step| step[1].as_u64().unwrap()).sum::<u64>(), told["latency"]["count"]);
}

/// Processes that this one has started and that are there.
fn children(id: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let parent = |child: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        let (_, behind) = stat.rsplit_once(") ")?;
        let mut words = behind.split(' ');
        (words.next()? != "Z").then(|| words.next()?.parse::<u32>().ok())?
    };
    all.filter(|child| parent(child) == Some(id)).collect()
}

fn kill(id: u32) {
    assert!(Command::new("kill").args(["-9", &id.to_string()]).status().unwrap().success());
}

pub(crate) fn start(scene: &Scene, args: &str) -> Child {
    scene.command("millstream", args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(5));
    }
}

const LONG: &str = "evolve --model epidemic --states 100 --rounds 12 --quiet --hash --work 20000 --workers 2";

#[test]
fn killed_workers_and_a_killed_master_change_nothing() {
    let scene = Scene::new();
    let expected = run(&scene, LONG);
    let over_tcp = format!("{LONG} --transport tcp --resume kept");

    let mut master = start(&scene, &over_tcp);
    let rounds = || std::fs::read_dir(scene.path("kept")).map_or(0, |kept| kept.count());
    wait_until("workers are there", || rounds() > 0 && children(master.id()).len() == 2);
    let workers = children(master.id());
    // Both, one after the other: others are started for them.
    for worker in workers {
        kill(worker);
        wait_until("another is there", || {
            let there = children(master.id());
            there.len() == 2 && !there.contains(&worker) || master.try_wait().unwrap().is_some()
        });
    }
    if master.try_wait().unwrap().is_none() {
        kill(master.id());
    }
    let told = master.wait_with_output().unwrap();
    // Unless it was done before.
    if told.status.code() != Some(0) {
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(said.contains("millstream evolve-worker: the master at 127.0.0.1:"), "{said}");
        assert!(said.contains(" is gone ("), "{said}");
    }
    assert_eq!(run(&scene, &over_tcp), expected);
}

#[test]
fn a_worker_can_be_started_by_hand() {
    let scene = Scene::new();
    let expected = run(&scene, SMALL);
    let mut command = scene.command("millstream", &format!("{SMALL} --transport unix --listen ./master --workers 0"));
    let master = command.env("MILLSTREAM_SECRET", "between us").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    wait_until("the master listens", || scene.path("master").exists());
    let join = |secret: &str| {
        let mut worker = scene.command("millstream", "evolve-worker --connect ./master");
        worker.env("MILLSTREAM_SECRET", secret).stderr(Stdio::piped()).spawn().unwrap()
    };
    let stranger = join("wrong").wait_with_output().unwrap();
    assert_eq!(stranger.status.code(), Some(1));
    let said = String::from_utf8_lossy(&stranger.stderr).into_owned();
    assert!(said.contains("the master refuses: the worker does not know the secret"), "{said}");
    let mut worker = join("between us");
    let told = master.unwrap().wait_with_output().unwrap();
    assert_eq!((told.stdout, told.status.code()), (expected.stdout, Some(0)));
    assert!(ended(&mut worker).success());
}

#[test]
fn a_checkpoint_of_something_else_is_refused() {
    let scene = Scene::new();
    run(&scene, &format!("{SMALL} --resume kept"));
    let seen = scene.millstream(&format!("{SMALL} --resume kept --seed 9"), Input::Nothing);
    assert_eq!(seen.code, Some(1));
    let told = "millstream evolve: kept holds --model epidemic --states 60 --seed 1 --work 0: go on with these, or use another directory\n";
    assert!(seen.stderr.contains(told), "{}", seen.stderr);
}

#[test]
fn wrong_use_is_refused() {
    let scene = Scene::new();
    for (args, code, told) in [
        ("evolve --model linear --workers 0", 2, "--workers 0 needs a socket"),
        ("evolve --model linear --listen here", 2, "--listen needs --transport tcp or unix"),
        ("evolve --model square", 2, "possible values: linear, volatility, epidemic"),
        ("evolve-worker --connect ./nobody", 2, "MILLSTREAM_SECRET is not set"),
        ("evolve --model linear --transport tcp --listen nowhere:x", 1, "cannot listen at nowhere:x"),
    ] {
        let seen = scene.millstream(args, Input::Nothing);
        assert!(seen.code == Some(code) && seen.stderr.contains(told), "{args}: {seen:?}");
    }
}
