use crate::scene::{Input, PATIENCE, Scene, Seen, ended};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
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
fn a_socket_may_have_any_name() {
    let scene = Scene::new();
    let expected = run(&scene, SMALL);
    for name in [b"master".as_slice(), b"m\xff"] {
        let mut command = scene.command("millstream", &format!("{SMALL} --workers 2 --transport unix --listen"));
        command.arg(OsStr::from_bytes(name));
        assert_eq!(scene.run(command, Input::Nothing), expected, "{}", name.escape_ascii());
    }
}

/// An output that cannot be written ends the process.
#[test]
fn a_run_that_is_cut_short_leaves_no_temporary_socket() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("tmp")).unwrap();
    let mut command = scene.command("millstream", &format!("{SMALL} --workers 1 --transport unix"));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let status = command.env("TMPDIR", scene.path("tmp")).stdout(full).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(1));
    assert_eq!(std::fs::read_dir(scene.path("tmp")).unwrap().count(), 0);
}

/// A signal, or the end of the terminal, while it waits for workers.
#[test]
fn a_run_that_ends_before_its_rounds_leaves_no_temporary_socket() {
    let scene = Scene::new();
    for (name, code) in [("-TERM", Some(143)), ("-INT", Some(130)), ("-HUP", None)] {
        let tmp = scene.path(name);
        std::fs::create_dir(&tmp).unwrap();
        // Under `nohup` the tests, and therefore the program, would ignore the signal.
        let mut command = scene.command("env", "--default-signal=HUP");
        command.arg(env!("CARGO_BIN_EXE_millstream")).args(SMALL.split(' ')).args("--transport unix".split(' '));
        command.args(["--workers", "0"]).env("MILLSTREAM_SECRET", "among ourselves").env("TMPDIR", &tmp);
        let mut master = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let entries = || std::fs::read_dir(&tmp).unwrap().map(|entry| entry.unwrap().path());
        wait_until("the master listens", || entries().any(|dir| dir.join("master").exists()));
        signal(name, master.id());
        assert_eq!(master.wait().unwrap().code(), code, "{name}");
        assert_eq!(entries().count(), 0, "{name}");
    }
}

/// A supervisor starts a killed master again.
#[test]
fn a_killed_master_leaves_no_socket_that_is_in_the_way() {
    let scene = Scene::new();
    let args = format!("{SMALL} --transport unix --listen ./master");
    let mut command = scene.command("millstream", &format!("{args} --workers 0"));
    command.env("MILLSTREAM_SECRET", "among ourselves").stdout(Stdio::null()).stderr(Stdio::null());
    let mut master = command.spawn().unwrap();
    wait_until("the master listens", || scene.path("master").exists());
    kill(master.id());
    master.wait().unwrap();
    assert!(scene.path("master").exists());
    assert_eq!(run(&scene, &format!("{args} --workers 2")), run(&scene, SMALL));
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
        for line in ["worker   evolved   working s   waiting s", "from answer to next request, "] {
            assert!(seen.stderr.contains(line), "{}", seen.stderr);
        }
    }
}

#[test]
fn the_activity_of_all_workers_is_written_as_json() {
    let scene = Scene::new();
    run(&scene, &format!("{SMALL} --workers 2 --stats stats.json"));
    let stats: serde_json::Value = serde_json::from_slice(&std::fs::read(scene.path("stats.json")).unwrap()).unwrap();
    let stats = &stats["runs"][0];
    let workers = stats["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2);
    let evolved: u64 = workers.iter().map(|worker| worker["evolved"].as_u64().unwrap()).sum();
    assert_eq!(stats["counts"]["evolved"].as_u64(), Some(evolved));
    assert!(workers.iter().all(|worker| worker["working"].as_f64().unwrap() >= 0.0), "{stats}");
    let steps = stats["latency"]["steps"].as_array().unwrap();
    assert_eq!(steps.iter().map(|step| step[1].as_u64().unwrap()).sum::<u64>(), stats["latency"]["count"]);
}

#[test]
fn a_run_that_fails_leaves_no_report_of_an_earlier_one() {
    let scene = Scene::new();
    let args = format!("{SMALL} --workers 1 --stats stats.json");
    run(&scene, &args);
    assert!(scene.path("stats.json").exists());
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let status = scene.command("millstream", &args).stdout(full).stderr(Stdio::null()).status().unwrap();
    assert_eq!((status.code(), scene.path("stats.json").exists()), (Some(1), false));
    // The first checkpoint cannot be written.
    std::fs::create_dir_all(scene.path("kept/round-000000001.unfinished")).unwrap();
    assert_eq!(scene.millstream(&format!("{args} --resume kept"), Input::Nothing).code, Some(1));
    let stats: serde_json::Value = serde_json::from_slice(&std::fs::read(scene.path("stats.json")).unwrap()).unwrap();
    let failure = stats["runs"][0]["failure"].as_str().unwrap();
    assert!(failure.starts_with("cannot write the checkpoint kept/round-000000001.checkpoint: "), "{failure}");
}

/// The processes that this one has started and that still run.
fn children(id: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let parent = |child: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut words = rest.split(' ');
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
    wait_until("workers are there", || !checkpoints(&scene, "kept").is_empty() && children(master.id()).len() == 2);
    let workers = children(master.id());
    // Both are killed, one after the other, and each is replaced.
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
    let output = master.wait_with_output().unwrap();
    // The master may have finished before.
    if output.status.code() != Some(0) {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // A worker without the master's welcome cannot reach the master; for the others it is gone.
        let lost = |line: &str| {
            line.starts_with("millstream evolve-worker: the master at 127.0.0.1:") && line.contains(" is gone (")
                || line.starts_with("millstream evolve-worker: cannot reach the master at 127.0.0.1:")
        };
        assert!(!said.is_empty() && said.lines().all(lost), "{said}");
    }
    assert_eq!(run(&scene, &over_tcp), expected);
}

#[test]
fn a_worker_can_be_started_by_hand() {
    let scene = Scene::new();
    let expected = run(&scene, SMALL);
    let mut command = scene.command("millstream", &format!("{SMALL} --transport unix --listen ./master --workers 0"));
    let master =
        command.env("MILLSTREAM_SECRET", "among ourselves").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    wait_until("the master listens", || scene.path("master").exists());
    let join = |secret: &str| {
        let mut worker = scene.command("millstream", "evolve-worker --connect ./master");
        worker.env("MILLSTREAM_SECRET", secret).stderr(Stdio::piped()).spawn().unwrap()
    };
    let stranger = join("something wrong").wait_with_output().unwrap();
    assert_eq!(stranger.status.code(), Some(1));
    let said = String::from_utf8_lossy(&stranger.stderr).into_owned();
    assert!(said.contains("the master refuses: the worker does not know the secret"), "{said}");
    let mut worker = join("among ourselves");
    let output = master.unwrap().wait_with_output().unwrap();
    assert_eq!((output.stdout, output.status.code()), (expected.stdout, Some(0)));
    assert!(ended(&mut worker).success());
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let scene = Scene::new();
    run(&scene, &format!("{SMALL} --resume kept"));
    let seen = scene.millstream(&format!("{SMALL} --resume kept --seed 9"), Input::Nothing);
    assert_eq!(seen.code, Some(1));
    let message = "millstream evolve: kept holds --model epidemic --states 60 --seed 1 --work 0: \
                   use these flags, or another directory\n";
    assert!(seen.stderr.contains(message), "{}", seen.stderr);
}

/// The checkpoints: two at most, or three for a moment.
fn checkpoints(scene: &Scene, dir: &str) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(scene.path(dir)).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = all.filter(|path| path.extension().is_some_and(|end| end == "checkpoint")).collect();
    found.sort();
    found
}

/// A run that is long enough for something to happen during it.
fn longer() -> String {
    LONG.replace("--rounds 12", "--rounds 16")
}

fn signal(name: &str, id: u32) {
    assert!(Command::new("kill").args([name, &id.to_string()]).status().unwrap().success());
}

/// Neither the stopped worker nor the others, which wait for it, end the run.
#[test]
fn one_stopped_worker_changes_nothing() {
    let scene = Scene::new();
    let expected = run(&scene, &longer());
    let four = longer().replace("--workers 2", "--workers 4");
    let master = start(&scene, &format!("{four} --transport unix --resume kept --patience 1"));
    wait_until("a round is done", || !checkpoints(&scene, "kept").is_empty());
    let stopped = children(master.id()).into_iter().next().expect("a worker");
    signal("-STOP", stopped);
    let output = master.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said, output.stdout), (Some(0), expected.stderr, expected.stdout));
}

/// The master is stopped for longer than its patience, and so are its workers, which are threads.
#[test]
fn a_stopped_master_continues() {
    let scene = Scene::new();
    let expected = run(&scene, &longer());
    let master = start(&scene, &format!("{} --resume kept --patience 1", longer()));
    wait_until("a round is done", || !checkpoints(&scene, "kept").is_empty());
    signal("-STOP", master.id());
    sleep(Duration::from_millis(2_500));
    signal("-CONT", master.id());
    let output = master.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said, output.stdout), (Some(0), expected.stderr, expected.stdout));
}

/// A row is printed when its round has ended.
#[test]
fn finished_rounds_are_out_after_an_interrupt() {
    let scene = Scene::new();
    let endless = LONG.replace("--rounds 12", "--rounds 9999");
    let master = start(&scene, &format!("{endless} --resume kept"));
    wait_until("two rounds are done", || checkpoints(&scene, "kept").len() > 1);
    signal("-INT", master.id());
    let output = master.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let (rows, said) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned());
    let number = rows.lines().count() - 1;
    assert!(number >= 2, "{rows}");
    assert!(said.contains(&format!("interrupted after {number} of 9999 rounds")), "{said}");
}

/// The time that a process has worked, in hundredths of a second; `None` once it has ended.
fn worked(id: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let words: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
    (words[0] != "Z").then(|| words[11].parse().ok())?
}

#[test]
fn a_signal_in_the_last_round_has_nothing_to_end() {
    let scene = Scene::new();
    let args = "evolve --model linear --states 4 --rounds 1 --workers 1 --quiet --work 300000";
    let mut master = start(&scene, args);
    let (mut rows, mut header) = (BufReader::new(master.stdout.take().unwrap()), String::new());
    rows.read_line(&mut header).unwrap();
    let before = worked(master.id());
    // Then the round has begun.
    wait_until("it works", || worked(master.id()).is_none_or(|now| before.is_none_or(|before| now >= before + 5)));
    // It may have ended.
    drop(Command::new("kill").args(["-INT", &master.id().to_string()]).stderr(Stdio::null()).status());
    let mut text = String::new();
    rows.read_to_string(&mut text).unwrap();
    assert!(text.contains("\nrmse estimate exact "), "{text}");
    assert_eq!(master.wait().unwrap().code(), Some(0));
}

#[test]
fn a_short_secret_is_refused() {
    let scene = Scene::new();
    for args in ["evolve-worker --connect ./nowhere", "evolve --model linear --transport unix --workers 1"] {
        for secret in ["", "s", "seven.."] {
            let output = scene.command("millstream", args).env("MILLSTREAM_SECRET", secret).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let why = format!("MILLSTREAM_SECRET has {} characters and needs at least 8", secret.len());
            assert!(output.status.code() == Some(2) && said.contains(&why), "{said}");
        }
    }
}

#[test]
fn checkpoints_have_one_master_and_damage_is_reported() {
    let scene = Scene::new();
    let endless = start(&scene, &format!("{SMALL} --resume kept").replace("--rounds 8", "--rounds 9999"));
    wait_until("it has begun", || !checkpoints(&scene, "kept").is_empty());
    let seen = scene.millstream(&format!("{SMALL} --resume kept"), Input::Nothing);
    kill(endless.id());
    drop(endless.wait_with_output());
    assert!(seen.code == Some(1) && seen.stderr.contains("kept is locked: another process"), "{seen:?}");

    let expected = run(&scene, &format!("{SMALL} --resume other"));
    std::fs::write(checkpoints(&scene, "other").last().unwrap(), "damage").unwrap();
    let seen = run(&scene, &format!("{SMALL} --resume other"));
    let damaged = "millstream evolve: other/round-000000008.checkpoint is damaged; \
                   the run continues from the checkpoint before it\n";
    assert_eq!((seen.stderr, seen.stdout), (format!("{damaged}{}", expected.stderr), expected.stdout));
}

#[test]
fn no_rounds_are_no_error() {
    let scene = Scene::new();
    let seen = run(&scene, "evolve --model linear --states 10 --rounds 0 --workers 1 --quiet");
    assert_eq!(
        seen.text(),
        "round\ttruth\tobservation\testimate\texact\nrmse estimate truth 0.000000\n\
         rmse exact truth 0.000000\nrmse estimate exact 0.000000\n"
    );
}

#[test]
fn wrong_use_is_refused() {
    let scene = Scene::new().file("notes", "mine");
    for (args, code, message) in [
        ("evolve --model linear --workers 0", 2, "--workers 0 needs a socket"),
        ("evolve --model linear --listen here", 2, "--listen needs --transport tcp or unix"),
        ("evolve --model linear --states 0", 2, "must be at least 1"),
        ("evolve --model linear --workers 0 --transport tcp", 2, "MILLSTREAM_SECRET is not set: workers that join"),
        ("evolve --model linear --plot no/such.svg", 1, "no/such.svg: No such file or directory"),
        ("evolve --model linear --plot notes", 2, "--plot would overwrite notes, which is not a picture"),
        ("evolve --model linear --stats no/such.json", 1, "no/such.json: No such file or directory"),
        ("evolve --model square", 2, "possible values: linear, volatility, epidemic"),
        ("evolve-worker --connect ./nowhere", 2, "MILLSTREAM_SECRET is not set"),
        ("evolve --model linear --transport tcp --listen nowhere:x", 1, "cannot listen at nowhere:x"),
    ] {
        let seen = scene.millstream(args, Input::Nothing);
        assert!(seen.code == Some(code) && seen.stderr.contains(message), "{args}: {seen:?}");
    }
    assert_eq!(std::fs::read_to_string(scene.path("notes")).unwrap(), "mine");
}
