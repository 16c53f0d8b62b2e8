//! The contestants of ratios that do not compare `ours`. Runs before December 2026 do not say which they are.

use super::kept::Ratio;

/// A bench, a ratio's name, and its two contestants.
const PAIRS: [(&str, &str, [&str; 2]); 18] = [
    ("sleep", "model-sharded", ["ours-sharded", "model"]),
    ("sleep", "model-queues", ["queues", "model"]),
    ("sleep", "model-queues-sharded", ["queues-sharded", "model"]),
    ("transport", "share-3", ["ours-share-3", "ours"]),
    ("transport", "share-5", ["ours-share-5", "ours"]),
    ("transport", "one-worker-3", ["ours-one-worker-3", "ours"]),
    ("transport", "spread-3", ["ours-spread-3", "ours"]),
    ("transport", "all-1-queue", ["ours-all-1", "queue-all-1"]),
    ("transport", "all-3-queue", ["ours-all-3", "queue-all-3"]),
    ("transport", "all-5-queue", ["ours-all-5", "queue-all-5"]),
    ("transport", "all-3", ["ours-all-3", "ours-all-1"]),
    ("transport", "all-5", ["ours-all-5", "ours-all-1"]),
    ("transport", "queue-1-over-3", ["queue", "queue-share-3"]),
    ("transport", "queue-1-over-5", ["queue", "queue-share-5"]),
    ("transport", "queue-share-3", ["queue-share-3", "queue"]),
    ("transport", "queue-share-5", ["queue-share-5", "queue"]),
    ("transport", "queue-all-3", ["queue-all-3", "queue-all-1"]),
    ("transport", "queue-all-5", ["queue-all-5", "queue-all-1"]),
];

/// The contestants of a ratio of a run that does not have them. The ratios of `traffic` compare ours.
pub(super) fn of(bench: &str, Ratio { case, who, .. }: &Ratio) -> Option<[String; 2]> {
    let named = |(of, name, _): &&(&str, &str, [&str; 2])| *of == bench && *name == who;
    let found = PAIRS.iter().find(named).filter(|_| !case.starts_with("traffic"))?;
    Some(found.2.map(str::to_owned))
}
