//! `millstream wc`, GNU `wc` in both locales, and a single hand-written pass over the same blocks.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::hash::Hash;
use crate::peers;
use crate::programs::{Chain, yes_pv};
use crate::setting::Setting;
use crate::text::Text;
use crate::turns::{Work, take_turns};
use std::io::Write;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let millstream = peers::millstream(&setting.progress)?;
    setting.progress.say("text");
    let text = Text::prose(setting.items(500_000_000, 100_000_000));
    let (file, bytes) = (text.file()?, text.bytes());
    let work = Work { case: "speed", unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let ours = Chain::reading(&file).then(&millstream, ["wc"]);
    if !setting.rivals.wanted() {
        let expected = ours.hash()?;
        return Ok(take_turns(setting, work, vec![ours.contestant("ours", expected)?])?.results([]));
    }
    let rivals = peers::built("text", "millstream-text-peers")?;
    let gnu = Chain::reading(&file).then("wc", [""; 0]);
    let mut expected = Hash::default();
    expected.write_all(&gnu.output()?).map_err(Failure::io("a hash"))?;
    let expected = expected.finish();
    let in_utf8 = gnu.clone().in_locale("C.UTF-8");
    // In UTF-8 the system decides which letters beyond ASCII are white space, so GNU's own answer is the expected one.
    let counted_in_utf8 = in_utf8.hash()?;
    let mut contestants = vec![
        ours.contestant("ours", expected)?,
        gnu.contestant("gnu-wc-c", expected)?,
        in_utf8.contestant("gnu-wc-utf8", counted_in_utf8)?,
        Chain::reading(&file).then(&rivals, ["wc-pass"]).contestant("limit", expected)?,
    ];
    contestants.extend(yes_pv(bytes)?);
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [
        speeds.ratio_as("gnu-wc", &["gnu-wc-c", "gnu-wc-utf8"], Some(6.0)),
        speeds.ratio("limit", Some(0.8)),
        speeds.ratio("yes-pv", None),
    ];
    Ok(speeds.results(ratios))
}
