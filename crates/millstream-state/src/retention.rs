use crate::Manifest;
use std::collections::HashSet;
use std::time::Duration;

/// Which snapshots stay. A snapshot stays if any rule keeps it, if an earlier one stays, or if its file has parts of
/// one that stays.
///
/// The newest always stays. Without a count and an age, all stay.
///
/// ```
/// use millstream::state::{Retention, Saved, StateDir};
/// use std::time::Duration;
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("orders");
/// let dir = StateDir::open(&path, "orders")?;
/// for at in [100, 200, 300] {
///     dir.save(&Saved { at, ..Saved::default() })?;
/// }
/// // The sink was asked again, and holds what the second one says.
/// let keep = Retention { count: Some(1), age: None, confirmed_from: Some(2) };
/// let removed = dir.prune(keep)?;
/// assert_eq!(removed.iter().map(|snapshot| snapshot.at).collect::<Vec<_>>(), [100]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// This number of the newest snapshots stay; 0 is the same as 1.
    pub count: Option<usize>,
    /// Snapshots that were written within this time stay, by the clocks of the writer and of this machine. One that
    /// seems to be from the future stays. If this machine's clock jumps ahead, only the other rules protect snapshots.
    pub age: Option<Duration>,
    /// The id of the newest snapshot that a later look at the sink has confirmed: from this one on all stay, since a
    /// start may need them. `None` means that none is confirmed: then all stay.
    pub confirmed_from: Option<u64>,
}

impl Retention {
    /// Of these snapshots, oldest first, the number that does not stay.
    pub(crate) fn removes(&self, snapshots: &[Manifest], now_unix_ms: u64) -> usize {
        let all = snapshots.len();
        let Some(confirmed) = self.confirmed_from else { return 0 };
        if self.count.is_none() && self.age.is_none() {
            return 0;
        }
        let first = |keeps: &dyn Fn(&Manifest) -> bool| snapshots.iter().position(keeps).unwrap_or(all);
        let by_count = self.count.map_or(all, |count| all.saturating_sub(count));
        let young = |age: Duration| {
            let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            first(&|snapshot| now_unix_ms.saturating_sub(snapshot.written_unix_ms) <= age)
        };
        let by_age = self.age.map_or(all, young);
        let confirmed = first(&|snapshot| snapshot.id >= confirmed);
        let mut stays = by_count.min(by_age).min(confirmed).min(all.saturating_sub(1));
        // Snapshots with parts of one that stays must stay, too.
        while let Some(needed) = needed_by(snapshots, stays) {
            stays = needed;
        }
        stays
    }
}

/// The first snapshot before `stays` whose file has parts of one from `stays` on, if there is one.
fn needed_by(snapshots: &[Manifest], stays: usize) -> Option<usize> {
    let needed: HashSet<&str> = snapshots[stays..].iter().flat_map(Manifest::needs).collect();
    snapshots[..stays].iter().position(|snapshot| needed.contains(snapshot.file().as_str()))
}
