//! A file of made-up text, the same everywhere: lines of 1 to 20 words of 1 to 11 letters, one word in 33 with a letter
//! beyond ASCII.

use crate::failure::Failure;
use crate::hash::Hash;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

const WORDS: usize = 20_000;
const LINES: usize = 60_000;
const BEYOND_ASCII: [char; 9] = ['é', 'ü', 'ø', 'ß', 'ç', 'ž', 'λ', 'я', 'ñ'];

/// A file of at least `bytes` bytes and whole lines, below the system's directory for such files; made if it is not
/// there.
pub(crate) fn file(bytes: u64) -> Result<PathBuf, Failure> {
    // The name says what is in it: another way to make text needs another number.
    made("text-1", bytes, || block().into_bytes())
}

/// A file of one block again and again, at least `bytes` bytes. Its name is that of what is in it.
pub(crate) fn made(name: &str, bytes: u64, block: impl FnOnce() -> Vec<u8>) -> Result<PathBuf, Failure> {
    let path = std::env::temp_dir().join(format!("millstream-{name}-{bytes}.txt"));
    if path.metadata().is_ok_and(|data| data.len() >= bytes) {
        return Ok(path);
    }
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    let cannot = || Failure::io(format!("cannot write {}", partial.display()));
    let mut out = BufWriter::new(File::create(&partial).map_err(cannot())?);
    let block = block();
    let mut written = 0;
    while written < bytes {
        out.write_all(&block).map_err(cannot())?;
        written += block.len() as u64;
    }
    out.into_inner().map_err(|error| cannot()(error.into_error()))?;
    std::fs::rename(&partial, &path).map_err(cannot())?;
    Ok(path)
}

/// Reads the whole file, so that the system keeps it in memory. Returns its length.
pub(crate) fn warm(path: &Path) -> Result<u64, Failure> {
    let cannot = || Failure::io(format!("cannot read {}", path.display()));
    let mut file = File::open(path).map_err(cannot())?;
    let mut buffer = vec![0; 1 << 20];
    let mut length = 0;
    loop {
        match file.read(&mut buffer).map_err(cannot())? {
            0 => return Ok(length),
            read => length += read as u64,
        }
    }
}

/// The hash of a file.
pub(crate) fn hash(path: &Path) -> Result<u64, Failure> {
    hash_of_blocks(path, |block, hash| hash.write_all(block))
}

/// The hash of what a function writes of a file's blocks, which may be cut anywhere.
pub(crate) fn hash_of_blocks(
    path: &Path,
    mut write: impl FnMut(&mut [u8], &mut Hash) -> io::Result<()>,
) -> Result<u64, Failure> {
    let cannot = || Failure::io(format!("cannot read {}", path.display()));
    let (mut file, mut block, mut hash) = (File::open(path).map_err(cannot())?, vec![0; 1 << 18], Hash::default());
    loop {
        match file.read(&mut block).map_err(cannot())? {
            0 => return Ok(hash.finish()),
            read => write(&mut block[..read], &mut hash).map_err(cannot())?,
        }
    }
}

fn block() -> String {
    let mut random = Random(42);
    let words: Vec<_> = (0..WORDS).map(|i| word(&mut random, i.is_multiple_of(33))).collect();
    let mut block = String::new();
    for _ in 0..LINES {
        for i in 0..=random.below(20) {
            if i > 0 {
                block.push(' ');
            }
            block.push_str(&words[random.below(WORDS)]);
        }
        block.push('\n');
    }
    block
}

fn word(random: &mut Random, beyond_ascii: bool) -> String {
    let length = 1 + random.below(11);
    let mut word: String = (0..length).map(|_| char::from(b'a' + random.below(26) as u8)).collect();
    if beyond_ascii {
        word.insert(length / 2, BEYOND_ASCII[random.below(BEYOND_ASCII.len())]);
    }
    word
}

/// Splitmix64.
struct Random(u64);

impl Random {
    /// A number from 0 on, less than `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_as_it_says() {
        let block = block();
        assert_eq!(block, super::block());
        assert_eq!(block.lines().count(), LINES);
        assert!(block.ends_with('\n'));
        let most = block.lines().map(|line| line.split(' ').count()).max();
        assert_eq!(most, Some(20));
        assert!(block.split_whitespace().all(|word| (1..=12).contains(&word.chars().count())));
        assert!(!block.is_ascii());
    }
}
