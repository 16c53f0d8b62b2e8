//! Generated traffic as the source of a job that dies.

use crate::jobs::job;
use millstream::io::{Arrival, FileSink, Traffic};
use millstream::prelude::*;
use millstream::state::{Cadence, again};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn counts() -> impl Pipeline<Arrival, String> + Lasting {
    pipeline::<Arrival>()
        .shard_by(
            |event| event.key,
            2,
            |p| {
                p.scan(0_u64, |hash, event| {
                    *hash = event.bytes().into_iter().fold(*hash, |hash, byte| hash.wrapping_mul(31) ^ u64::from(byte));
                    format!("{} {hash:x}\n", event.key)
                })
                .named("hashes")
            },
        )
        .named("keys")
        .any_edge()
}

fn events(n: usize, dies: Option<usize>) -> impl Iterator<Item = Arrival> + Send {
    let traffic = Traffic::new(7).size(16).keys(20).skew(1.0).arrivals().take(n).enumerate();
    traffic.map(move |(number, event)| {
        assert_ne!(Some(number), dies, "the end of this process");
        event
    })
}

#[test]
fn generated_traffic_goes_on_where_it_was() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let run = |dies| {
        let job = job(home.path(), Cadence::Numbers(10));
        job.run(&counts(), again(move || events(300, dies)), FileSink::append(&out))
    };
    for dies in [0, 70, 71, 200, 299] {
        assert!(!matches!(catch_unwind(AssertUnwindSafe(|| run(Some(dies)))), Ok(Ok(_))), "it dies at {dies}");
    }
    let (_, stored) = run(None).unwrap();
    assert!(stored.began > 0, "{stored:?}");
    assert_eq!(fs::read_to_string(&out).unwrap(), counts().model(events(300, None)).concat());
}
