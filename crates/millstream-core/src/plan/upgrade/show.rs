use super::{UpgradeCheck, Verdict};
use std::fmt;

impl fmt::Display for UpgradeCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mut kept, mut new, mut dropped, mut refused] = [0; 4];
        for stage in &self.stages {
            let (name, kind) = (&stage.name, &stage.kind);
            match &stage.verdict {
                Verdict::Kept => {
                    kept += 1;
                    let with = if stage.state.is_some() { ", with its state" } else { "" };
                    writeln!(f, "kept     {name}{with}")?;
                }
                Verdict::New => {
                    new += 1;
                    writeln!(f, "new      {name} ({kind})")?;
                }
                Verdict::Dropped => {
                    dropped += 1;
                    writeln!(f, "dropped  {name} ({kind})")?;
                }
                Verdict::Refused { why } => {
                    refused += 1;
                    writeln!(f, "refused  {name}: {why}")?;
                }
            }
        }
        for why in &self.ends {
            refused += 1;
            writeln!(f, "refused  the ends: {why}")?;
        }
        writeln!(f, "{kept} kept, {new} new, {dropped} dropped, {refused} refused")
    }
}
