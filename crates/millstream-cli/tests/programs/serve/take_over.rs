//! New processes take over from old ones, and clients do not notice.

mod clients;

use super::{Ledger, TRANSFER};
use crate::scene::{Input, PATIENCE, Scene, Seen, ended};
use clients::{Clients, Kind};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::Duration;

const STATE: &str = "--state state --snapshot-every 0.05s";

/// The exit code of a process from which another has taken over.
fn code(mut old: Ledger) -> Option<i32> {
    ended(&mut old.child).code()
}

fn taking_over(scene: &Scene) -> Command {
    let mut command = scene.command("millstream", &format!("serve --take-over {STATE}"));
    command.stdin(Stdio::null());
    command
}

/// A process that asks for the service, gets the sockets, and does not use them.
fn silent(scene: &Scene) -> UnixStream {
    let mut link = UnixStream::connect(scene.path("state/take-over")).unwrap();
    link.set_read_timeout(Some(PATIENCE)).unwrap();
    link.write_all(b"T\x01").unwrap();
    let mut sockets = [0];
    link.read_exact(&mut sockets).unwrap();
    assert_eq!(&sockets, b"L");
    link
}

#[test]
fn clients_see_nothing_of_six_upgrades_and_every_id_is_answered_once() {
    let scene = Scene::new();
    let mut ledger = Ledger::start(&scene, STATE);
    let clients = Clients::start(ledger.port, &[Kind::New, Kind::Kept, Kind::Kept, Kind::Slow, Kind::Pipelined]);
    for _ in 0..6 {
        sleep(Duration::from_millis(100));
        let new = Ledger::of(taking_over(&scene));
        assert_eq!(new.port, ledger.port);
        new.says("took over from process");
        let old = std::mem::replace(&mut ledger, new);
        assert_eq!(code(old), Some(0));
    }
    sleep(Duration::from_millis(100));
    clients.check(&ledger);
    assert_eq!(ledger.terminate(), Some(143));
}

#[test]
fn the_old_process_answers_what_it_has_held_if_the_new_one_dies_before_it_is_up() {
    let scene = Scene::new();
    let ledger = Ledger::start(&scene, STATE);
    assert_eq!(ledger.ask("POST /deposit", "d", r#"{"to":"ann","amount":100}"#).0, 200);
    let clients = Clients::start(ledger.port, &[Kind::New, Kind::Kept, Kind::Slow, Kind::Pipelined]);
    for _ in 0..3 {
        let new = silent(&scene);
        let port = ledger.port;
        let held = spawn(move || super::ask(port, "POST /transfer", "t", TRANSFER).unwrap());
        sleep(Duration::from_millis(50));
        assert!(!held.is_finished(), "it is held");
        drop(new);
        assert_eq!(held.join().unwrap(), (200, "{\"account\":\"ann\",\"balance\":70}\n".to_owned()));
        ledger.says("did not take over, so this process goes on");
    }
    clients.check(&ledger);
    assert_eq!(ledger.terminate(), Some(143));
}

#[test]
fn what_was_held_is_refused_if_the_old_process_cannot_go_on() {
    let scene = Scene::new();
    let ledger = Ledger::start(&scene, STATE);
    let mut client = TcpStream::connect(("127.0.0.1", ledger.port)).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"{\"status\":\"ok\"}\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    let new = silent(&scene);
    client.write_all(b"GET /audit HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    // Its state is gone meanwhile.
    fs::rename(scene.path("state"), scene.path("away")).unwrap();
    fs::write(scene.path("state"), "").unwrap();
    drop(new);
    let mut said = String::new();
    client.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 503") && said.contains("the service is ending"), "{said}");
    assert_eq!(code(ledger), Some(1));
}

#[test]
fn the_old_process_goes_on_if_the_new_one_dies_before_it_has_answered() {
    let scene = Scene::new();
    let ledger = Ledger::start(&scene, STATE);
    assert_eq!(ledger.ask("POST /deposit", "", r#"{"to":"ann","amount":100}"#).0, 200);
    Ledger::of(taking_over(&scene)).kill();
    ledger.says("ended before its take-over was complete, so this process goes on");
    assert_eq!(ledger.ask("POST /transfer", "", TRANSFER).0, 200);
    let new = Ledger::of(taking_over(&scene));
    new.says("at number 2: followed it to number ");
    new.says(", and asked; the pause was ");
    let metrics = new.ask("GET /metrics", "", "").1;
    assert!(metrics.contains("\nmillstream_take_over_number 2\n"), "{metrics}");
    assert!(metrics.contains("\nmillstream_take_over_followed_seconds "), "{metrics}");
    assert!(metrics.contains("\nmillstream_take_over_pause_seconds "), "{metrics}");
    assert_eq!(new.ask("GET /balance/bo", "", "").1, "{\"account\":\"bo\",\"balance\":30}\n");
    ledger.says(" after a pause of ");
    assert_eq!(code(ledger), Some(0));
    assert_eq!(new.terminate(), Some(143));
}

#[test]
fn a_process_that_hands_over_before_it_has_answered_anything_lets_the_one_before_it_end() {
    let scene = Scene::new();
    let first = Ledger::start(&scene, STATE);
    let second = Ledger::of(taking_over(&scene));
    let third = Ledger::of(taking_over(&scene));
    // The third process is settled.
    assert_eq!(third.ask("POST /deposit", "", r#"{"to":"ann","amount":100}"#).0, 200);
    assert_eq!((code(second), code(first)), (Some(0), Some(0)));
    assert_eq!(third.terminate(), Some(143));
}

#[test]
fn nothing_is_lost_when_the_old_process_is_killed_in_the_middle() {
    let scene = Scene::new();
    let mut ledger = Ledger::start(&scene, STATE);
    let mut answered = 0;
    for after_ms in [0, 1, 2, 5, 10, 20, 50, 100, 150] {
        let id = format!("d-{after_ms}");
        assert_eq!(ledger.ask("POST /deposit", &id, r#"{"to":"ann","amount":1}"#).0, 200);
        answered += 1;
        let command = taking_over(&scene);
        let new = spawn(move || Ledger::try_of(command));
        sleep(Duration::from_millis(after_ms));
        ledger.kill();
        // The process has gone on, or a message says why not, and a restart goes on.
        ledger = new.join().unwrap().unwrap_or_else(|said| {
            assert!(said.contains("millstream serve: "), "{said}");
            Ledger::of(taking_over(&scene))
        });
        let balance = format!("{{\"account\":\"ann\",\"balance\":{answered}}}\n");
        assert_eq!(ledger.ask("GET /balance/ann", "", ""), (200, balance));
    }
    assert_eq!(ledger.terminate(), Some(143));
}

#[test]
fn without_an_old_process_it_starts_as_always_and_says_so() {
    let scene = Scene::new();
    let new = Ledger::of({
        let mut command = scene.command("millstream", &format!("serve --listen 127.0.0.1:0 --take-over {STATE}"));
        command.stdin(Stdio::null());
        command
    });
    new.says("no process has this state, so nothing is taken over");
    assert_eq!(new.ask("POST /deposit", "d", r#"{"to":"ann","amount":100}"#).0, 200);
    new.kill();
    // The socket of a killed process, to which nothing listens; or a process that dies when it is asked.
    assert!(scene.path("state/take-over").exists());
    std::fs::remove_file(scene.path("state/take-over")).unwrap();
    let dies = UnixListener::bind(scene.path("state/take-over")).unwrap();
    let dead = spawn(move || drop(dies.accept().unwrap()));
    let mut command = scene.command("millstream", &format!("serve --listen 127.0.0.1:0 --take-over {STATE}"));
    command.stdin(Stdio::null());
    let new = Ledger::of(command);
    dead.join().unwrap();
    assert_eq!(new.ask("GET /balance/ann", "", "").1, "{\"account\":\"ann\",\"balance\":100}\n");
    assert_eq!(new.terminate(), Some(143));
}

#[test]
fn a_second_process_that_takes_over_is_refused_and_so_is_one_without_a_state() {
    let scene = Scene::new();
    let ledger = Ledger::start(&scene, STATE);
    let first = silent(&scene);
    let second = Seen::of(taking_over(&scene).output().unwrap());
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains("--take-over: the process that has state: another process is taking over"));
    drop(first);
    ledger.says("this process goes on");
    assert_eq!(ledger.ask("GET /health", "", "").0, 200);
    let stateless = scene.millstream("serve --take-over", Input::Nothing);
    assert_eq!(stateless.code, Some(2));
    assert!(stateless.stderr.contains("--state <DIR>"), "{}", stateless.stderr);
    let other = Seen::of(taking_over(&scene).args(["--accounts", "0"]).output().unwrap());
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert_eq!(ledger.ask("GET /health", "", "").0, 200, "what is wrong use does not disturb it");
    let renamed = scene.path("other");
    std::fs::hard_link(env!("CARGO_BIN_EXE_millstream"), &renamed)
        .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_millstream"), &renamed).map(drop))
        .unwrap();
    let mut other = Command::new(renamed);
    other.current_dir(scene.path("")).args(["serve", "--take-over", "--state", "state"]);
    let other = Seen::of(other.output().unwrap());
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("has the state of the program"), "{}", other.stderr);
    assert_eq!(
        ledger.said.lock().unwrap().matches("this process goes on").count(),
        1,
        "another program does not disturb it"
    );
    assert_eq!(ledger.terminate(), Some(143));
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_of_a_supervisors_socket_waits_while_no_process_serves() {
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // The shell gives the socket the number that it has by the protocol.
    let start = |args: &str| {
        let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\" 3<&0 </dev/null";
        let mut command = scene.command("sh", "");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_millstream"), "serve"]).args(args.split(' '));
        command.stdin(Stdio::from(OwnedFd::from(listener.try_clone().unwrap())));
        Ledger::of(command)
    };
    let ledger = start(STATE);
    assert_eq!(ledger.port, port);
    assert_eq!(ledger.ask("POST /deposit", "", r#"{"to":"ann","amount":100}"#).0, 200);
    ledger.kill();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(b"GET /balance/ann HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let ledger = start(STATE);
    let mut said = String::new();
    client.read_to_string(&mut said).unwrap();
    assert!(said.ends_with("{\"account\":\"ann\",\"balance\":100}\n"), "{said}");
    let new = start(&format!("--take-over {STATE}"));
    assert_eq!((new.port, code(ledger)), (port, Some(0)));
    assert_eq!(new.terminate(), Some(143));
}
