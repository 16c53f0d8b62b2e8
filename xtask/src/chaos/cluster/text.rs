//! The input, and what a count of its words is, word by word.

use crate::chaos::processes::{io as cannot, violation};
use crate::cmd::Result;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// The most different words.
const WORDS: usize = 1 << 19;

/// Lines of ten words, of which few are frequent and many are rare. Returns the size of the count of its words.
pub(super) fn write(seed: u64, megabytes: u64, into: &Path) -> io::Result<u64> {
    let mut file = BufWriter::new(File::create(into)?);
    let (mut written, mut state) = (0_u64, seed ^ 0x9e37_79b9_7f4a_7c15);
    let (mut counts, mut size) = (vec![0_u64; WORDS], 0);
    while written < megabytes * 1_000_000 {
        let mut line = String::with_capacity(80);
        for place in 0..10 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let word = (state >> 33) % (1 << (4 + (state >> 60)));
            line.push_str(if place > 0 { " w" } else { "w" });
            line.push_str(&word.to_string());
            let count = &mut counts[word as usize];
            *count += 1;
            // "w", the word, a space, the count and a line end.
            size += 3 + digits(word) + digits(*count);
        }
        line.push('\n');
        file.write_all(line.as_bytes())?;
        written += line.len() as u64;
    }
    file.flush()?;
    Ok(size)
}

fn digits(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

/// Fails at the first difference between a count of the input's words and the output.
pub(super) fn compare(input: &Path, output: &Path) -> Result {
    differs(input, output).map_err(cannot("read the output"))?.map_or(Ok(()), |why| Err(violation(why)))
}

fn differs(input: &Path, output: &Path) -> io::Result<Option<String>> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut lines = BufReader::new(File::open(output)?).lines();
    let mut number = 0_u64;
    for line in BufReader::new(File::open(input)?).lines() {
        for word in line?.split(' ') {
            let count = match counts.get_mut(word) {
                Some(count) => count,
                None => counts.entry(word.to_owned()).or_insert(0),
            };
            *count += 1;
            number += 1;
            let there = lines.next().transpose()?;
            let same = there.as_deref().and_then(|line| line.split_once(' '));
            if same.is_none_or(|(of, so_far)| of != word || so_far != count.to_string()) {
                return Ok(Some(format!("line {number}: {there:?} instead of \"{word} {count}\"")));
            }
        }
    }
    Ok(lines.next().transpose()?.map(|more| format!("line {}: {more:?} after the end", number + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_named() {
        let home = std::env::temp_dir().join(format!("millstream-chaos-text-{}", std::process::id()));
        std::fs::create_dir_all(&home).unwrap();
        let (input, output) = (home.join("input"), home.join("output"));
        std::fs::write(&input, "a b\na\n").unwrap();
        for (text, expected) in [
            ("a 1\nb 1\na 2\n", None),
            ("a 1\nb 1\n", Some("line 3: None instead of \"a 2\"")),
            ("a 1\nb 1\na 1\n", Some("line 3: Some(\"a 1\") instead of \"a 2\"")),
            ("a 1\nb 1\na 2\na 3\n", Some("line 4: \"a 3\" after the end")),
        ] {
            std::fs::write(&output, text).unwrap();
            assert_eq!(differs(&input, &output).unwrap().as_deref(), expected);
        }
        let size = write(7, 1, &input).unwrap();
        assert!(std::fs::metadata(&input).unwrap().len() >= 1_000_000);
        let (mut counts, mut counted) = (HashMap::new(), Vec::new());
        for word in std::fs::read_to_string(&input).unwrap().split_whitespace() {
            let count = counts.entry(word.to_owned()).or_insert(0);
            *count += 1;
            writeln!(counted, "{word} {count}").unwrap();
        }
        assert_eq!(size, counted.len() as u64);
        // A failure and no exit, so that the servers end with the chore.
        assert_eq!(compare(&input, &output).unwrap_err().code, 4);
        std::fs::write(&output, counted).unwrap();
        compare(&input, &output).unwrap();
        std::fs::remove_dir_all(&home).unwrap();
    }
}
