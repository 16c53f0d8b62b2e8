//! `millstream wc` on a file of 1 GB in memory, and GNU `wc`.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::peers;
use crate::setting::Setting;
use crate::text::Text;
use crate::turns::{Contestant, Work, take_turns};
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let millstream = peers::millstream(&setting.progress)?;
    setting.progress.say("text");
    let text = Text::prose(setting.items(1_000_000_000, 200_000_000));
    let (file, bytes) = (text.file()?, text.bytes());
    let (file, millstream) = (file.as_path(), millstream.as_path());
    let work = Work { case: "speed", unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let ours = || printed(Command::new(millstream).arg("wc").arg(file));
    if !setting.rivals.wanted() {
        let contestants = vec![Contestant::new("ours", ours()?, ours)];
        return Ok(take_turns(setting, work, contestants)?.results([]));
    }
    let expected = gnu("C", file)?;
    let in_utf8 = gnu("C.UTF-8", file)?;
    let contestants = vec![
        Contestant::new("ours", expected.clone(), ours),
        Contestant::new("gnu-wc-c", expected, || gnu("C", file)),
        Contestant::new("gnu-wc-utf8", in_utf8, || gnu("C.UTF-8", file)),
    ];
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [
        speeds.ratio("gnu-wc-c", None),
        speeds.ratio("gnu-wc-utf8", None),
        speeds.ratio_as("gnu-wc", &["gnu-wc-c", "gnu-wc-utf8"], Some(1.0)),
    ];
    Ok(speeds.results(ratios))
}

/// The output of GNU wc for the file.
fn gnu(locale: &str, file: &Path) -> Result<String, Failure> {
    printed(Command::new("wc").arg(file).env("LC_ALL", locale))
}

/// The standard output of a program.
fn printed(command: &mut Command) -> Result<String, Failure> {
    let shown = format!("{command:?}");
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(Failure::io(shown.clone()))?;
    if !output.status.success() {
        return Err(Failure::Program(shown, output.status.to_string()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
