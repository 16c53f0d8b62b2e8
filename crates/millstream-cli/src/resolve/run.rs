use crate::command::run::{Accepts, Text, shards_of};
use crate::command::{Check, RunText};
use crate::config::{run_with_slots, with_state};
use crate::flags;
use millstream_mill::Allowed;

pub(super) fn run(flags: flags::RunText) -> Result<RunText, String> {
    let accepts = accepts(&flags)?;
    let flags::RunText { text, files, max_row, kept, dropped, run, .. } = flags;
    let mut files = files.into_iter();
    let text = match text {
        Some(text) => Text::Given(text),
        None => Text::In(files.next().ok_or("no text: name a file that has one, or write it as -e TEXT")?),
    };
    let (shards, slots) = shards_and_slots(&run.tuning);
    let run = with_state("run", run_with_slots(slots, run)?);
    let allowed = Allowed { keeps: kept, drops: dropped };
    Ok(RunText { text, files: files.collect(), most: max_row, shards, accepts, allowed, run })
}

/// The shards of a run, and the default number of slots of each ring.
pub(super) fn shards_and_slots(tuning: &flags::Tuning) -> (usize, usize) {
    let shards = shards_of(tuning);
    // A slot holds the rows of a block: so few that memory stays small.
    (shards, (2 * shards).next_power_of_two().max(4))
}

/// Whether a text that is posted to the run's page may replace its text.
#[cfg(feature = "page")]
fn accepts(flags: &flags::RunText) -> Result<Option<Accepts>, String> {
    use crate::environment::{SHORTEST_TOKEN, TOKEN, secret};
    use std::net::ToSocketAddrs;
    if !flags.accept_upgrades {
        return Ok(None);
    }
    if flags.run.deploy != flags::Deploy::Rings {
        return Err("--accept-upgrades: only runs on rings can go on with another text: use `--deploy rings`".into());
    }
    let token = secret(TOKEN, SHORTEST_TOKEN)?;
    // Opening the page refuses a wrong address.
    let addresses = flags.run.page.as_ref().and_then(|page| page.to_socket_addrs().ok());
    if token.is_none() && !addresses.into_iter().flatten().all(|address| address.ip().is_loopback()) {
        let set = format!("`export {TOKEN}=$(openssl rand -hex 16)` sets a token");
        return Err(format!(
            "--accept-upgrades: other machines can reach the page and make this process write files, so a token is needed: {set}"
        ));
    }
    Ok(Some(Accepts { token }))
}

#[cfg(not(feature = "page"))]
fn accepts(_: &flags::RunText) -> Result<Option<Accepts>, String> {
    Ok(None)
}

pub(super) fn check(flags: flags::Check) -> Check {
    let files = flags.files.into_iter().map(Text::In);
    Check { texts: flags.text.map(Text::Given).into_iter().chain(files).collect() }
}
