//! Stages of the run that have threads of their own, while other versions come and go.

use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, sink, source};
use millstream_testkit::within;
use std::time::{Duration, Instant};

/// How many threads of this process have a name that begins so.
fn threads(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|of| of.starts_with(name)).count()
}

#[test]
fn a_stage_keeps_its_one_thread() {
    within(Duration::from_secs(60), || {
        let (sender, receiver) = source::channel(16);
        let blocking = pipeline::<u64>().map_blocking(|x: &u64| x + 1).named("0ne");
        let run = Rings::new().start((&blocking).from(receiver).to(sink::collect())).unwrap();
        // The system keeps fifteen letters of a name.
        let own = || threads("millstream-0ne");
        for n in 0..10 {
            let shadow = run.shadow(pipeline::<u64>().map_blocking(|x: &u64| x + 1).named("0ther")).unwrap();
            sender.send(n).unwrap();
            assert_eq!(shadow.wait(1), Ok(1));
            assert_eq!(own(), 1, "with {} shadows", n + 1);
            drop(shadow);
        }
        drop(sender);
        assert_eq!(run.wait().unwrap().0, (1..=10).collect::<Vec<u64>>());
        let since = Instant::now();
        while own() > 0 {
            assert!(since.elapsed() < Duration::from_secs(30), "the thread does not end");
            std::thread::yield_now();
        }
    })
    .unwrap();
}
