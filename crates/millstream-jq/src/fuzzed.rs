//! Targets for a fuzzer: each function reads untrusted bytes, and fails only by a panic.

use crate::parse::Parser;
use crate::{Filter, JsonValues, demand::Demand};
use millstream_io::Framing;

/// Any bytes, cut into blocks, have the same answer as the whole.
pub fn json(bytes: &[u8]) {
    let filter = Filter::new(".").expect("the identity");
    let whole = filter.answer(bytes);
    let mut parts = (Vec::new(), 0);
    let end = JsonValues::default().end(bytes, 0).unwrap_or(0);
    for part in [&bytes[..end], &bytes[end..]] {
        let answer = filter.answer(part);
        parts.0.extend(answer.out);
        parts.1 += answer.values;
        if !answer.said.is_empty() {
            break;
        }
    }
    assert_eq!(parts, (whole.out, whole.values));
    let mut parser = Parser::new(bytes);
    while parser.begin().is_some() && parser.value(&Demand::default()).is_ok() {}
}

/// Any text compiles as a filter, or is refused with a message.
pub fn filter(text: &str) {
    // A filter may run for ever, so it is not run.
    if let Err(wrong) = Filter::new(text) {
        assert!(!wrong.to_string().is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(target: &str) -> Vec<Vec<u8>> {
        let directory = format!("{}/fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(directory).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
        let files: Vec<_> = files.collect();
        assert!(files.len() > 2);
        files
    }

    #[test]
    fn the_corpus_is_survived() {
        for bytes in corpus("json") {
            (0..=bytes.len()).for_each(|end| json(&bytes[..end]));
        }
        for bytes in corpus("filter") {
            let text = String::from_utf8(bytes).unwrap();
            (0..=text.len()).filter_map(|end| text.get(..end)).for_each(filter);
        }
    }
}
