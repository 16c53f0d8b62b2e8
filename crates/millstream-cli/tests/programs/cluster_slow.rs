//! A cluster whose reader is slow, or is not there: the feed waits, and no process keeps what the reader has not read.

use crate::cluster::{Cluster, Worker};
use crate::scene::{ended, resident_peak};
use std::io::Read;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The size of the text: far more than any process may keep.
const TEXT: usize = 128 << 20;
/// The most memory of a process.
const MOST: u64 = 64 << 20;

#[test]
fn a_slow_reader_holds_the_feed_back_and_no_process_grows() {
    let Some(cluster) = Cluster::start("a_slow_reader_holds_the_feed_back_and_no_process_grows", "") else { return };
    cluster.done("cluster apply uppercase --app a --capacity 16", b"");
    let line = format!("{}\n", "to be or not to be ".repeat(50));
    let text = line.repeat(TEXT / line.len());
    std::fs::write(cluster.scene.path("text"), &text).unwrap();
    let worker = cluster.worker("a");
    let mut feed = cluster.command("cluster feed --app a --end text");
    let mut feed = Worker(feed.stdout(Stdio::null()).spawn().unwrap());
    // Nothing reads: both edges are full, and stay as they are.
    let (begun, mut last, mut same) = (Instant::now(), serde_json::Value::Null, 0);
    while same < 5 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{last}");
        sleep(Duration::from_millis(100));
        let now = cluster.status("a");
        let is_full = now["input"]["entries"] == 16 && now["output"]["entries"] == 16;
        same = if is_full && now["input"]["last"] == last["input"]["last"] { same + 1 } else { 0 };
        last = now;
    }
    assert!(last["input"]["last"].as_u64() <= Some(32), "{last}");
    assert!(feed.0.try_wait().unwrap().is_none());
    // A slow reader gets all of it.
    let mut read = cluster.command("cluster read --app a --trim");
    let mut read = Worker(read.stdout(Stdio::piped()).spawn().unwrap());
    let (mut out, mut buffer, mut got) = (read.0.stdout.take().unwrap(), vec![0; 1 << 16], 0);
    let expected = text.to_uppercase();
    while let bytes @ 1.. = out.read(&mut buffer).unwrap() {
        assert!(buffer[..bytes] == expected.as_bytes()[got..][..bytes], "byte {got} to {}", got + bytes);
        got += bytes;
        if got < TEXT / 8 {
            sleep(Duration::from_millis(5));
        }
        for id in [worker.0.id(), feed.0.id(), read.0.id()] {
            // A process that has ended reports nothing.
            let peak = resident_peak(id).unwrap_or_default();
            assert!(peak < MOST, "process {id} has used {peak} bytes");
        }
    }
    assert_eq!(got, expected.len());
    assert_eq!((ended(&mut read.0).code(), ended(&mut feed.0).code()), (Some(0), Some(0)));
}
