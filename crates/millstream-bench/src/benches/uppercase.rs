//! `millstream uppercase` and `tr a-z A-Z`, from a file in memory to nowhere.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::peers;
use crate::programs::{Chain, yes_pv};
use crate::setting::Setting;
use crate::text::Text;
use crate::turns::{Work, take_turns};

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let millstream = peers::millstream(&setting.progress)?;
    setting.progress.say("text");
    let text = Text::prose(setting.items(1_000_000_000, 200_000_000));
    let (file, bytes) = (text.file()?, text.bytes());
    let expected = text.hash(|block| block.to_ascii_uppercase());
    let work = Work { case: "speed", unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let reading = || Chain::reading(&file);
    let mut contestants = vec![reading().then(&millstream, ["uppercase"]).contestant("ours", expected)?];
    if setting.rivals.wanted() {
        contestants.push(reading().then("tr", ["a-z", "A-Z"]).contestant("tr", expected)?);
        contestants.push(reading().then("cat", [""; 0]).contestant("cat", text.hash(<[u8]>::to_vec))?);
        contestants.extend(yes_pv(bytes)?);
    }
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [speeds.ratio("tr", Some(1.4)), speeds.ratio("cat", None), speeds.ratio("yes-pv", None)];
    Ok(speeds.results(ratios))
}
