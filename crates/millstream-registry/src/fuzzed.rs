//! Targets for a fuzzer: each reads untrusted text, and fails only by a panic.

use crate::{Ends, In, Registry};
use millstream_core::{Arrow, ModelExt};

/// A registry with some stages, fields and types.
pub fn registry() -> Registry {
    let mut stages = Registry::default();
    stages.ty::<u64>("Number").ty::<(u64, u64)>("Pair");
    stages.stage("plus", |both: (In<u64>, In<u64>)| both.map(|(a, b)| a.wrapping_add(*b)));
    stages.stage("pair", |a: In<u64>| a.map(|a| (*a, *a)));
    stages.stage("pair@2", |a: In<u64>| a.map(|a| (*a, 0)));
    stages.stage_with("above", ["limit"], |a: In<u64>, limit: u64| a.filter(move |a| *a > limit));
    stages.stage_with("name", ["text", "by"], |a: In<u64>, (text, by): (String, f64)| {
        let all = text.len() as u64 + by as u64;
        a.map(move |a| a.wrapping_mul(all))
    });
    stages.field("first", |pair: &(u64, u64)| &pair.0);
    stages
}

/// Any text is refused with a message for each mistake, or is a pipeline with a plan.
pub fn text(text: &str) {
    let mut stages = registry();
    stages.stage("print", |n: In<u64>| n.map(|n| n.to_string()));
    stages.stage("both", |both: (In<String>, In<String>)| both.map(|(a, b)| format!("{a}{b}")));
    stages.stage("read", |n: In<u64>| n.map(|n| *n));
    match stages.program::<u64, String>(text, &Ends { print: "print", both: "both" }) {
        Ok(p) => assert!(p.model([1, 2, 3]).len() <= 3),
        Err(wrong) => assert!(wrong.to_string().starts_with("error: ")),
    }
    match registry().load::<u64, u64>(text) {
        Ok(p) => assert!(p.model([1, 2, 3]).len() <= 3),
        Err(wrong) => {
            assert!(!wrong.mistakes().is_empty());
            assert!(wrong.to_string().starts_with("error: "));
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpus_is_survived() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/text");
        let files: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|file| file.unwrap().path()).collect();
        assert!(files.len() > 2);
        for file in files {
            let text = std::fs::read_to_string(file).unwrap();
            (0..=text.len()).filter_map(|end| text.get(..end)).for_each(super::text);
        }
    }
}
