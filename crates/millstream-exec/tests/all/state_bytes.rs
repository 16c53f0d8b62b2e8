//! Stages with keys say how many bytes their states have.

use millstream_core::{Arrow, KeysExt, pipeline};
use millstream_exec::{Counters, JobExt, Rings, Runner, StageReport, sink, source};

#[test]
fn keyed_states_say_their_bytes_while_a_run_goes_on_and_at_its_end() {
    let count = |state: &mut [u64; 4], x: &u64| {
        state[0] += 1;
        state[0] + x
    };
    let p =
        pipeline::<u64>().shard_by(|x| x % 1000, 2, move |p| p.scan([0_u64; 4], count).named("counts")).named("keys");
    let (sender, receiver) = source::channel(64);
    let run = Rings::new().start(p.from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..5000).unwrap();
    run.snapshot().unwrap();
    let mut counters = Counters::default();
    run.observer().read(&mut counters);
    let live: u64 = counters.tasklets.iter().filter_map(|tasklet| tasklet.state_bytes).sum();
    drop(sender);
    let (output, report) = run.wait().unwrap();
    assert_eq!(output.len(), 5000);
    let bytes = |stage: &str| {
        let of = |report: &StageReport| report.state_bytes.filter(|_| report.name.ends_with(stage));
        report.stages.iter().filter_map(of).sum::<u64>()
    };
    // A thousand states of 32 bytes in segments, and the keys with their map.
    assert!((32_000..64_000).contains(&bytes("counts")), "{}", bytes("counts"));
    assert!((24_000..150_000).contains(&bytes("key-1")), "{}", bytes("key-1"));
    assert_eq!(live, bytes("counts") + bytes("key-1"));
}

#[test]
fn a_stage_without_keys_says_none_and_a_fold_by_key_does() {
    let p = pipeline::<u64>().scan(0_u64, |sum, x| *sum + x).fold_by(|x| x % 10, 0_u64, |n, _| *n += 1, |n| n);
    let (_, report) = Rings::new().run(p.from(source::ready(0..100)).to(sink::collect())).unwrap();
    let of = |name: &str| report.stages.iter().find(|stage| stage.name.starts_with(name)).unwrap().state_bytes;
    // The states are gone at END: they are the answer.
    assert_eq!((of("scan"), of("fold_by")), (None, Some(160)));
    let counts = pipeline::<u64>().count_by(|x| x % 10);
    let (_, report) = Rings::new().run(counts.from(source::ready(0..100)).to(sink::collect())).unwrap();
    assert_eq!(report.stages.iter().filter_map(|stage| stage.state_bytes).collect::<Vec<_>>(), [160]);
}
