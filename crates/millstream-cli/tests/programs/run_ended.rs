//! `run --state` whose files are read to their end: the next start goes on behind their last row.

use crate::run_posts::{request, serve};
use crate::run_state::start;
use crate::scene::{Input, Scene, Seen};
use std::fs;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Of the `run` to its end.
#[track_caller]
fn done(scene: &Scene, text: &str) {
    let args = ["--quiet", "-e", text, "--state", "state", "--snapshot-every", "3600s"];
    let seen = Seen::of(start(scene, &args).wait_with_output().expect("it ends"));
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)), "{text}");
}

fn text_of(scene: &Scene, name: &str) -> String {
    fs::read_to_string(scene.path(name)).expect("a file")
}

fn add(scene: &Scene, name: &str, text: &str) {
    let mut file = fs::File::options().append(true).create(true).open(scene.path(name)).expect("a file");
    file.write_all(text.as_bytes()).expect("room");
}

#[test]
fn outputs_are_those_of_one_run_over_what_the_file_has_got() {
    let text = "let row = csv(\"orders\"); row | count(by: .user) | jsonl(\"counts\");
                row | sum(.qty, every: 10s, at: .at) | csv(\"windows\"); row | table(\"all\"); row | map(.user)";
    let scene = Scene::new();
    add(&scene, "orders", "user,qty,at\nann,1,0\nbo,2,5\n");
    done(&scene, text);
    let before = ["out", "counts", "windows", "all"].map(|name| text_of(&scene, name));
    assert!(before[1].contains("\"bo\",\"count\":1"), "{before:?}");
    // Nothing is new.
    done(&scene, text);
    assert_eq!(["out", "counts", "windows", "all"].map(|name| text_of(&scene, name)), before);
    let snapshots = scene.millstream("snapshots state", Input::Nothing);
    let lines = snapshots.stdout.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines > 2, "{}", String::from_utf8_lossy(&snapshots.stdout));
    add(&scene, "orders", "ann,4,7\ncy,8,12\n");
    done(&scene, text);
    let one = Scene::new().file("orders", text_of(&scene, "orders"));
    done(&one, text);
    for name in ["out", "counts", "windows", "all"] {
        assert_eq!(text_of(&scene, name), text_of(&one, name), "{name}");
    }
}

#[test]
fn rows_are_posted_once_and_new_ones_with_another_key() {
    let posted: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let of_server = posted.clone();
    let address = serve(move |mut stream| {
        while let Some((head, body)) = request(&mut stream) {
            let body = String::from_utf8(body).expect("it is text");
            of_server.lock().expect("a lock").push((head["idempotency-key"].clone(), body));
            if stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
                return;
            }
        }
    });
    let (scene, text) = (Scene::new(), format!("jsonl(\"r\") | jsonl(\"http://{address}/\")"));
    add(&scene, "r", "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    done(&scene, &text);
    done(&scene, &text);
    add(&scene, "r", "{\"n\":4}\n");
    done(&scene, &text);
    let posted = posted.lock().expect("a lock");
    let [(first, three), (second, fourth)] = &posted[..] else { panic!("{posted:?}") };
    assert_eq!((&**three, &**fourth), ("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n", "{\"n\":4}\n"));
    assert_ne!(first, second);
}

#[test]
fn an_edited_text_gets_only_the_new_rows() {
    let scene = Scene::new();
    for version in 1..=3 {
        add(&scene, "in.log", &format!("{{\"n\":{version}}}\n"));
        done(&scene, &format!("let r = jsonl(\"in.log\"); r | map({{n, ver: {version}}})"));
    }
    assert_eq!(text_of(&scene, "out"), "{\"n\":1,\"ver\":1}\n{\"n\":2,\"ver\":2}\n{\"n\":3,\"ver\":3}\n");
}

/// It is read again as a whole, with all that the newest snapshot does not have.
#[test]
fn a_last_line_without_its_end_has_no_snapshot_behind_it() {
    let (scene, text) = (Scene::new(), "let r = jsonl(\"r\"); r | count | jsonl(\"n\"); r | map(.n)");
    for (more, out) in
        [("{\"n\":1}\n", "1\n"), ("{\"n\":2", "1\n"), ("5}\n{\"n\":3}", "1\n25\n3\n"), ("\n", "1\n25\n3\n")]
    {
        add(&scene, "r", more);
        let args = ["--quiet", "-e", text, "--state", "state", "--snapshot-every", "3600s"];
        start(&scene, &args).wait_with_output().expect("it ends");
        assert!(text_of(&scene, "out").starts_with(out), "{more}: {}", text_of(&scene, "out"));
    }
    assert_eq!((text_of(&scene, "out"), text_of(&scene, "n")), ("1\n25\n3\n".into(), "{\"count\":3}\n".into()));
}
