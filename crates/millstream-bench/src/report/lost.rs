//! What we lose.

use super::fill::{bound, spread, verdict};
use super::kept::Kept;
use std::fmt::Write;

/// The yardsticks that no program outruns, and contestants of our own: a ratio below 1 is not a loss.
const NO_RIVALS: [&str; 6] = ["limit", "kept", "unobserved", "one-worker", "cat", "yes-pv"];

/// The ratios that miss their bound, and those that are slower than a rival. A rival that is slower than another rival
/// is no loss of ours.
pub(super) fn lost(kept: &Kept) -> String {
    let mut text = "| bench | case | against | ratio | bound |\n|---|---|---|--:|--:|\n".to_owned();
    for run in kept.runs() {
        for ratio in &run.ratios {
            let missed = ratio.bound.is_some_and(|bound| verdict(ratio, bound) == "**missed**");
            let is_ours = ratio.pair.as_ref().is_none_or(|[one, _]| one.starts_with("ours"));
            if missed || ratio.median < 0.95 && is_ours && !NO_RIVALS.contains(&ratio.who.as_str()) {
                let (bound, spread) = (bound(ratio), spread(ratio));
                let against = match &ratio.pair {
                    Some([one, other]) => format!("{one} over {other}"),
                    None => ratio.who.clone(),
                };
                let _ = writeln!(text, "| {} | {} | {against} | {spread} | {bound} |", run.bench, ratio.case);
            }
        }
    }
    text.trim_end().to_owned()
}
