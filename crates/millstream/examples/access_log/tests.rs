use super::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The report and the dead letters, by code that shares nothing with the program: strings, and one list of all lines.
fn by_hand(log: &[u8]) -> (String, String) {
    type Window<'a> = (u64, u64, Vec<u32>, HashMap<&'a str, u64>);
    let (mut report, mut letters) = (String::new(), String::new());
    let mut open = BTreeMap::<u64, Window<'_>>::new();
    let (mut newest, mut late) = (0, 0);
    let mut close = |start: u64, (lines, bytes, mut micros, paths): Window<'_>, late: &mut u64| {
        micros.sort_unstable();
        let rank = (0.95 * micros.len() as f64 - 1e-9).ceil() as usize;
        report += &format!("{start},{lines},{bytes},{},{late}", micros[rank - 1]);
        *late = 0;
        let mut paths: Vec<_> = paths.into_iter().map(|(path, count)| (u64::MAX - count, path, count)).collect();
        paths.sort_unstable();
        paths.iter().take(5).for_each(|(_, path, count)| report += &format!(",{path} {count}"));
        report.push('\n');
    };
    let text: Vec<&[u8]> = log.strip_suffix(b"\n").unwrap_or(log).split(|byte| *byte == b'\n').collect();
    for (number, line) in text.iter().enumerate().filter(|_| !log.is_empty()) {
        let parsed = std::str::from_utf8(line).map_err(|_| "no time").and_then(fields);
        let (time, path, bytes, micros) = match parsed {
            Ok(fields) => fields,
            Err(why) => {
                letters += &format!("{}: {why}: {}\n", number + 1, line.escape_ascii());
                continue;
            }
        };
        let start = time / 60 * 60;
        if start + 60 <= u64::saturating_sub(newest, 20) {
            late += 1;
            continue;
        }
        newest = time.max(newest);
        let window = open.entry(start).or_default();
        *window = (window.0 + 1, window.1 + bytes, std::mem::take(&mut window.2), std::mem::take(&mut window.3));
        window.2.push(micros);
        *window.3.entry(path).or_default() += 1;
        while let Some(first) = open.first_entry().filter(|first| first.key() + 60 <= newest.saturating_sub(20)) {
            let (start, window) = first.remove_entry();
            close(start, window, &mut late);
        }
    }
    while let Some((start, window)) = open.pop_first() {
        close(start, window, &mut late);
    }
    (report, letters)
}

fn fields(line: &str) -> Result<(u64, &str, u64, u32), &'static str> {
    let (_, rest) = line.split_once('[').ok_or("no time")?;
    let time = rest.split(']').next().and_then(|time| time.parse().ok()).ok_or("no time")?;
    let (_, rest) = rest.split_once(']').ok_or("no request")?;
    let (request, rest) = rest.strip_prefix(" \"").and_then(|rest| rest.split_once('"')).ok_or("no request")?;
    let [_, path, _] = request.split(' ').collect::<Vec<_>>()[..] else { return Err("no request") };
    let (status, rest) = rest.strip_prefix(' ').and_then(|rest| rest.split_once(' ')).ok_or("no status")?;
    if !status.parse().is_ok_and(|status: u64| (100..600).contains(&status)) {
        return Err("no status");
    }
    let (bytes, rest) = rest.split_once(' ').ok_or("no bytes")?;
    let bytes = bytes.parse().map_err(|_| "no bytes")?;
    let (_, agent) = rest.split_once('"').ok_or("no bytes")?;
    let (_, micros) = agent.rsplit_once("\" ").ok_or("no response time")?;
    Ok((time, path, bytes, micros.parse().map_err(|_| "no response time")?))
}

/// A receiver of dead letters, and the letters that it has received.
fn letters() -> (Arc<Mutex<String>>, impl Dead) {
    let received = Arc::new(Mutex::new(String::new()));
    let letters = received.clone();
    (received, move |number: u64, why: Malformed, line: &[u8]| {
        *letters.lock().unwrap() += &format!("{number}: {why}: {}\n", line.escape_ascii());
    })
}

/// Every deployment has the bytes of `by_hand`, wherever a read of `size` bytes ends.
fn agrees(p: &impl Pipeline<Block, String>, received: &Mutex<String>, log: &[u8], size: usize) {
    let expected = by_hand(log);
    let log = || WholeBlocks::lines(io::Cursor::new(log.to_vec())).size(size);
    let check = |rows: Vec<String>, on: &str| {
        let letters = std::mem::take(&mut *received.lock().unwrap());
        assert_eq!((rows.concat(), letters), expected, "{on}, reads of {size}");
    };
    check(p.model(log()), "the model");
    check(Inline::default().collect(p.from(log())).unwrap(), "inline");
    for (workers, slots) in [(1, 2), (1, 64), (2, 2), (2, 64), (3, 4096)] {
        let rows = Rings::new().workers(workers).ring(slots).collect(p.from(log())).unwrap();
        check(rows, &format!("{workers} workers, rings of {slots}"));
    }
}

fn log(bytes: u64) -> Vec<u8> {
    let mut log = Vec::new();
    let written = generated::write_log(bytes, &mut log).unwrap();
    assert_eq!(log.len() as u64, written);
    log
}

#[test]
fn both_ways_write_the_same_bytes_on_every_deployment() {
    // A minute and a half: two windows, late lines between them.
    let long = log(9_000_000);
    let short = log(20_000);
    let cut = &short[..short.len() - 30];
    assert!(by_hand(&long).0.lines().nth(1).is_some_and(|row| row.split(',').nth(4) != Some("0")), "no line is late");
    for (log, size) in [(&long[..], 1 << 16), (&short, 100), (&short, 4096), (cut, 1000), (b"", 10), (b"\n\n", 10)] {
        for shards in 1..=2 {
            let (received, dead) = letters();
            agrees(&by_blocks(shards, dead), &received, log, size);
            let (received, dead) = letters();
            agrees(&by_lines(shards, dead), &received, log, size);
        }
    }
}

#[test]
fn a_log_is_the_same_every_time_and_has_malformed_lines() {
    let (short, long) = (log(10_000), log(500_000));
    assert!(long.starts_with(&short));
    let lines = long.split(|byte| *byte == b'\n').count();
    let malformed = by_hand(&long).1.lines().count();
    assert!((lines / 50..lines / 25).contains(&malformed), "{malformed} of {lines} lines");
}
