//! The book's console sessions print what the page shows.

use crate::scene::Scene;
use millstream_testkit::programs::skipped;
use std::path::Path;
use std::process::Command;

/// A command, and its output on the page.
#[derive(Debug, Default)]
struct Session {
    command: String,
    prints: String,
}

/// The sessions of a page's `console` blocks; those of `console,sqlite` need a command with SQLite.
fn sessions(page: &str) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (false, "```console,sqlite") => inside = cfg!(feature = "sqlite"),
            (true, "```") => inside = false,
            (true, line) => match (line.strip_prefix("$ "), sessions.last_mut()) {
                (Some(command), _) => sessions.push(Session { command: command.to_owned(), ..Session::default() }),
                (None, Some(last)) => last.prints += &format!("{line}\n"),
                (None, None) => panic!("a block begins with {line:?}"),
            },
            _ => {}
        }
    }
    assert!(!inside, "a block is not closed");
    sessions
}

#[test]
fn the_shell_sessions_are_as_written() {
    as_written("the_shell_sessions_are_as_written", "shell.md");
}

#[test]
fn the_sessions_about_state_are_as_written() {
    as_written("the_sessions_about_state_are_as_written", "production.md");
}

#[cfg(feature = "jq")]
#[test]
fn the_sessions_about_json_are_as_written() {
    as_written("the_sessions_about_json_are_as_written", "jq.md");
}

#[cfg(feature = "run")]
#[test]
fn the_sessions_about_programs_as_text_are_as_written() {
    as_written("the_sessions_about_programs_as_text_are_as_written", "run.md");
}

#[cfg(feature = "run")]
#[test]
fn the_ten_tasks_are_as_written() {
    as_written("the_ten_tasks_are_as_written", "coming-from-tools.md");
}

#[test]
fn the_sessions_about_upgrades_are_as_written() {
    as_written("the_sessions_about_upgrades_are_as_written", "upgrades.md");
}

#[cfg(feature = "serve")]
#[test]
fn the_sessions_about_serving_are_as_written() {
    as_written("the_sessions_about_serving_are_as_written", "serving.md");
}

#[cfg(feature = "cluster")]
#[test]
fn the_sessions_about_clusters_are_as_written() {
    let test = "the_sessions_about_clusters_are_as_written";
    let Some(server) = crate::server::program(test) else { return };
    if std::net::TcpListener::bind("127.0.0.1:4222").is_err() {
        return skipped(test, "port 4222 is taken");
    }
    // The page's programs are on the path that its sessions get.
    let bin = server.parent().expect("a directory").display().to_string();
    as_written_with(test, "beyond-one-machine.md", &bin);
}

/// Ends what a session has left in the background.
struct Background(std::path::PathBuf);

impl Drop for Background {
    fn drop(&mut self) {
        if let Ok(id) = std::fs::read_to_string(&self.0) {
            let _ = Command::new("kill").args(["-KILL", id.trim()]).stderr(std::process::Stdio::null()).status();
        }
    }
}

fn as_written(test: &str, page: &str) {
    as_written_with(test, page, "");
}

/// With programs of this directory.
fn as_written_with(test: &str, page: &str, programs: &str) {
    let bash = |command: &str| Command::new("bash").args(["-c", command]).output();
    let here = bash("command -v timeout mkfifo paste tee xargs yes cmp seq sed tail curl grep")
        .is_ok_and(|output| output.status.success());
    if !here {
        return skipped(test, "bash or a program that the page uses is not there");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src").join(page);
    let sessions = sessions(&std::fs::read_to_string(page).expect("the page"));
    assert!(sessions.len() > 4, "{sessions:?}");
    let bin = Path::new(env!("CARGO_BIN_EXE_millstream")).parent().expect("a directory").display();
    let path = format!("{bin}:{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let scene = Scene::new();
    let _background = Background(scene.path("pid"));
    for Session { command, prints } in &sessions {
        let mut shell = scene.command("bash", "-c");
        let output = shell.arg(command).env("PATH", &path).output().expect("bash starts");
        assert_eq!(&String::from_utf8_lossy(&output.stdout), prints, "{command}");
    }
}
