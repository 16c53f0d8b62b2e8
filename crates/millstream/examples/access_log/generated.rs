//! A generated access log, the same on every machine.

use millstream::core::SplitMix64;
use std::io::{self, Write};

const PATHS: u64 = 3_000;
const LINES_A_SECOND: u64 = 1_000;
/// The time of the first line.
const FIRST: u64 = 1_700_000_000;
/// One line in this many comes late, by less than twice [`USUALLY_LATE`] seconds.
const LATE_ONE_IN: u64 = 20;
const USUALLY_LATE: u64 = 15;
const MALFORMED_PERCENT: u64 = 3;

const METHODS: [&str; 4] = ["GET", "GET", "GET", "POST"];
const WORDS: [&str; 12] =
    ["mill", "wheel", "stone", "stream", "sack", "flour", "grain", "door", "pond", "weir", "sluice", "miller"];
const STATUSES: [u64; 6] = [200, 200, 200, 304, 404, 500];
const AGENTS: [&str; 3] = ["Mozilla/5.0 (X11; Linux x86_64)", "Mozilla/5.0 (Macintosh)", "curl/8.14.1"];

/// Writes a log of at least this many bytes. Returns how many it has.
pub(crate) fn write_log(bytes: u64, out: &mut impl Write) -> io::Result<u64> {
    let mut random = SplitMix64::new(11);
    let paths: Vec<String> = (0..PATHS).map(|n| path(&mut random, n)).collect();
    let (mut written, mut lines, mut line) = (0, 0, Vec::new());
    while written < bytes {
        line.clear();
        write_line(&mut random, FIRST + lines / LINES_A_SECOND, &paths, &mut line)?;
        if random.below(100) < MALFORMED_PERCENT {
            spoil(&mut random, &mut line);
        }
        line.push(b'\n');
        out.write_all(&line)?;
        (written, lines) = (written + line.len() as u64, lines + 1);
    }
    out.flush()?;
    Ok(written)
}

fn path(random: &mut SplitMix64, number: u64) -> String {
    let word = |random: &mut SplitMix64| WORDS[random.below(WORDS.len() as u64) as usize];
    format!("/{}/{}/{number}", word(random), word(random))
}

fn write_line(random: &mut SplitMix64, time: u64, paths: &[String], line: &mut Vec<u8>) -> io::Result<()> {
    let late = if random.below(LATE_ONE_IN) == 0 { random.below(2 * USUALLY_LATE) } else { 0 };
    let of = |random: &mut SplitMix64, among: usize| random.below(among as u64) as usize;
    let host = random.below(1 << 16);
    // The first paths are the most frequent ones.
    let path = (random.below(PATHS) * random.below(PATHS) / PATHS) as usize;
    let micros = 200 + random.below(1_000) * (1 + random.below(1_000)) / 100;
    write!(
        line,
        "10.3.{}.{} - - [{}] \"{} {} HTTP/1.1\" {} {} \"{}\" {micros}",
        host >> 8,
        host & 255,
        time - late,
        METHODS[of(random, METHODS.len())],
        paths[path],
        STATUSES[of(random, STATUSES.len())],
        random.below(100_000),
        AGENTS[of(random, AGENTS.len())],
    )
}

/// Makes a line malformed: cut short, without a number, of other bytes, or empty.
fn spoil(random: &mut SplitMix64, line: &mut Vec<u8>) {
    match random.below(4) {
        0 => line.truncate(random.below(line.len() as u64 - 8) as usize),
        1 => line.iter_mut().filter(|byte| **byte == b'[').for_each(|byte| *byte = b'('),
        2 => line.iter_mut().for_each(|byte| *byte |= 0x80),
        _ => line.clear(),
    }
}
