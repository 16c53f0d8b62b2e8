//! Windows of event time, and what the report says of each.

use super::entry::Entry;
use hashbrown::HashTable;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
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
        self.paths.add(path, entry.path_hash);
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
        for Path { bytes, count, .. } in self.paths.top() {
            write!(row, ",{} {count}", String::from_utf8_lossy(bytes)).expect("a string takes everything");
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
struct Paths(HashTable<Path>);

#[derive(Clone, Debug)]
struct Path {
    hash: u64,
    count: u64,
    bytes: Box<[u8]>,
}

impl Paths {
    #[inline]
    fn add(&mut self, bytes: &[u8], hash: u64) {
        match self.0.find_mut(hash, |path| path.hash == hash && *path.bytes == *bytes) {
            Some(path) => path.count += 1,
            None => _ = self.0.insert_unique(hash, Path { hash, count: 1, bytes: bytes.into() }, |path| path.hash),
        }
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    /// The most frequent ones first, and equally frequent ones in the order of their bytes.
    fn top(&self) -> Vec<&Path> {
        let mut top: Vec<_> = self.0.iter().collect();
        let order = |a: &&Path, b: &&Path| b.count.cmp(&a.count).then(a.bytes.cmp(&b.bytes));
        if top.len() > TOP {
            top.select_nth_unstable_by(TOP, order);
            top.truncate(TOP);
        }
        top.sort_unstable_by(order);
        top
    }
}
