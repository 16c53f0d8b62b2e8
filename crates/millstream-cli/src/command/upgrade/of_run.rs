//! `upgrade ADDR FILE.mill`: a run goes on with another text.

use super::asked::{Answered, Asked};
use crate::command::plan::pretty;
use crate::command::run::Text;
use crate::environment::{SHORTEST_TOKEN, TOKEN, secret};
use crate::message::{Complaints, say};
use crate::outcome::Outcome;
use crate::output::Output;
use std::ffi::OsString;
use std::time::Duration;

/// `upgrade ADDR FILE.mill`.
#[derive(Debug)]
pub(crate) struct OfRun {
    pub(crate) address: String,
    pub(crate) file: OsString,
    pub(crate) json: bool,
    pub(crate) check: bool,
    pub(crate) keep: Vec<String>,
    pub(crate) drop: Vec<String>,
}

/// The time limit of a connection. There is none for a change: it takes as long as the slowest stage.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest answer.
const MOST: u64 = 16 << 20;

impl OfRun {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("upgrade");
        let (json, address) = (self.json, self.address.clone());
        let text = Text::In(self.file);
        let token = match secret(TOKEN, SHORTEST_TOKEN) {
            Ok(token) => token,
            Err(why) => {
                complaints.note(&why);
                return Outcome::WrongUse;
            }
        };
        let asked = match text.read(&complaints) {
            Ok(read) => Asked { text: read, name: text.name(), check: self.check, keep: self.keep, drop: self.drop },
            Err(outcome) => return outcome,
        };
        let answered = match posted(&address, &asked, token) {
            Ok(answered) => answered,
            Err(why) => {
                complaints.complain(&format!("{address}: {why}"));
                return Outcome::InputOrOutputFailed;
            }
        };
        let Answered { code, out, report, error, wrong } = answered;
        if !wrong.is_empty() {
            say(&wrong);
        }
        if !error.is_empty() {
            complaints.note(&format!("{address}: {error}"));
        }
        Output::opened(&complaints, |mut output| {
            match (json, report) {
                (true, report) if !report.is_null() => output.write(pretty(&report).as_bytes()),
                _ => output.write(out.as_bytes()),
            }
            match code {
                0 => Outcome::Done,
                2 => Outcome::WrongUse,
                4 => Outcome::CheckFailed,
                _ => Outcome::InputOrOutputFailed,
            }
        })
    }
}

/// The answer of the run at this address.
fn posted(address: &str, asked: &Asked, token: Option<String>) -> Result<Answered, String> {
    // The token is for the run: a proxy must not get it.
    let config = ureq::Agent::config_builder().timeout_connect(Some(PATIENCE)).proxy(None);
    let agent: ureq::Agent = config.http_status_as_error(false).build().into();
    let mut request = agent.post(format!("http://{address}/upgrade"));
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let is_none =
        |error: ureq::Error| format!("{error}; it must be the address of `run --page ADDR --accept-upgrades`");
    let mut answer = request.send_json(asked).map_err(is_none)?;
    let status = answer.status().as_u16();
    let read: Result<Answered, _> = answer.body_mut().with_config().limit(MOST).read_json();
    match read {
        Ok(answered) if answered.code > 0 || status == 200 => Ok(answered),
        // The server has answered instead of the run.
        Ok(answered) if !answered.error.is_empty() => {
            let code = match status {
                400 | 413 => Outcome::WrongUse,
                401 | 403 | 415 => Outcome::CheckFailed,
                _ => Outcome::InputOrOutputFailed,
            };
            Ok(Answered { code: code.code(), ..answered })
        }
        _ => Err("no run of a text answers there".to_owned()),
    }
}
