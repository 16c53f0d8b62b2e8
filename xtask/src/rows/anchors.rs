//! The headings of pages, and their anchors.

use std::collections::BTreeSet;
use std::path::Path;

/// Checks `FILE.md#SLUG`: the file has a heading with this anchor.
pub(super) fn anchor_exists(root: &Path, anchor: &str) -> std::result::Result<(), String> {
    let (file, slug) = anchor.split_once('#').ok_or(format!("`{anchor}` is not FILE.md#HEADING"))?;
    let text = std::fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
    if anchors(&text).contains(slug) {
        return Ok(());
    }
    Err(format!("{file} has no heading `#{slug}`"))
}

/// The anchors of a page's headings, made as on GitHub.
pub(crate) fn anchors(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut fenced = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let marks = line.len() - line.trim_start_matches('#').len();
        let Some(title) = line[marks..].strip_prefix(' ') else {
            continue;
        };
        if fenced || marks == 0 || marks > 6 {
            continue;
        }
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
        let slug: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let again = (1..).map(|n| format!("{slug}-{n}"));
        let free = std::iter::once(slug.clone()).chain(again).find(|slug| !found.contains(slug));
        found.extend(free);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_made_as_on_github() {
        let page = "# Shards claim runs\n## `map`, and *more*: why?\n```\n# no\n```\n## Again\n## Again\n#no\n";
        let found = anchors(page);
        let expected = ["again", "again-1", "map-and-more-why", "shards-claim-runs"];
        assert!(found.iter().eq(expected.iter()), "{found:?}");
    }
}
