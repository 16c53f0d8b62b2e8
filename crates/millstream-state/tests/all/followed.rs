//! A job over a file that is followed, and that dies before its first snapshot.

use millstream_core::text::Block;
use millstream_core::{Arrow, TextExt, pipeline};
use millstream_exec::Rings;
use millstream_io::FileSink;
use millstream_state::{Cadence, FollowedFile, Persistent, StateDir};
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn a_file_that_was_renamed_before_the_first_snapshot_is_read_from_its_beginning() {
    let home = tempfile::tempdir().unwrap();
    let (log, out) = (home.path().join("log"), home.path().join("out"));
    let counted = pipeline::<Block>()
        .lines()
        .scan(0_u64, |count, line| {
            *count += 1;
            format!("{count} {}\n", String::from_utf8_lossy(&line))
        })
        .named("count");
    let life = |expected: &str| {
        let state = StateDir::open(home.path().join("state"), "count").unwrap();
        let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall);
        let source = FollowedFile::new(&log).interval(Duration::from_millis(1));
        let running = job.start(&counted, source, FileSink::append(&out)).unwrap();
        let begun = Instant::now();
        while fs::read_to_string(&out).unwrap() != expected {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", fs::read_to_string(&out));
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(running);
    };
    fs::write(&log, "a\nb\n").unwrap();
    life("1 a\n2 b\n");
    fs::rename(&log, home.path().join("log.1")).unwrap();
    fs::write(&log, "c\n").unwrap();
    life("1 a\n2 b\n3 c\n");
}
