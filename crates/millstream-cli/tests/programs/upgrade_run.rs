//! `upgrade ADDR FILE.mill`: a run goes on with another text.

use crate::scene::{Input, PATIENCE, Scene, Seen, ended};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A run of `p.mill`, with the address of its page.
pub(crate) struct Shown {
    pub(crate) scene: Scene,
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
}

/// Ends a process that a test has left.
impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

impl Shown {
    pub(crate) fn run(scene: Scene, args: &str) -> Self {
        let mut command = scene.command("millstream", &format!("run --page 127.0.0.1:0 {args}"));
        let out = File::create(scene.path("stdout")).expect("a file");
        let mut child = command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).spawn().expect("it starts");
        let (mut stderr, mut line) = (BufReader::new(child.stderr.take().expect("a pipe")), String::new());
        stderr.read_line(&mut line).expect("a line");
        let (_, address) = line.trim().split_once(": the run is shown at http://").expect("an address");
        let address = address.trim_end_matches('/').to_owned();
        Shown { scene, child, stderr, address }
    }

    /// Puts this text into `p.mill`, and asks the run to go on with it.
    pub(crate) fn upgrade(&self, text: &str, args: &str) -> Seen {
        fs::write(self.scene.path("p.mill"), text).expect("a file");
        let begun = Instant::now();
        loop {
            let seen = self.scene.millstream(&format!("upgrade {} p.mill {args}", self.address), Input::Nothing);
            // The first rows may come out before the change.
            if !seen.stderr.contains("the run has not begun") || begun.elapsed() > PATIENCE {
                return seen;
            }
            sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn append(&self, file: &str, rows: &str) {
        let mut file = OpenOptions::new().append(true).open(self.scene.path(file)).expect("the file");
        file.write_all(rows.as_bytes()).expect("it can be written");
    }

    pub(crate) fn text_of(&self, file: &str) -> String {
        fs::read_to_string(self.scene.path(file)).unwrap_or_default()
    }

    /// Waits until a file has this text.
    #[track_caller]
    pub(crate) fn shows(&self, file: &str, text: &str) {
        let start = Instant::now();
        while self.text_of(file) != text {
            assert!(start.elapsed() < PATIENCE, "{file}: {:?} is not {text:?}", self.text_of(file));
            sleep(Duration::from_millis(5));
        }
    }

    /// Ends the run by a signal. Returns its exit code, and its messages.
    pub(crate) fn end(mut self) -> (Scene, Option<i32>, String) {
        let kill = self.scene.command("kill", &format!("-TERM {}", self.child.id()));
        assert_eq!(self.scene.run(kill, Input::Nothing).code, Some(0));
        let code = ended(&mut self.child).code();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).expect("text");
        (std::mem::replace(&mut self.scene, Scene::new()), code, said)
    }

    /// Sends a request. Returns the status, and the body.
    fn request(&self, head: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        write!(stream, "{head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").expect("it is read");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }
}

const OLD: &str =
    "let row = jsonl(\"log\", follow: true, dead: \"bad\"); row | where(.n > 1) | map({n}) | csv(\"big\");
                   let total = row | sum(.n); total | jsonl(\"sums\"); row | map(.n)";
const NEW: &str =
    "let row = jsonl(\"log\", follow: true, dead: \"worse\"); row | where(.n > 2) | map({n}) | csv(\"big\");
                   let total = row | sum(.n); total | jsonl(\"sums\"); row | map(.k) | lines(\"keys\")";

fn rows(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|n| format!("{{\"n\":{n},\"k\":\"k{n}\"}}\n")).collect()
}

fn scene() -> Scene {
    Scene::new().file("log", rows(0..3) + "x\n").file("p.mill", OLD).file("keys", "of before\n")
}

fn followed() -> Shown {
    let shown = Shown::run(scene(), "--accept-upgrades p.mill");
    shown.shows("stdout", "0\n1\n2\n");
    shown
}

#[test]
fn every_byte_is_that_of_the_old_text_or_of_the_new_one() {
    let shown = followed();
    let begun = Instant::now();
    // The row is not JSON: it is one dead letter, even if several stages read it.
    while shown.text_of("bad").lines().count() < 1 {
        assert!(begun.elapsed() < PATIENCE, "{}", shown.text_of("bad"));
        sleep(Duration::from_millis(5));
    }
    let before = shown.text_of("bad");
    assert!(before.starts_with("{\"file\":\"log\",\"number\":4,"), "{before}");
    // A check changes nothing.
    let seen = shown.upgrade(NEW, "--check");
    assert_eq!((&*seen.stderr, seen.code), ("", Some(0)));
    let kept = "kept     csv big, with its state\n";
    assert!(seen.text().contains(kept) && seen.text().contains("kept     total, with its state\n"), "{}", seen.text());
    assert!(seen.text().contains("dropped  print (scan_finish), with its state\n"), "{}", seen.text());
    assert_eq!(shown.text_of("keys"), "of before\n");

    let seen = shown.upgrade(NEW, "");
    assert_eq!((&*seen.stderr, seen.code), ("", Some(0)));
    assert!(seen.text().starts_with("version 2 from number "), "{}", seen.text());
    assert!(seen.text().ends_with(" ms, 2 states moved\n"), "{}", seen.text());
    // The file belongs to the new text from now on.
    assert_eq!((shown.text_of("keys").as_str(), shown.text_of("worse").as_str()), ("", ""));
    shown.append("log", &(rows(3..5) + "y\n"));
    shown.shows("keys", "k3\nk4\n");
    shown.shows("worse", &before.replace("number\":4", "number\":7").replace("\"x\"", "\"y\""));
    // And back to the old text, which appends.
    let seen = shown.upgrade(OLD, "--json");
    let report: serde_json::Value = serde_json::from_str(&seen.text()).expect("JSON");
    assert_eq!((&report["version"], &report["states_moved"]), (&3.into(), &2.into()), "{report}");
    assert!(report["pauses"].as_array().is_some_and(|pauses| !pauses.is_empty()), "{report}");
    shown.append("log", &rows(5..6));
    shown.shows("stdout", "0\n1\n2\n5\n");

    let (scene, code, said) = shown.end();
    assert_eq!(code, Some(143), "{said}");
    assert_eq!(said.matches("millstream run: p.mill: version ").count(), 2, "{said}");
    let read = |name: &str| fs::read_to_string(scene.path(name)).expect("a file");
    assert_eq!(read("big"), "n\n2\n3\n4\n5\n");
    assert_eq!(read("sums"), "{\"sum\":15}\n");
    assert_eq!((read("keys").as_str(), read("stdout").as_str()), ("k3\nk4\n", "0\n1\n2\n5\n"));
    assert_eq!(read("bad"), before);
}

#[test]
fn a_text_that_would_lose_or_mix_a_state_is_refused() {
    let shown = followed();
    for (text, args, code, said) in [
        (
            OLD.replace("sum(.n)", "sum(.n * 2)"),
            "",
            4,
            "total: its parameter `of` was `.n` and is now `.n * 2`: `keep total`",
        ),
        (
            OLD.replace("sum(.n)", "count"),
            "",
            4,
            "total: its state is that of `sum(.n)`, and `count` keeps a different state",
        ),
        (OLD.replace("total", "all"), "", 4, "total: the new text has no such stage to take the state of `sum(.n)`"),
        (OLD.replace("\"log\"", "\"other\""), "", 4, "the run cannot add the source `jsonl(\"other\""),
        (OLD.replace("map(.n)", "mpa(.n)"), "", 2, "did you mean `map`?"),
        (OLD.replace("\"sums\"", "\"log\""), "", 2, "log is read and would be overwritten"),
        (OLD.replace("\"sums\"", "\"./big\""), "", 2, "./big and big are the same file: each output needs its own"),
        (OLD.replace("\"sums\"", "\"./sums\""), "", 2, "./sums is the file sums, which the run writes"),
        (OLD.replace("\"sums\"", "\"no/such\""), "", 4, "no/such: No such file or directory"),
        (OLD.to_owned(), "--keep nosuch", 2, "no stage \"nosuch\" keeps a state; the stages that do are csv big"),
    ] {
        for check in ["--check", ""] {
            let seen = shown.upgrade(&text, &format!("{args} {check}"));
            let all = seen.text() + &seen.stderr;
            assert!(all.contains(said) && seen.code == Some(code), "{text} {check}: {seen:?}");
        }
    }
    assert!(!shown.scene.path("other").exists());
    for (text, args) in [
        (OLD.replace("sum(.n)", "sum(.n * 2)"), "--keep total"),
        (format!("{}; keep total;", OLD.replace("sum(.n)", "sum(.n * 2)")), ""),
        (OLD.replace("sum(.n)", "count"), "--drop total"),
        (OLD.replace("total", "all"), "--drop total"),
    ] {
        let seen = shown.upgrade(&text, &format!("{args} --check"));
        assert_eq!((&*seen.stderr, seen.code), ("", Some(0)), "{text}: {}", seen.text());
    }
    // The run has gone on as before.
    shown.append("log", &rows(3..4));
    shown.shows("stdout", "0\n1\n2\n3\n");
    let (scene, code, _) = shown.end();
    assert_eq!(
        (code, fs::read_to_string(scene.path("sums")).expect("a file")),
        (Some(143), "{\"sum\":6}\n".to_owned())
    );
}

#[test]
fn a_run_that_takes_no_text_says_so() {
    let shown = Shown::run(scene(), "p.mill");
    shown.shows("stdout", "0\n1\n2\n");
    let seen = shown.upgrade(OLD, "");
    let said = format!(
        "millstream upgrade: {}: the run was started without --accept-upgrades, so its text cannot be replaced\n",
        shown.address
    );
    assert_eq!((seen.text(), seen.stderr, seen.code), (String::new(), said, Some(4)));
    let address = shown.address.clone();
    let (scene, ..) = shown.end();
    let seen = scene.millstream(&format!("upgrade {address} p.mill"), Input::Nothing);
    assert!(seen.code == Some(1) && seen.stderr.contains("--accept-upgrades"), "{seen:?}");
    for (args, said) in [
        ("upgrade 1 p.mill --migrate a", "--migrate works only with plans"),
        ("upgrade p.mill p.mill", "--check"),
        ("run --accept-upgrades p.mill", "--page"),
        ("run --accept-upgrades --page 0 --deploy queues p.mill", "only runs on rings can go on with another text"),
        ("run --accept-upgrades --page 0 --deploy model p.mill", "use `--deploy rings`"),
        ("run --accept-upgrades --page 0.0.0.0:0 p.mill", "MILLSTREAM_TOKEN"),
    ] {
        let seen = scene.millstream(args, Input::Nothing);
        assert!(seen.code == Some(2) && seen.stderr.contains(said), "{args}: {seen:?}");
    }
    let seen = scene.millstream("upgrade p.mill p.mill --check --keep a", Input::Nothing);
    assert!(seen.code == Some(1) && seen.stderr.contains("it is not a plan as `plan --json` writes it"), "{seen:?}");
    let seen = scene.millstream("upgrade 1 nosuch.mill", Input::Nothing);
    assert!(seen.code == Some(1) && seen.stderr.contains("nosuch.mill: No such file"), "{seen:?}");
}

#[test]
fn no_page_of_a_browser_changes_a_run() {
    let shown = followed();
    let body = format!("{{\"text\":{}}}", serde_json::Value::from(OLD));
    let json = "Host: localhost\r\nContent-Type: application/json";
    for (head, status) in [
        ("POST /upgrade HTTP/1.1\r\nHost: localhost".to_owned(), 415),
        ("POST /upgrade HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain".to_owned(), 415),
        (format!("POST /upgrade HTTP/1.1\r\n{json}\r\nOrigin: http://localhost"), 403),
        (format!("POST /upgrade HTTP/1.1\r\n{}", json.replace("localhost", "example.org")), 421),
        (format!("GET /upgrade HTTP/1.1\r\n{json}"), 405),
        (format!("OPTIONS /upgrade HTTP/1.1\r\n{json}\r\nOrigin: http://example.org"), 405),
    ] {
        assert_eq!(shown.request(&head, &body).0, status, "{head}");
    }
    let head = format!("POST /upgrade HTTP/1.1\r\n{json}");
    assert_eq!(shown.request(&head, "{}").0, 400);
    assert_eq!(shown.request(&head, "[").0, 400);
    let long = format!("{{\"text\":\"{}\"}}", " ".repeat(70_000));
    let (status, answer) = shown.request(&head, &long);
    assert!(status == 422 && answer.contains("the text is longer than 65536 bytes"), "{answer}");
    assert_eq!(shown.request(&head, &body).0, 200);
    let (_, code, said) = shown.end();
    assert_eq!((code, said.matches(": version ").count()), (Some(143), 1), "{said}");
}

#[test]
fn a_change_shows_the_token_if_there_is_one() {
    let token = "0123456789abcdef";
    let scene = scene();
    let mut command = scene.command("millstream", "run --page 127.0.0.1:0 --accept-upgrades p.mill");
    let mut child = command
        .env("MILLSTREAM_TOKEN", token)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let (mut stderr, mut line) = (BufReader::new(child.stderr.take().expect("a pipe")), String::new());
    stderr.read_line(&mut line).expect("a line");
    let address = line.trim().rsplit('/').nth(1).expect("an address").to_owned();
    let upgrade = |token: Option<&str>| {
        let mut command = scene.command("millstream", &format!("upgrade {address} p.mill"));
        token.into_iter().for_each(|token| _ = command.env("MILLSTREAM_TOKEN", token));
        scene.run(command, Input::Nothing)
    };
    let begun = Instant::now();
    for (shown, code, said) in [
        (None, 4, "a change needs the token"),
        (Some("0123456789abcdeX"), 4, "a change needs the token"),
        (Some("short"), 2, "has 5 characters and needs at least"),
        (Some(token), 0, ""),
    ] {
        let mut seen = upgrade(shown);
        while seen.stderr.contains("has not begun") && begun.elapsed() < PATIENCE {
            sleep(Duration::from_millis(5));
            seen = upgrade(shown);
        }
        assert!(seen.stderr.contains(said) && seen.code == Some(code), "{shown:?}: {seen:?}");
    }
    child.kill().expect("it can be ended");
    ended(&mut child);
}

#[test]
fn a_run_that_is_over_goes_on_with_no_text() {
    let scene = Scene::new().file("log", rows(0..3)).file("p.mill", "jsonl(\"log\") | map(.n)");
    let shown = Shown::run(scene, "--page-linger 1000 --accept-upgrades p.mill");
    shown.shows("stdout", "0\n1\n2\n");
    let begun = Instant::now();
    loop {
        let seen = shown.upgrade("jsonl(\"log\") | map(.k)", "");
        assert!(seen.code == Some(4) || seen.code == Some(0) && begun.elapsed() < PATIENCE, "{seen:?}");
        if seen.stderr.ends_with(": the run is over\n") {
            break;
        }
        sleep(Duration::from_millis(5));
    }
    let (scene, ..) = shown.end();
    assert_eq!(fs::read_to_string(scene.path("stdout")).expect("a file"), "0\n1\n2\n");
}

/// The sink waits for the reader of standard output, and a change for the sink.
#[test]
fn one_change_is_made_at_a_time() {
    let text = "jsonl(\"log\", follow: true) | map(.n) | lines";
    let scene = Scene::new().file("log", rows(0..100_000)).file("p.mill", text);
    let mut command = scene.command("millstream", "run --page 127.0.0.1:0 --accept-upgrades p.mill");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let (mut stderr, mut line) = (BufReader::new(child.stderr.take().expect("a pipe")), String::new());
    stderr.read_line(&mut line).expect("a line");
    let address = line.trim().rsplit('/').nth(1).expect("an address").to_owned();
    let upgrade = |args: &str| scene.millstream(&format!("upgrade {address} p.mill {args}"), Input::Nothing);
    let begun = Instant::now();
    while upgrade("--check").code != Some(0) {
        assert!(begun.elapsed() < PATIENCE, "it does not begin");
        sleep(Duration::from_millis(5));
    }
    std::thread::scope(|scope| {
        // A check may be in progress just then.
        let first = scope.spawn(|| {
            loop {
                let seen = upgrade("");
                if !seen.stderr.contains("another change is under way") {
                    return seen;
                }
            }
        });
        loop {
            let seen = upgrade("--check");
            if seen.stderr.ends_with(": another change is under way: try again when it is over\n") {
                assert_eq!((seen.text().as_str(), seen.code), ("", Some(4)));
                break;
            }
            assert!(begun.elapsed() < PATIENCE && seen.code == Some(0), "{seen:?}");
        }
        assert!(!first.is_finished());
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let lines = scope.spawn(move || (&mut out).lines().take(100_000).map_while(Result::ok).collect::<Vec<_>>());
        let seen = first.join().expect("it ends");
        assert!(seen.text().starts_with("version 2 from number ") && seen.code == Some(0), "{seen:?}");
        let lines = lines.join().expect("it ends");
        assert!(lines.iter().enumerate().all(|(n, line)| *line == n.to_string()), "{} lines", lines.len());
        assert_eq!(lines.len(), 100_000);
    });
    child.kill().expect("it can be ended");
    ended(&mut child);
}

/// The page and `top` go on with the new version.
#[cfg(feature = "top")]
#[test]
fn the_page_and_top_show_the_new_text() {
    let shown = followed();
    assert_eq!(shown.upgrade(NEW, "").code, Some(0));
    shown.append("log", &rows(3..4));
    let begun = Instant::now();
    loop {
        let seen = shown.scene.millstream(&format!("top {}", shown.address), Input::Nothing);
        assert_eq!((seen.code, &*seen.stderr), (Some(0), ""));
        if seen.text().contains("version 2") && seen.text().contains("lines keys") {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{}", seen.text());
        sleep(Duration::from_millis(50));
    }
    let (status, plan) = shown.request("GET /plan.json HTTP/1.1\r\nHost: localhost", "");
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
    assert_eq!((status, &plan["frame"]["version"]), (200, &2.into()));
    assert_eq!(shown.end().1, Some(143));
}
