//! The signals of a program do not keep its population from its time limits.

use crate::support::{Walk, options};
use millstream_evolve::{Options, Population};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Each signal interrupts the wait for messages, and they come more often than a wait ends.
#[test]
fn a_master_with_many_signals_waits_no_longer() {
    // Only a signal with a handler interrupts a wait.
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::new(AtomicBool::new(false))).unwrap();
    let ((begun, has_begun), (done, is_done)) = (channel(), channel());
    std::thread::spawn(move || {
        begun.send(rustix::thread::gettid()).unwrap();
        let options = Options { join_within: Duration::from_millis(200), ..options() };
        done.send(Population::<Walk>::new(7, options).unwrap().wait_for(1).is_err())
    });
    let (master, began) = (has_begun.recv().unwrap(), Instant::now());
    let gives_up = loop {
        // Linux gives the signal to the thread of this number, which may have ended.
        let _ = rustix::process::kill_process(master, rustix::process::Signal::USR1);
        match is_done.recv_timeout(Duration::from_millis(5)) {
            Ok(gives_up) => break gives_up,
            Err(_) => assert!(began.elapsed() < Duration::from_secs(60), "it waits for ever"),
        }
    };
    assert!(gives_up);
}
