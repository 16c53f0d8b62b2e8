//! `upgrade ADDR FILE.mill` to a text with a sink that posts to a URL.

use crate::run_posts::{request, serve};
use crate::scene::{PATIENCE, Scene};
use crate::upgrade_run::Shown;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn a_text_that_replaces_another_can_post_its_rows() {
    let posted: Arc<Mutex<Vec<u8>>> = Arc::default();
    let of_server = posted.clone();
    let address = serve(move |mut stream| {
        while let Some((_, body)) = request(&mut stream) {
            of_server.lock().expect("a lock").extend(body);
            if stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
                return;
            }
        }
    });
    let old = "let row = jsonl(\"log\", follow: true); row | jsonl(\"all\")";
    let new = format!("{old}; row | where(.n > 2) | jsonl(\"http://{address}/in\")");
    let row = |n: u8| format!("{{\"n\":{n}}}\n");
    for state in ["", "--state state"] {
        posted.lock().expect("a lock").clear();
        let scene = Scene::new().file("log", row(1)).file("p.mill", old);
        let shown = Shown::run(scene, &format!("{state} --accept-upgrades p.mill"));
        let encrypted = new.replace("http://", "https://");
        for check in ["--check", ""] {
            let seen = shown.upgrade(&encrypted, check);
            let why = "rows can be posted only to http:// addresses, without encryption";
            assert!(seen.stderr.contains(why) && seen.code == Some(4), "{state} {check}: {seen:?}");
        }
        // To the URL, to the file alone, and to the URL again.
        for (text, rows, all) in [(&*new, [2, 3], row(3)), (old, [4, 5], row(3)), (&new, [2, 6], row(3) + &row(6))] {
            for check in ["--check", ""] {
                let seen = shown.upgrade(text, check);
                assert_eq!((&*seen.stderr, seen.code), ("", Some(0)), "{state} {check}: {seen:?}");
            }
            shown.append("log", &rows.map(row).concat());
            let begun = Instant::now();
            while *posted.lock().expect("a lock") != all.as_bytes() {
                let posted = String::from_utf8_lossy(&posted.lock().expect("a lock")).into_owned();
                assert!(begun.elapsed() < PATIENCE, "{state}: {posted:?} is not {all:?}");
                sleep(Duration::from_millis(5));
            }
            // Rows of the middle text must come out before the next change.
            shown.shows("all", &shown.text_of("log"));
        }
        assert_eq!(shown.end().1, Some(143), "{state}");
    }
}
