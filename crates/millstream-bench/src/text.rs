//! Generated texts, the same on every machine, and their files.

use crate::failure::Failure;
use crate::hash::Hash;
use millstream::core::SplitMix64;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

const WORDS: usize = 20_000;
const LINES: usize = 60_000;
const BEYOND_ASCII: [char; 9] = ['é', 'ü', 'ø', 'ß', 'ç', 'ž', 'λ', 'я', 'ñ'];

/// With its line end, a million of these are 286 MB.
pub(crate) const SENTENCE: &str = "The stream turns the wheel, the wheel turns the stone, and what was poured in whole \
    comes out as flour, in the order in which it went in: nobody counts the grains, nobody carries one back, and if \
    the sacks at the door are full, the stone stands still until somebody has taken one away.\n";

/// Whole lines, repeated.
#[derive(Debug)]
pub(crate) struct Text {
    /// The name of its contents. A change of the contents needs another name.
    name: &'static str,
    block: Vec<u8>,
    times: u64,
}

impl Text {
    fn new(name: &'static str, bytes: u64, block: impl Into<Vec<u8>>) -> Self {
        let block = block.into();
        Text { name, times: bytes.div_ceil(block.len() as u64).max(1), block }
    }

    /// At least this many bytes in lines of 1 to 20 words of 1 to 11 letters; one word in 33 has a letter beyond ASCII.
    pub(crate) fn prose(bytes: u64) -> Self {
        Text::new("prose", bytes, prose())
    }

    /// This many copies of one sentence, which has many spaces.
    pub(crate) fn sentences(lines: u64) -> Self {
        Text::new("sentences", lines * SENTENCE.len() as u64, SENTENCE)
    }

    /// At least this many bytes in lines of JSON, an order each: seven fields, one of them an object, one an array.
    pub(crate) fn orders(bytes: u64) -> Self {
        Text::new("orders", bytes, orders())
    }

    /// At least this many bytes of a table of orders in CSV: a header, and rows of five cells.
    pub(crate) fn table(bytes: u64) -> Result<PathBuf, Failure> {
        let rows = Text::new("table", bytes, table());
        made(&format!("table-{}", rows.bytes()), |out| {
            out.write_all(b"id,user,qty,price,at\n")?;
            rows.write_to(out)
        })
    }

    /// At least this many bytes in lines of seven letters.
    pub(crate) fn letters(bytes: u64) -> Self {
        Text::new("letters", bytes, "abcdefg\n")
    }

    /// This many lines, each with its number.
    pub(crate) fn numbered(lines: u64) -> Self {
        let block: String = (0..lines).map(|n| format!("line {n}\n")).collect();
        Text::new("numbered", block.len() as u64, block)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.times * self.block.len() as u64
    }

    /// Writes the whole text.
    pub(crate) fn write_to(&self, out: &mut (impl Write + ?Sized)) -> std::io::Result<()> {
        // A short block is repeated to a larger piece.
        let at_once = (1 << 20) / self.block.len() as u64 + 1;
        let piece = self.block.repeat(at_once.min(self.times) as usize);
        let mut left = self.bytes();
        while left > 0 {
            let length = left.min(piece.len() as u64);
            out.write_all(&piece[..length as usize])?;
            left -= length;
        }
        Ok(())
    }

    /// The hash of the text that `f` makes from whole lines.
    pub(crate) fn hash(&self, f: impl Fn(&[u8]) -> Vec<u8>) -> u64 {
        let mapped = Text { name: self.name, block: f(&self.block), times: self.times };
        let mut hash = Hash::default();
        mapped.write_to(&mut hash).expect("a hash takes everything");
        hash.finish()
    }

    /// Lines, words and bytes.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let lines = self.block.iter().filter(|byte| **byte == b'\n').count() as u64;
        let words = self.block.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count() as u64;
        (lines * self.times, words * self.times, self.bytes())
    }

    /// A file in memory with the text, below the system's directory for such files. Makes the file if it does not
    /// exist.
    pub(crate) fn file(&self) -> Result<PathBuf, Failure> {
        made(&format!("{}-{}", self.name, self.bytes()), |out| self.write_to(out))
    }
}

/// The line of this number: ten words, of 4,096 different ones.
pub(crate) fn line_of_words(n: u64) -> String {
    let word = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    (0..10).map(|k| format!("w{}", word(n * 10 + k))).collect::<Vec<_>>().join(" ")
}

/// A file in memory with this name and the bytes that `write` writes, below the system's directory for such files.
/// Makes the file if it does not exist.
pub(crate) fn made(
    name: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<PathBuf, Failure> {
    let path = std::env::temp_dir().join(format!("millstream-{name}.txt"));
    if !path.exists() {
        let partial = path.with_extension(format!("{}.partial", std::process::id()));
        let cannot = || Failure::io(format!("cannot write {}", partial.display()));
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&partial).map_err(cannot())?);
        write(&mut out).map_err(cannot())?;
        out.into_inner().map_err(|error| cannot()(error.into_error()))?;
        std::fs::rename(&partial, &path).map_err(cannot())?;
    }
    warm(&path)?;
    Ok(path)
}

/// Reads the whole file, so that the system keeps it in memory.
fn warm(path: &Path) -> Result<(), Failure> {
    let cannot = || Failure::io(format!("cannot read {}", path.display()));
    let mut file = File::open(path).map_err(cannot())?;
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer).map_err(cannot())? > 0 {}
    Ok(())
}

fn orders() -> String {
    let mut random = SplitMix64::new(27);
    let users: Vec<_> = (0..2000).map(|_| word(&mut random, false)).collect();
    let mut block = String::new();
    for id in 0..LINES {
        let (user, item) = (&users[random.below(2000) as usize], word(&mut random, id.is_multiple_of(33)));
        let (qty, cents) = (1 + random.below(20), random.below(10_000));
        let (price, second) = (cents as f64 / 100.0, random.below(86_400));
        writeln!(
            block,
            "{{\"id\":{id},\"user\":\"{user}\",\"qty\":{qty},\"price\":{price},\"at\":{second},\
             \"item\":{{\"name\":\"{item}\",\"weight\":{}}},\"tags\":[\"{user}\",\"a \\\"b\\\"\"]}}",
            random.below(5000)
        )
        .expect("a string takes everything");
    }
    block
}

fn table() -> String {
    let mut random = SplitMix64::new(27);
    let users: Vec<_> = (0..2000).map(|_| word(&mut random, false)).collect();
    let mut block = String::new();
    for id in 0..LINES {
        let (user, qty, cents) = (&users[random.below(2000) as usize], 1 + random.below(20), random.below(10_000));
        let at = random.below(86_400);
        writeln!(block, "{id},{user},{qty},{},{at}", cents as f64 / 100.0).expect("a string takes everything");
    }
    block
}

fn prose() -> String {
    let mut random = SplitMix64::new(42);
    let words: Vec<_> = (0..WORDS).map(|i| word(&mut random, i.is_multiple_of(33))).collect();
    let mut block = String::new();
    for _ in 0..LINES {
        for i in 0..=random.below(20) {
            if i > 0 {
                block.push(' ');
            }
            block.push_str(&words[random.below(WORDS as u64) as usize]);
        }
        block.push('\n');
    }
    block
}

fn word(random: &mut SplitMix64, beyond_ascii: bool) -> String {
    let length = 1 + random.below(11) as usize;
    let mut word: String = (0..length).map(|_| char::from(b'a' + random.below(26) as u8)).collect();
    if beyond_ascii {
        word.insert(length / 2, BEYOND_ASCII[random.below(BEYOND_ASCII.len() as u64) as usize]);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_loop::headed;

    #[test]
    fn prose_has_its_proportions() {
        let block = prose();
        assert_eq!(block, prose());
        assert_eq!(block.lines().count(), LINES);
        assert!(block.ends_with('\n'));
        let most = block.lines().map(|line| line.split(' ').count()).max();
        assert_eq!(most, Some(20));
        assert!(block.split_whitespace().all(|word| (1..=12).contains(&word.chars().count())));
        assert!(!block.is_ascii());
    }

    #[test]
    fn a_text_repeats_its_block() {
        assert_eq!(Text::sentences(1_000_000).bytes(), 286_000_000);
        assert_eq!(Text::letters(100).bytes(), 104);
        let mut written = Vec::new();
        Text::numbered(3).write_to(&mut written).unwrap();
        assert_eq!(written, b"line 0\nline 1\nline 2\n");
        for text in [Text::letters(3_000_000), Text::prose(3_000_000), Text::sentences(5)] {
            let mut written = Vec::new();
            text.write_to(&mut written).unwrap();
            assert_eq!(written.len() as u64, text.bytes());
            assert!(written.chunks(text.block.len()).all(|chunk| chunk == text.block));
            let mut hash = Hash::default();
            hash.write_all(&headed(&written)).unwrap();
            assert_eq!(hash.finish(), text.hash(headed));
        }
    }
}
