//! A pipeline that fails reports where and why in one line, and nothing else.

use crate::scene::{Input, Scene, ended};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;

#[test]
fn a_panic_is_reported_with_its_stage_and_number() {
    for at in [0, 1, 15, 16, 5_000] {
        for way in [
            "",
            "--deploy inline",
            "--workers 3",
            "--shards 3 --workers 2",
            "--deploy queues",
            "--deploy queues --ring 1 --shards 2",
            "--ring 1",
            "--wait blocking --batch 1",
        ] {
            let seen = Scene::new().millstream(&format!("panic --at {at} {way}"), Input::Nothing);
            assert_eq!(seen.stderr, format!("millstream: stage \"third\", number {at}: panicked: boom\n"), "{way}");
            assert_eq!((seen.text().as_str(), seen.code), ("", Some(3)), "{way}");
        }
    }
}

/// The requested reports cover the run up to the failure, the hash last.
#[test]
fn a_failed_run_has_its_report_and_its_hash() {
    for deploy in ["rings", "queues", "inline", "model"] {
        let seen = Scene::new().millstream(&format!("panic --at 100 --stats --hash --deploy {deploy}"), Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(3)));
        let (failure, rest) = seen.stderr.split_once('\n').expect("several lines");
        assert!(failure.ends_with("panicked: boom"), "{failure}");
        let (stats, hash) = rest.trim_end().rsplit_once('\n').expect("several lines");
        let stats: serde_json::Value = serde_json::from_str(stats).expect("JSON");
        let run = &stats["runs"][0];
        assert_eq!(format!("millstream: {}", run["failure"].as_str().unwrap()), failure);
        let count = hash.rsplit_once("count ").expect("a hash").1.parse::<u64>().unwrap();
        assert!(count <= 100, "{hash}");
        if deploy != "model" {
            assert_eq!((&run["ending"], &run["values"]), (&"failed".into(), &count.into()));
            let stages = run["stages"].as_array().unwrap();
            let third = stages.iter().find(|stage| stage["name"] == "third").expect("it was there");
            assert!(third["moved"].as_u64().unwrap() <= 100, "{third}");
        }
    }
}

#[test]
fn the_model_reports_only_the_cause() {
    let seen = Scene::new().millstream("panic --at 1000 --deploy model", Input::Nothing);
    assert_eq!(seen.stderr, "millstream: the model failed, which knows neither stage nor number: panicked: boom\n");
    assert_eq!((seen.text().as_str(), seen.code), ("", Some(3)));
}

/// Several processes may share one standard error: each message has to be one write, or their lines mix.
#[test]
fn a_message_is_one_write() {
    let scene = Scene::new();
    for args in ["wc missing", "panic --at 3"] {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let mut command = scene.command("millstream", args);
        let mut child = command.stdout(Stdio::null()).stderr(OwnedFd::from(theirs)).spawn().unwrap();
        drop(command);
        assert!(!ended(&mut child).success());
        // One datagram is one write.
        ours.set_nonblocking(true).unwrap();
        let mut written = [0; 4096];
        let length = ours.recv(&mut written).expect("a message");
        let message = String::from_utf8_lossy(&written[..length]).into_owned();
        assert!(message.starts_with("millstream") && message.ends_with('\n'), "{args}: {message:?}");
    }
}
