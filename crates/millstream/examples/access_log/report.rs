//! Windows of event time, and what the report says of each.

use super::entry::Entry;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::hash::{BuildHasherDefault, Hasher};
use std::mem;

/// The seconds of a window.
pub(crate) const WINDOW: u64 = 60;
/// The seconds by which a line may come after a later one.
pub(crate) const LATENESS: u64 = 20;
/// The paths that a row has.
pub(crate) const TOP: usize = 5;

/// The windows that are open: few, since lines come nearly in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    /// By start.
    open: Vec<Counts>,
    /// The greatest time seen.
    greatest: u64,
    /// The lines that came too late since the last window closed.
    late: u64,
    /// Memory of a window that has closed.
    spare: Counts,
}

/// The counts of one window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    start: u64,
    lines: u64,
    bytes: u64,
    micros: Vec<u32>,
    paths: Paths,
}

impl Windows {
    /// Counts a line, and returns the rows of the windows that it closes.
    #[inline]
    pub(crate) fn add(&mut self, entry: &Entry, path: &[u8]) -> Vec<String> {
        let start = entry.time - entry.time % WINDOW;
        if start + WINDOW + LATENESS <= self.greatest {
            self.late += 1;
            return Vec::new();
        }
        let rows = if entry.time > self.greatest { self.advance(entry.time) } else { Vec::new() };
        let place = match self.open.iter().rposition(|counts| counts.start <= start) {
            Some(at) if self.open[at].start == start => at,
            before => self.begin(before.map_or(0, |at| at + 1), start),
        };
        self.open[place].add(entry, path);
        rows
    }

    #[inline]
    fn advance(&mut self, time: u64) -> Vec<String> {
        self.greatest = time;
        let closed = self.open.iter().take_while(|counts| counts.start + WINDOW + LATENESS <= time).count();
        if closed == 0 { Vec::new() } else { self.close(closed) }
    }

    /// The rows of the windows that are still open, at the end.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.close(self.open.len())
    }

    #[cold]
    fn begin(&mut self, at: usize, start: u64) -> usize {
        let counts = Counts { start, ..mem::take(&mut self.spare) };
        self.open.insert(at, counts);
        at
    }

    #[cold]
    fn close(&mut self, closed: usize) -> Vec<String> {
        let mut rows = Vec::with_capacity(closed);
        for mut counts in self.open.drain(..closed) {
            rows.push(counts.row(counts.start, mem::take(&mut self.late)));
            counts.clear();
            self.spare = counts;
        }
        rows
    }
}

impl Counts {
    #[inline]
    pub(crate) fn add(&mut self, entry: &Entry, path: &[u8]) {
        self.lines += 1;
        self.bytes += entry.bytes;
        self.micros.push(entry.micros);
        self.paths.add(path);
    }

    fn clear(&mut self) {
        (self.lines, self.bytes) = (0, 0);
        self.micros.clear();
        self.paths.clear();
    }

    /// The start, the lines, the bytes, the 95th percentile of the response time (by the nearest rank), the lines that
    /// came too late since the row before, and the most frequent paths with their counts.
    pub(crate) fn row(&self, start: u64, late: u64) -> String {
        let rank = (self.micros.len() * 95).div_ceil(100) - 1;
        let mut micros = self.micros.clone();
        let (_, p95, _) = micros.select_nth_unstable(rank);
        let mut row = format!("{start},{},{},{p95},{late}", self.lines, self.bytes);
        for (path, count) in self.paths.top() {
            write!(row, ",{} {count}", String::from_utf8_lossy(path)).expect("a string takes everything");
        }
        row.push('\n');
        row
    }
}

/// The rows of these lines, by definition: what [`Windows`] means. Each line has its text.
pub(crate) fn meaning(lines: &[(&[u8], &Entry)], ended: bool) -> Vec<String> {
    let ends = |time: u64| time - time % WINDOW + WINDOW;
    let (mut greatest, mut late) = (0, Vec::new());
    let mut windows = BTreeMap::<u64, Vec<usize>>::new();
    for (at, (_, entry)) in lines.iter().enumerate() {
        if ends(entry.time) + LATENESS <= greatest {
            late.push(at);
        } else {
            windows.entry(ends(entry.time)).or_default().push(at);
        }
        greatest = entry.time.max(greatest);
    }
    let (mut rows, mut before) = (Vec::new(), 0);
    for (end, members) in windows {
        let closes = lines.iter().position(|(_, entry)| entry.time >= end + LATENESS);
        let Some(closes) = closes.or_else(|| ended.then_some(lines.len())) else { continue };
        let mut micros: Vec<u32> = members.iter().map(|at| lines[*at].1.micros).collect();
        micros.sort_unstable();
        let mut counts = BTreeMap::<&[u8], u64>::new();
        for at in &members {
            let (line, entry) = lines[*at];
            *counts.entry(&line[entry.path()]).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        let top = counts.iter().take(TOP).map(|(path, count)| format!(",{} {count}", String::from_utf8_lossy(path)));
        let bytes: u64 = members.iter().map(|at| lines[*at].1.bytes).sum();
        let p95 = micros[(micros.len() * 95).div_ceil(100) - 1];
        let missed = late.iter().filter(|at| (before..closes).contains(*at)).count();
        let top: String = top.collect();
        rows.push(format!("{},{},{bytes},{p95},{missed}{top}\n", end - WINDOW, members.len()));
        before = closes;
    }
    rows
}

/// How often each path came. A path is copied when it comes for the first time.
#[derive(Clone, Debug, Default)]
struct Paths(HashMap<Box<[u8]>, u64, BuildHasherDefault<WordHash>>);

impl Paths {
    #[inline]
    fn add(&mut self, path: &[u8]) {
        match self.0.get_mut(path) {
            Some(count) => *count += 1,
            None => _ = self.0.insert(path.into(), 1),
        }
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    /// The most frequent ones first, and equally frequent ones in the order of their bytes.
    fn top(&self) -> Vec<(&[u8], u64)> {
        let mut top: Vec<_> = self.0.iter().map(|(path, count)| (&**path, *count)).collect();
        let order = |a: &(&[u8], u64), b: &(&[u8], u64)| b.1.cmp(&a.1).then(a.0.cmp(b.0));
        if top.len() > TOP {
            top.select_nth_unstable_by(TOP, order);
            top.truncate(TOP);
        }
        top.sort_unstable_by(order);
        top
    }
}

/// A hash of eight bytes at a time. Clients that choose their paths can make it slow.
#[derive(Clone, Copy, Debug, Default)]
struct WordHash(u64);

impl Hasher for WordHash {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.write_u64(u64::from_le_bytes(last));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    #[inline]
    fn write_usize(&mut self, length: usize) {
        self.write_u64(length as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
