#[cfg(feature = "run")]
use crate::command::OfRun;
use crate::command::{Command, Upgrade};
use crate::flags;

/// Two files are plans to compare. If the first argument is an address and not the name of a file, it is that of a run.
pub(super) fn upgrade(flags: flags::UpgradeRun) -> Result<Command, String> {
    #[cfg(feature = "run")]
    if let Some(address) = flags.old.to_str().and_then(|old| flags::address(old).ok())
        && !std::path::Path::new(&flags.old).exists()
    {
        return of_run(address, flags).map(Command::UpgradeRun);
    }
    let flags::UpgradeRun { check, migrated, dropped, kept, json, old, new } = flags;
    if !check {
        return Err("use --check to compare two plans, or the address of a run, HOST:PORT, to replace its text".into());
    }
    Ok(Command::Upgrade(Upgrade::of(flags::Upgrade { check, migrated, dropped, json, old, new }).keeping(kept)))
}

#[cfg(feature = "run")]
fn of_run(address: String, flags: flags::UpgradeRun) -> Result<OfRun, String> {
    let flags::UpgradeRun { check, migrated, dropped: drop, kept: keep, json, old: _, new: file } = flags;
    if !migrated.is_empty() {
        return Err("--migrate works only with plans: a text has no migrations".into());
    }
    Ok(OfRun { address, file, json, check, keep, drop })
}
