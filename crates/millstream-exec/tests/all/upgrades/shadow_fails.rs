//! A shadow that fails just when it takes the place of the running version.

use super::number;
use millstream_core::{Arrow, SequenceNumber, pipeline};
use millstream_exec::{JobExt, Pipeline, Rings, Runner, ShadowEnd, Upgrade, UpgradeError, source};
use millstream_testkit::within;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::sleep;
use std::time::Duration;

fn soon<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    within(Duration::from_secs(60), f).unwrap()
}

/// A version that fails at 20, some time after it has told that its step has begun.
fn fails_slowly(begun: Sender<()>) -> impl Pipeline<u64, u64> {
    let slow = move |x: &u64| {
        if *x == 20 {
            let _ = begun.send(());
            sleep(Duration::from_millis(300));
            panic!("no room for 20");
        }
        *x
    };
    pipeline::<u64>().map_blocking(slow).named("room")
}

/// A sink that waits at 19 until the other version's step has begun, or for some time: what comes after the number at
/// which that version takes over may be begun only then.
fn waits_for(begun: Receiver<()>) -> impl FnMut(SequenceNumber, &u64) + Send {
    let begun = Mutex::new(begun);
    move |_, x| {
        if *x == 19 {
            let _ = begun.lock().unwrap().recv_timeout(Duration::from_millis(300));
        }
    }
}

#[test]
fn a_version_that_fails_when_it_has_taken_over_fails_the_run() {
    for workers in [1, 2] {
        soon(move || {
            let (begun, begins) = channel();
            let next = Upgrade::to(fails_slowly(begun)).tried(10);
            let rings = Rings::new().workers(workers).batch(4).upgrade_at(number(10), next);
            let run = rings.start(pipeline::<u64>().map(|x| *x).from(0..30).to_each(waits_for(begins))).unwrap();
            let ended = run.join();
            let failure = ended.failure.unwrap().to_string();
            assert!(failure.starts_with("stage \"room\", number 20: panicked: no room for 20"), "{failure}");
            assert_eq!(ended.report.changes.iter().map(|change| change.at).collect::<Vec<_>>(), [number(20)]);
            assert_eq!(ended.report.refused_changes, []);
        });
    }
}

#[test]
fn a_shadow_that_fails_when_it_has_taken_over_fails_the_run() {
    for keeps in [false, true] {
        soon(move || {
            let (begun, begins) = channel();
            let (sender, receiver) = source::channel(16);
            let job = pipeline::<u64>().map(|x| *x).from(receiver).to_each(waits_for(begins));
            let run = Rings::new().workers(2).start(job).unwrap();
            sender.send_all(0..10).unwrap();
            let shadow = run.shadow(fails_slowly(begun)).unwrap();
            sender.send_all(10..20).unwrap();
            let over = std::thread::spawn(move || {
                if keeps { shadow.cut_over_keeping().map(|kept| kept.at()) } else { shadow.cut_over() }
            });
            // Most likely it is asked for by then.
            sleep(Duration::from_millis(50));
            sender.send(20).unwrap();
            match over.join().unwrap() {
                Ok(at) => {
                    assert_eq!(at, number(20));
                    let failure = run.wait().unwrap_err().to_string();
                    assert!(failure.starts_with("stage \"room\", number 20: panicked"), "{failure}");
                }
                // It failed below the number.
                Err(UpgradeError::Shadow(ShadowEnd::Failed { number: at, .. })) => {
                    assert_eq!(at, Some(number(20)));
                    drop(sender);
                    run.wait().unwrap();
                }
                // The run has failed by the time at which this thread looks.
                Err(UpgradeError::Ended) => {
                    let failure = run.wait().unwrap_err().to_string();
                    assert!(failure.starts_with("stage \"room\", number 20: panicked"), "{failure}");
                }
                Err(other) => panic!("{other}"),
            }
        });
    }
}
