//! Word counts by key: the stages keep states by key, and one of them starts a clock.

use millstream::prelude::*;

pub(crate) fn words() -> impl Pipeline<String, (String, u64)> + Lasting {
    words_in(2)
}

/// With this many shards.
pub(crate) fn words_in(shards: usize) -> impl Pipeline<String, (String, u64)> + Lasting {
    pipeline::<String>()
        .flat_map(|line: &String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .named("words")
        .shard_by(
            |word: &String| word.clone(),
            shards,
            |p| {
                p.scan(0_u64, |count, word: &String| {
                    *count += 1;
                    (word.clone(), *count)
                })
                .named("count")
            },
        )
        .named("by-word")
}
