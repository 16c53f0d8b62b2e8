use super::{UpgradeCheck, Verdict};
use std::fmt;

impl fmt::Display for UpgradeCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mut kept, mut migrated, mut new, mut dropped, mut refused] = [0; 5];
        for stage in &self.stages {
            let (name, kind) = (&stage.name, &stage.kind);
            match &stage.verdict {
                Verdict::Kept => {
                    kept += 1;
                    let with = if stage.state.is_some() { ", with its state" } else { "" };
                    writeln!(f, "kept     {name}{with}")?;
                }
                Verdict::Migrated { from } => {
                    migrated += 1;
                    writeln!(f, "migrated {name}: {from} -> {}", stage.state.as_ref().unwrap_or(from))?;
                }
                Verdict::New => {
                    new += 1;
                    let with = if stage.state.is_some() { ", with a state that begins fresh" } else { "" };
                    writeln!(f, "new      {name} ({kind}){with}")?;
                }
                Verdict::Dropped => {
                    dropped += 1;
                    let with = if stage.state.is_some() { ", with its state" } else { "" };
                    writeln!(f, "dropped  {name} ({kind}){with}")?;
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
        writeln!(f, "{kept} kept, {migrated} migrated, {new} new, {dropped} dropped, {refused} refused")
    }
}
