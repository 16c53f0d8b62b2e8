//! Traffic follows its options, by virtual clocks, without real waits.

use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, fan_in};
use millstream_io::Traffic;
use millstream_io::time::{Clock, VirtualClock};
use std::time::Duration;

const N: usize = 100_000;

#[test]
fn traffic_follows_its_options() {
    let clock = VirtualClock::default();
    let traffic = Traffic::new(11).rate(10_000).burst(20).size(33).keys(10).skew(1.0);
    let events: Vec<_> = traffic.arrivals_by(clock.clone()).take(N).collect();
    assert_eq!(clock.now(), Duration::from_millis(9998), "the last burst of ten seconds");
    for burst in events.chunks(20) {
        assert!(burst.iter().all(|event| event.due == burst[0].due && event.bytes().len() == 33));
    }
    let all: f64 = (1..=10).map(|key| 1.0 / f64::from(key)).sum();
    for key in 0..10 {
        let share = events.iter().filter(|event| event.key == key).count() as f64 / N as f64;
        assert!((share - 1.0 / f64::from(key + 1) / all).abs() < 0.01, "key {key}: {share}");
    }
}

#[test]
fn rate_and_burst_determine_the_times() {
    let clock = VirtualClock::default();
    let mut arrivals = Traffic::new(1).rate(2000).burst(50).arrivals_by(clock.clone());
    for number in 0..5000 {
        let event = arrivals.next().unwrap();
        let due = Duration::from_millis(25) * (number / 50);
        assert_eq!((event.number, event.due), (u64::from(number), due));
        assert_eq!(clock.now(), due, "no sooner, and no later");
    }
}

#[test]
fn a_late_reader_gets_all_events_with_their_times() {
    let clock = VirtualClock::default();
    let traffic = Traffic::new(1).rate(1000);
    let mut arrivals = traffic.arrivals_by(clock.clone());
    arrivals.next();
    clock.advance(Duration::from_millis(10));
    let late: Vec<_> = arrivals.by_ref().take(10).map(|event| event.due.as_millis()).collect();
    assert_eq!(late, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(clock.now(), Duration::from_millis(10), "there was no wait");
    // An event does not depend on when it was taken.
    let prompt = traffic.arrivals_by(VirtualClock::default()).skip(11).take(100);
    assert!(arrivals.take(100).eq(prompt));
}

#[test]
fn a_rate_that_divides_nothing_does_not_drift() {
    let traffic = Traffic::new(1).rate(3_000_000_019);
    let event = traffic.arrivals_by(VirtualClock::default()).nth(N).unwrap();
    assert_eq!(event.due, Duration::from_nanos(N as u64 * 1_000_000_000 / 3_000_000_019));
}

#[test]
fn without_a_rate_there_is_no_wait() {
    let clock = VirtualClock::default();
    assert!(Traffic::new(1).arrivals_by(clock.clone()).take(1000).all(|event| event.due.is_zero()));
    assert!(clock.now().is_zero());
}

#[test]
fn the_traffic_depends_on_the_seed_alone() {
    let traffic = |seed| Traffic::new(seed).size(13).keys(9).skew(0.5).arrivals().take(1000);
    assert!(traffic(1).eq(traffic(1)));
    assert!(traffic(1).zip(traffic(2)).all(|(a, b)| a.random != b.random));
    let both = traffic(1).zip(traffic(2));
    assert!(both.map(|(a, b)| a.bytes() == b.bytes()).all(|equal| !equal));
}

#[test]
fn events_have_their_size() {
    for size in [0, 1, 7, 8, 9, 1000] {
        let event = Traffic::new(3).size(size).arrivals().next().unwrap();
        assert_eq!((event.size, event.bytes().len()), (size, size));
        // The beginning is the same, whatever the length.
        let mut some = [0; 4];
        event.fill(&mut some);
        assert_eq!(some[..size.min(4)], event.bytes()[..size.min(4)]);
    }
    let bytes = Traffic::new(3).size(N).arrivals().next().unwrap().bytes();
    let of_each = (0..=255).map(|byte| bytes.iter().filter(|other| **other == byte).count());
    assert!(of_each.clone().all(|count| (250..550).contains(&count)), "{:?}", of_each.collect::<Vec<_>>());
}

#[test]
fn keys_follow_zipfs_law() {
    let shares = |skew: f64| {
        let mut counts = [0_u32; 4];
        let events = Traffic::new(5).keys(4).skew(skew).arrivals().take(N);
        events.for_each(|event| counts[event.key as usize] += 1);
        counts.map(|count| f64::from(count) / N as f64)
    };
    // 1 : 1/2 : 1/3 : 1/4 is 12 : 6 : 4 : 3.
    for (skew, expected) in [(0.0, [0.25; 4]), (1.0, [12.0, 6.0, 4.0, 3.0].map(|part| part / 25.0))] {
        let shares = shares(skew);
        assert!(shares.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.01), "{shares:?}");
    }
}

#[test]
fn random_longs_as_fast_as_they_are_taken_are_counted() {
    let p = pipeline::<u64>().map(|x| *x);
    let (mut senders, poller) = fan_in(1).open(&Rings::new()).unwrap();
    let run = Rings::new().start((&p).from(poller).to_fold(0, |sum, _, x| *sum ^= x)).unwrap();
    let sender = senders.pop().unwrap();
    let longs = || Traffic::new(2).arrivals().take(N).map(|event| event.random);
    sender.send_all(longs()).unwrap();
    assert_eq!(sender.sent(), N as u64);
    drop(sender);
    let (sum, report) = run.wait().unwrap();
    assert_eq!(sum, longs().fold(0, |sum, x| sum ^ x));
    assert!(!report.decisions.is_empty());
}

#[test]
#[should_panic(expected = "no events a second")]
fn a_rate_of_nothing_is_refused() {
    let _ = Traffic::new(1).rate(0);
}

#[test]
#[should_panic(expected = "must be 0 or more")]
fn a_skew_the_wrong_way_is_refused() {
    let _ = Traffic::new(1).skew(-1.0);
}
