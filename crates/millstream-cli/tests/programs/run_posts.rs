//! `run --state` with a source at a URL, and with sinks that post to one.

use crate::scene::{Input, PATIENCE, Scene, Seen};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

fn start(scene: &Scene) -> Child {
    let out = File::options().append(true).create(true).open(scene.path("out")).expect("a file");
    let mut command = scene.command("millstream", "run --quiet p.mill --state state --snapshot-every 1");
    command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).spawn().expect("it starts")
}

fn whole(scene: &Scene) -> Seen {
    Seen::of(start(scene).wait_with_output().expect("it ends"))
}

fn kill(mut child: Child) {
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
}

fn rows(rows: usize) -> String {
    (0..rows).map(|n| format!("{{\"n\":{n},\"pad\":\"{}\"}}\n", "x".repeat(90))).collect()
}

/// The head of a request, and its body; `None` if the connection has ended.
pub(crate) fn request(stream: &mut BufReader<TcpStream>) -> Option<(HashMap<String, String>, Vec<u8>)> {
    let mut head = HashMap::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) => _ = head.insert(name.to_ascii_lowercase(), value.to_owned()),
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    let length = head.get("content-length").map_or(0, |length| length.parse().expect("a length"));
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Answers each connection on its own thread.
pub(crate) fn serve(answer: impl Fn(BufReader<TcpStream>) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (address, answer) = (listener.local_addr().expect("an address"), Arc::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || answer(BufReader::new(stream)));
        }
    });
    address
}

/// A key, and the body that was posted with it.
type Body = (String, Vec<u8>);

#[test]
fn a_repeated_body_has_the_key_that_it_had() {
    // By key, in the order of arrival.
    let taken: Arc<Mutex<Vec<Body>>> = Arc::default();
    let (of_server, repeated) = (taken.clone(), Arc::new(AtomicUsize::new(0)));
    let count = repeated.clone();
    let address = serve(move |mut stream| {
        while let Some((head, body)) = request(&mut stream) {
            let key = head["idempotency-key"].clone();
            let mut taken = of_server.lock().expect("a lock");
            match taken.iter().find(|(known, _)| *known == key) {
                Some((_, known)) => {
                    assert!(*known == body, "{key}: another body");
                    count.fetch_add(1, Ordering::Relaxed);
                }
                None => taken.push((key, body)),
            }
            drop(taken);
            sleep(Duration::from_millis(8));
            if stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
                return;
            }
        }
    });
    let text =
        format!("let row = jsonl(\"rows\"); row | where(.n % 3 > 0) | jsonl(\"http://{address}/in\"); row | count");
    let scene = Scene::new().file("p.mill", text).file("rows", rows(30_000));
    let bodies = || taken.lock().expect("a lock").len();
    for _ in 0..6 {
        let (since, had, child) = (Instant::now(), bodies(), start(&scene));
        while bodies() < had + 4 {
            assert!(since.elapsed() < PATIENCE, "nothing is posted");
            sleep(Duration::from_millis(1));
        }
        kill(child);
    }
    let seen = whole(&scene);
    // A run that is killed while it stores a snapshot leaves an unfinished one.
    let said: Vec<&str> = seen.stderr.lines().filter(|line| !line.contains(".unfinished")).collect();
    assert_eq!((said, seen.code), (vec![], Some(0)));
    let expected: String =
        rows(30_000).lines().enumerate().filter(|(n, _)| n % 3 > 0).map(|(_, row)| format!("{row}\n")).collect();
    let posted: Vec<u8> = taken.lock().expect("a lock").iter().flat_map(|(_, body)| body.clone()).collect();
    assert!(posted == expected.as_bytes(), "other rows are posted");
    assert!(repeated.load(Ordering::Relaxed) > 0, "nothing was repeated");
    assert_eq!(fs::read_to_string(scene.path("out")).expect("an output"), "{\"count\":30000}\n");
}

#[test]
fn rows_that_cannot_be_posted_end_the_run_and_the_next_one_posts_them() {
    let refuses = Arc::new(AtomicUsize::new(1));
    let (posted, of_server) = (Arc::new(AtomicUsize::new(0)), refuses.clone());
    let count = posted.clone();
    let address = serve(move |mut stream| {
        while request(&mut stream).is_some() {
            let refuses = of_server.load(Ordering::Relaxed) > 0;
            let status = if refuses { "403 Forbidden" } else { "200 OK" };
            count.fetch_add(usize::from(!refuses), Ordering::Relaxed);
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            if stream.get_mut().write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    });
    let scene =
        Scene::new().file("p.mill", format!("jsonl(\"rows\") | jsonl(\"http://{address}/\")")).file("rows", rows(10));
    let seen = whole(&scene);
    let why = format!("http://{address}/: the server answered with status 403");
    assert!(seen.stderr.contains(&why) && seen.code != Some(0), "{seen:?}");
    refuses.store(0, Ordering::Relaxed);
    let seen = whole(&scene);
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
    assert_eq!(posted.load(Ordering::Relaxed), 1);
}

#[test]
fn a_url_is_read_again_up_to_the_place() {
    // The file at the server, and how many bytes of it arrive.
    let served = Arc::new(Mutex::new((rows(20_000), 1_500_000)));
    let has = served.clone();
    let address = serve(move |mut stream| {
        request(&mut stream);
        let (body, some) = has.lock().expect("a lock").clone();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        let sent = stream.get_mut().write_all((head + &body[..some.min(body.len())]).as_bytes());
        // The rest never comes: this waits until the other end closes.
        let _ = sent.and_then(|()| stream.read(&mut [0]));
    });
    let text = format!("let row = jsonl(\"http://{address}/rows\"); row | map(.n); row | sum(.n) | jsonl(\"sum\")");
    let scene = Scene::new().file("p.mill", text);
    let lines = || fs::read_to_string(scene.path("out")).unwrap_or_default().lines().count();
    for _ in 0..3 {
        let (since, child) = (Instant::now(), start(&scene));
        while lines() < 10_000 {
            assert!(since.elapsed() < PATIENCE, "{} lines", lines());
            sleep(Duration::from_millis(2));
        }
        // A snapshot, and further starts from it.
        sleep(Duration::from_millis(50));
        kill(child);
    }
    *served.lock().expect("a lock") = (rows(20_000).replace("\"pad\":\"x", "\"pad\":\"y"), usize::MAX);
    let other = whole(&scene);
    assert!(other.stderr.contains("/rows': its bytes before byte ") && other.code == Some(1), "{other:?}");
    *served.lock().expect("a lock") = (rows(20_000), usize::MAX);
    let seen = whole(&scene);
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
    let expected: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    assert!(fs::read_to_string(scene.path("out")).expect("an output") == expected, "other rows");
    assert_eq!(fs::read_to_string(scene.path("sum")).expect("an output"), "{\"sum\":199990000}\n");
    let seen = scene.millstream("state state --at end --stage sum", Input::Nothing);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
}
