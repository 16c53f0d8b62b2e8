//! An idle run takes no processor time. Alone in its test binary, since it reads the process's clock.
#![cfg(target_os = "linux")]

use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobExt, JobRefExt, Rings, Runner, Upgrade, Wait, source};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One test at a time: the clock is that of the process.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processor time of this process so far, in clock ticks (a hundredth of a second on Linux).
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has it");
    // After the command's name, which is in brackets, come the fields from the third on.
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
    fields[11..13].iter().map(|field| field.parse::<u64>().expect("a number")).sum()
}

/// Waits for a value that never comes, for `time`.
fn idle(never: &Receiver<()>, time: Duration) -> u64 {
    let before = ticks();
    assert_eq!(never.recv_timeout(time), Err(RecvTimeoutError::Timeout));
    ticks() - before
}

/// Whether the process becomes idle, and stays so. On a busy machine it takes a while until all threads are parked.
fn becomes_idle(never: &Receiver<()>) -> bool {
    let is_idle = |_| idle(never, Duration::from_secs(2)) <= 2;
    (0..10).any(is_idle) && (0..2).all(is_idle)
}

#[test]
fn a_run_without_values_takes_no_processor_time_and_then_ends() {
    let _alone = alone();
    let (values, source) = channel::<u64>();
    let (_sender, never) = channel::<()>();
    let run = std::thread::spawn(move || {
        let p = pipeline::<u64>().map(|x| x + 1).shard(3, |p| p.map(|x| x * 2)).fanout(|p| p, |p| p.filter(|_| true));
        Rings::new().workers(4).for_each(p.from(source), |_, _| ())
    });
    values.send(1).unwrap();
    let was_idle = becomes_idle(&never);
    drop(values);
    assert_eq!(run.join().unwrap().unwrap().values, 1);
    assert!(was_idle, "more than two hundredths of a second in 2 s: more than 1%");
    during_a_long_step(&never);
}

/// A worker's only work is a tasklet in the middle of another worker's step.
fn during_a_long_step(never: &Receiver<()>) {
    for wait in [Wait::Blocking, Wait::Phased] {
        let (go, went) = channel::<()>();
        let (entered, enters) = channel();
        let went = Mutex::new(went);
        let p = pipeline::<u64>().map(|x| x + 1).map(move |x| {
            entered.send(()).unwrap();
            let _ = went.lock().unwrap().recv();
            *x
        });
        let rings = Rings::new().workers(2).wait(wait);
        let run = rings.start((&p).from(source::ready(0..1)).to_each(|_, _| ())).unwrap();
        enters.recv().unwrap();
        run.set_workers(1).unwrap();
        let was_idle = becomes_idle(never);
        drop(go);
        run.wait().unwrap();
        assert!(was_idle, "{wait}: more than 1% during a long step");
    }
}

/// A value comes while a state is handed over: the thread of the stage that blocks waits for its tasklet.
#[test]
fn a_migration_takes_no_processor_time_elsewhere() {
    let _alone = alone();
    let (_sender, never) = channel::<()>();
    let version = || pipeline::<u64>().map_blocking(|x| *x).scan(0, |sum: &mut u64, x| *sum + *x).named("sum");
    let (values, source) = source::channel(4);
    let run = Rings::new().start(version().from(source).to_each(|_, _| ())).unwrap();
    values.send(1).unwrap();
    let (go, went) = channel::<()>();
    let (entered, enters) = channel();
    let went = Mutex::new(went);
    let next = Upgrade::to(version()).migrate("sum", move |sum: u64| {
        entered.send(()).unwrap();
        let _ = went.lock().unwrap().recv();
        sum
    });
    let upgrader = run.upgrader();
    let upgraded = std::thread::spawn(move || upgrader.upgrade(next));
    enters.recv().unwrap();
    values.send(2).unwrap();
    let took = idle(&never, Duration::from_millis(500));
    drop(go);
    upgraded.join().unwrap().unwrap();
    drop(values);
    assert_eq!(run.wait().unwrap().1.values, 2);
    assert!(took <= 10, "{took} hundredths of a second in half a second");
}

/// A run that ends waits for a stage that does not return, and for the thread that waits with it.
#[test]
fn a_drain_that_waits_takes_no_processor_time() {
    let _alone = alone();
    let (_sender, never) = channel::<()>();
    for wait in [Wait::Blocking, Wait::Phased] {
        let (go, went) = channel::<()>();
        let (entered, enters) = channel();
        let went = Mutex::new(went);
        let p = pipeline::<u64>().map(|x| x + 1).map_blocking(move |x: &u64| {
            entered.send(()).unwrap();
            let _ = went.lock().unwrap().recv();
            *x
        });
        let (values, source) = source::channel(4);
        let run = Rings::new().workers(2).wait(wait).start((&p).from(source).to_each(|_, _| ())).unwrap();
        values.send(1).unwrap();
        enters.recv().unwrap();
        run.begin_drain();
        let waiting = std::thread::spawn(move || run.wait());
        let was_idle = becomes_idle(&never);
        drop(go);
        let (_, report) = waiting.join().unwrap().unwrap();
        assert!(was_idle, "{wait}: more than 1% while a drain waits");
        assert_eq!(report.values, 1);
    }
}
