//! `cargo xtask screenshots`: makes the pictures of the book, from real runs in a real browser.

mod palette;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::cmd::{Cmd, Result, failure, root, target_dir};
use crate::tools;

/// The pictures to make.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these scenes of the example `watched`
    scenes: Vec<String>,
}

/// A scene, the stage that is selected on its page, and the height of the picture.
const SCENES: [(&str, &str, u32); 5] = [
    ("slow", "tax-service", 590),
    ("stuck", "lookup", 560),
    ("lost", "check", 640),
    ("sink", "sink", 590),
    ("core", "sign", 600),
];

const WIDTH: u32 = 1450;

/// The time that a scene runs before the screenshot.
const GOES_ON: Duration = Duration::from_secs(8);

pub(crate) fn run(args: &Args) -> Result {
    tools::package("chromium").map_err(failure)?;
    // Optimised as a release, without the options that take minutes.
    Cmd::cargo("build --release -p millstream --features page --example watched")
        .own_target("screenshots")
        .env("CARGO_PROFILE_RELEASE_LTO", "false")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .run()?;
    if let Some(scene) = args.scenes.iter().find(|scene| SCENES.iter().all(|(name, ..)| name != scene)) {
        return Err(failure(format!("there is no scene `{scene}`")));
    }
    let wanted = |name: &str| args.scenes.is_empty() || args.scenes.iter().any(|scene| scene == name);
    SCENES.iter().filter(|(name, ..)| wanted(name)).try_for_each(|(name, stage, height)| picture(name, stage, *height))
}

/// Runs a scene, takes a screenshot of its page, and saves it.
fn picture(scene: &str, stage: &str, height: u32) -> Result {
    let (_running, page) = started(scene)?;
    sleep(GOES_ON);
    let dir = target_dir().join("screenshots");
    let (seen, profile) = (dir.join(format!("{scene}.png")), dir.join("chromium"));
    let (seen_at, profile) = (seen.display().to_string(), profile.display().to_string());
    Cmd::new(
        "chromium",
        [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            &format!("--user-data-dir={profile}"),
            &format!("--window-size={WIDTH},{height}"),
            &format!("--screenshot={seen_at}"),
            &format!("{page}#{stage}"),
        ],
    )
    .run()?;
    let kept = root().join(format!("docs/book/src/seen-{scene}.png"));
    let bytes = palette::shrink(&seen, &kept).map_err(|error| failure(format!("{seen_at}: {error}")))?;
    println!("{} {bytes} B", kept.display());
    Ok(())
}

/// A scene that runs until this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a scene. Returns the address of its page.
fn started(scene: &str) -> Result<(Running, String)> {
    let program = target_dir().join("screenshots/release/examples/watched");
    let (mut command, shown) = Cmd::new(&path(&program), [scene, "127.0.0.1:0"]).into_parts();
    let child = command.stdout(Stdio::piped()).spawn();
    let mut running = Running(child.map_err(|error| failure(format!("`{shown}` did not start: {error}")))?);
    let mut line = String::new();
    let said = running.0.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut line));
    match said {
        Some(Ok(_)) if line.starts_with("http://") => Ok((running, line.trim().to_owned())),
        _ => Err(failure(format!("`{shown}` does not print the address of its page"))),
    }
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
