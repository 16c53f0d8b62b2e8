//! Pinned workers: the kernel's view of their threads. Alone in its test binary, since it finds the workers among the
//! process's threads by their names.
#![cfg(target_os = "linux")]

use millstream_core::{Arrow, Val, pipeline};
use millstream_exec::{BoxExact, BoxExt, Inline, JobExt, JobRefExt, Rings, Runner, sink, source};
use std::collections::HashMap;
use std::fs::read_to_string;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The value of this key in `status`.
fn field(status: &str, key: &str) -> Option<String> {
    status.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim().to_owned()))
}

/// The cores that every thread of this process may use, by the thread's name.
fn masks() -> HashMap<String, String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it");
    let statuses = tasks.filter_map(|task| read_to_string(task.ok()?.path().join("status")).ok());
    statuses.filter_map(|status| Some((field(&status, "Name")?, field(&status, "Cpus_allowed_list")?))).collect()
}

/// How many cores a list such as `0-3,8` names.
fn count(list: &str) -> usize {
    let ends = |range: &str| range.split('-').map(|core| core.parse().expect("a number")).collect::<Vec<usize>>();
    list.split(',').map(ends).map(|ends| ends[ends.len() - 1] - ends[0] + 1).sum()
}

#[test]
fn every_worker_has_a_core_of_its_own_or_the_report_says_why_not() {
    let cores = count(&mask());
    let workers = cores + 1;
    // As many stages as workers, so that none is surplus, and a value that holds the run until the masks were read.
    let (go, gone) = channel::<()>();
    let source = (0..64_u64).inspect(move |x| {
        if *x == 63 {
            gone.recv().unwrap_or(())
        }
    });
    let mut p: BoxExact<Val<u64>, Val<u64>> = pipeline::<u64>().map(|x| x + 1).boxed_exact();
    for _ in 1..workers {
        p = p.map(|x| x + 1).boxed_exact();
    }
    let run =
        Rings::new().workers(workers).pin_workers(true).start((&p).from(source).to_fold(0, |n, _, _| *n += 1)).unwrap();
    let name = |worker: usize| format!("millstream-{worker}");
    let pinned = |masks: &HashMap<String, String>| {
        let wanted = |worker| if worker < cores { 1 } else { cores };
        (0..workers).all(|worker| masks.get(&name(worker)).is_some_and(|mask| count(mask) == wanted(worker)))
    };
    let seen = (0..600).find_map(|_| {
        let seen = masks();
        std::thread::sleep(Duration::from_millis(20));
        pinned(&seen).then_some(seen)
    });
    drop(go);
    let (_, report) = run.wait().unwrap();
    let seen = seen.unwrap_or_else(|| panic!("{:?}, {:?}", masks(), report.decisions));
    let pinned: Vec<Option<String>> = report.pinned.iter().map(|core| core.map(|core| core.to_string())).collect();
    let mut expected: Vec<_> = (0..cores).map(|worker| Some(seen[&name(worker)].clone())).collect();
    expected.push(None);
    assert_eq!(pinned, expected);
    let distinct: std::collections::HashSet<_> = expected.iter().collect();
    assert_eq!(distinct.len(), workers);
    assert!(
        report.decisions.contains(&format!("not pinned: worker {cores}: there are only {cores} cores to pin to")),
        "{:?}",
        report.decisions
    );
}

/// The cores that the calling thread may use.
fn mask() -> String {
    field(&read_to_string("/proc/thread-self/status").unwrap(), "Cpus_allowed_list").unwrap()
}

/// The thread of a stage that blocks is not pinned, also where a pinned worker starts it.
#[test]
fn threads_that_an_upgrade_starts_are_not_pinned() {
    let (sender, receiver) = source::channel(16);
    let rings = Rings::new().workers(1).pin_workers(true);
    let run = rings.start(pipeline::<u64>().map(|_| String::new()).from(receiver).to(sink::collect())).unwrap();
    sender.send(0).unwrap();
    run.upgrade(pipeline::<u64>().map_blocking(|_| mask())).unwrap();
    sender.send(1).unwrap();
    drop(sender);
    assert_eq!(run.wait().unwrap().0, [String::new(), mask()]);
}

/// Nor are those of the runtime around its futures, which a pinned worker starts.
#[test]
#[cfg(feature = "tokio")]
fn threads_of_a_runs_runtime_are_not_pinned() {
    use millstream_core::AsyncExt;
    let p = pipeline::<u64>().map_async(1, |_| async {
        let task = tokio::spawn(async { mask() }).await.unwrap();
        (task, tokio::task::spawn_blocking(mask).await.unwrap())
    });
    let rings = Rings::new().workers(1).pin_workers(true);
    assert_eq!(rings.collect(p.from(source::ready(0..1))).unwrap(), [(mask(), mask())]);
}

#[test]
fn the_calling_thread_is_not_pinned() {
    let before = mask();
    let rings = Rings::new().pin_workers(true);
    let (_, report) =
        Inline::new(rings.clone()).run(pipeline::<u64>().map(|x| x + 1).from(0..9).to_each(|_, _| ())).unwrap();
    assert_eq!((mask(), report.pinned), (before, vec![]));
    assert_eq!(report.decisions.last().unwrap(), "not pinned: everything on the calling thread");
}
