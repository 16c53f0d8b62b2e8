//! `millstream top`, next to a program with a page.

use crate::scene::{Input, PATIENCE, Scene, ended};
use millstream_testkit::programs::skipped;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A program with a page, and the address of the page.
fn shown(scene: &Scene, args: &str) -> (Child, BufReader<ChildStderr>, String) {
    let mut command = scene.command("millstream", args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let (mut stderr, mut line) = (BufReader::new(child.stderr.take().unwrap()), String::new());
    stderr.read_line(&mut line).unwrap();
    let (program, address) = line.trim().split_once(": the run is shown at http://").unwrap();
    let address = address.trim_end_matches('/');
    assert!(program.starts_with("millstream "), "{line}");
    (child, stderr, address.to_owned())
}

/// The output of `top`, once it contains `part`.
fn top(scene: &Scene, address: &str, part: &str) -> String {
    let begun = Instant::now();
    loop {
        let mut command = scene.command("millstream", &format!("top {address}"));
        // It asks the program itself, and no proxy: none listens here.
        command.env("http_proxy", "http://127.0.0.1:1").env_remove("no_proxy").env_remove("NO_PROXY");
        let seen = scene.run(command, Input::Nothing);
        assert_eq!((seen.code, &*seen.stderr), (Some(0), ""));
        // The first frame takes a quarter of a second.
        if seen.text().contains(part) {
            return seen.text();
        }
        assert!(begun.elapsed() < PATIENCE, "{}", seen.text());
        sleep(Duration::from_millis(50));
    }
}

fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_run_of_another_process_is_shown() {
    let scene = Scene::new();
    let (mut child, _stderr, address) = shown(&scene, "wc --page 127.0.0.1:0");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"to be\n").unwrap();
    let shown = top(&scene, &address, "  running");
    for part in [&*address, "│source", "│counts", "│sink", "▕······▏", "numbers/s", "words"] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    drop(stdin);
    assert_eq!(ended(&mut child).code(), Some(0));

    let gone = scene.millstream(&format!("top {address} --once"), Input::Nothing);
    assert_eq!(gone.code, Some(1));
    assert!(gone.stderr.starts_with(&format!("millstream top: {address}: ")), "{}", gone.stderr);
    assert!(gone.stderr.contains(": Connection refused; name the address of a program"), "{}", gone.stderr);
}

/// The state of a run of many thousand stages is long.
#[test]
fn a_long_answer_of_a_page_is_read() {
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
        assert_eq!(head.next().as_deref(), Some("GET /plan.json HTTP/1.1"));
        head.take_while(|line| !line.is_empty()).for_each(drop);
        // There is no run yet.
        let body = format!("null{}", " ".repeat(11 << 20));
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    });
    let seen = scene.millstream(&format!("top {address} --once"), Input::Nothing);
    assert_eq!((seen.code, &*seen.stderr), (Some(0), ""));
    assert!(seen.text().contains(&address.to_string()), "{}", seen.text());
    answers.join().unwrap();
}

/// The terminal is as before: an echo, the cursor, and what was on the screen.
#[test]
fn a_signal_leaves_the_terminal_in_order() {
    if Command::new("script").arg("--version").output().is_err() {
        return skipped("a_signal_leaves_the_terminal_in_order", "there is no `script`, which makes a terminal");
    }
    let scene = Scene::new();
    let (mut child, _stderr, address) = shown(&scene, "wc --page 127.0.0.1:0");
    let line = format!(
        "stty rows 40 cols 120; echo $$ > pid; exec {} top {address}",
        scene.command("millstream", "").get_program().display()
    );
    let mut command = scene.command("script", "-qec");
    command.arg(line).arg("/dev/null").stdin(Stdio::null()).stdout(Stdio::piped());
    let mut terminal = command.env("TERM", "xterm").spawn().unwrap();
    let (mut output, mut seen, mut bytes) = (terminal.stdout.take().unwrap(), Vec::new(), [0; 1 << 12]);
    let has = |seen: &[u8], part: &str| String::from_utf8_lossy(seen).contains(part);
    while !has(&seen, &address) {
        let read = output.read(&mut bytes).unwrap();
        assert!(read > 0, "it has ended: {}", String::from_utf8_lossy(&seen));
        seen.extend(&bytes[..read]);
    }
    assert!(has(&seen, "\u{1b}[?1049h") && !has(&seen, "\u{1b}[?1049l"));
    let pid = std::fs::read_to_string(scene.path("pid")).unwrap();
    assert!(Command::new("kill").args(["-TERM", pid.trim()]).status().unwrap().success());
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    assert!(has(&rest, "\u{1b}[?1049l") && has(&rest, "\u{1b}[?25h"), "{}", String::from_utf8_lossy(&rest));
    assert_eq!(ended(&mut terminal).code(), Some(143));
    drop(child.stdin.take());
    assert_eq!(ended(&mut child).code(), Some(0));
}

/// A slot of a program as text holds many rows, and users count rows.
#[cfg(feature = "run")]
#[test]
fn rows_are_shown_and_measured() {
    let scene = Scene::new().file("p.mill", "lines | where((length > 2)) | count");
    let (mut child, _stderr, address) = shown(&scene, "run --page 127.0.0.1:0 p.mill");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all("a\nlong\n".repeat(3000).as_bytes()).unwrap();
    let shown = top(&scene, &address, " 3000");
    for part in ["│source", "│where", " rows/s│", "rows/s ", "a block", "blocks", " 6000"] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    let metrics = metrics(&address);
    for line in ["{stage=\"source\"} 6000\n", "{stage=\"count\"} 3000\n"] {
        assert!(metrics.contains(&format!("millstream_stage_rows_total{line}")), "{metrics}");
    }
    drop(stdin);
    assert_eq!(ended(&mut child).code(), Some(0));
}

#[cfg(feature = "run")]
#[test]
fn reads_of_a_followed_file_are_measured() {
    let scene = Scene::new().file("p.mill", "lines(\"in\", follow: true) | lines").file("in", "to be\n".repeat(100));
    let (mut child, _stderr, address) = shown(&scene, "run --page 127.0.0.1:0 p.mill");
    top(&scene, &address, " 100");
    let metrics = metrics(&address);
    assert!(metrics.contains("millstream_read_bytes_total 600\n"), "{metrics}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The page shows how a run has ended for as long as it stays, and a signal ends the page.
#[test]
fn the_page_stays_and_says_how_it_ended() {
    for (args, ends, code) in [
        ("wc", "ended, exit code 0: done, 6 bytes read", 0),
        ("pipe -- false", "ended, exit code 3: the pipeline failed, 6 bytes read", 3),
        #[cfg(feature = "jq")]
        ("jq -R error", "ended, exit code 5: done, with exit code 5, 6 bytes read", 5),
    ] {
        let scene = Scene::new();
        let (program, command) = args.split_once(" --").map_or((args, String::new()), |(p, c)| (p, format!("--{c}")));
        let args = format!("{program} --page 0 --page-linger 1000 {command}");
        let (mut child, mut stderr, address) = shown(&scene, &args);
        child.stdin.take().unwrap().write_all(b"to be\n").unwrap();
        top(&scene, &address, ends);
        let sent = Command::new("sh").arg("-c").arg(format!("kill -TERM {}", child.id())).status();
        assert!(sent.unwrap().success());
        assert_eq!(ended(&mut child).code(), Some(code), "{args}");
        let mut said = String::new();
        stderr.read_to_string(&mut said).unwrap();
        assert!(said.contains(": the page stays for 1000 s, or until a signal comes\n"), "{said}");
    }
}
