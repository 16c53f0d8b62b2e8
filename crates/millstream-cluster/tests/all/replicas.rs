//! Replicas on a good network: which of them appends, what a difference does, where a restart begins.

use crate::schedules::edges;
use crate::sums::{self, RIGHT, Sums};
use millstream_cluster::{
    Batch, BatchError, Edges, Ingress, Log, LogError, MemoryLog, Options, Replica, ReplicaError, Segment, Step, cut,
};

/// A log with these values in batches of 2.
fn fed(values: u64) -> MemoryLog {
    let log = MemoryLog::default();
    let mut ingress = Ingress::new(log.clone(), "in", cut(0..values, 2).unwrap());
    while ingress.step().unwrap() != Step::Ended {}
    log
}

fn rank(rank: u32, segment: Sums, log: &MemoryLog) -> Replica<Sums, MemoryLog> {
    Replica::new(segment, log.clone(), edges(), Options { rank, patience: 3, window: 2, ..Options::default() })
}

fn output(log: &MemoryLog) -> Vec<(u64, u64)> {
    let entries = log.read_from("out", 1, 1000).unwrap().into_iter();
    entries.flat_map(|entry| Batch::from_bytes(&entry.bytes).unwrap().values).collect()
}

fn to_the_end<S: Segment>(replica: &mut Replica<S, MemoryLog>) -> Result<(), ReplicaError> {
    while replica.step()? != Step::Ended {}
    Ok(())
}

#[test]
fn a_replica_that_differs_names_the_batch_and_appends_nothing() {
    let log = fed(40);
    to_the_end(&mut rank(0, RIGHT, &log)).unwrap();
    let mut wrong = rank(1, Sums { wrong_from: 7 }, &log);
    let error = to_the_end(&mut wrong).unwrap_err();
    assert!(matches!(error, ReplicaError::Diverged { number: 7, .. }), "{error}");
    assert!(error.to_string().starts_with("edge \"out\", batch 7: the edge has other bytes"), "{error}");
    assert_eq!(wrong.step().unwrap(), Step::Idle);
    assert_eq!(output(&log), sums::model(&(0..40).collect::<Vec<_>>()));
    // Also where the edge would take more.
    for its_rank in [0, 1] {
        let log = fed(40);
        let mut right = rank(0, RIGHT, &log);
        while log.last("out").unwrap() < 10 {
            right.step().unwrap();
        }
        let last = log.last("out").unwrap();
        let error = to_the_end(&mut rank(its_rank, Sums { wrong_from: 7 }, &log)).unwrap_err();
        assert!(matches!(error, ReplicaError::Diverged { number: 7, .. }), "rank {its_rank}: {error}");
        assert_eq!(log.last("out"), Ok(last), "rank {its_rank}");
    }
}

#[test]
fn the_second_goes_on_where_the_first_stopped() {
    let log = fed(40);
    let (mut first, mut second) = (rank(0, RIGHT, &log), rank(1, RIGHT, &log));
    while log.last("out").unwrap() < 5 {
        first.step().unwrap();
        second.step().unwrap();
    }
    drop(first);
    to_the_end(&mut second).unwrap();
    assert_eq!(output(&log), sums::model(&(0..40).collect::<Vec<_>>()));
}

#[test]
fn a_restart_begins_at_the_snapshot_and_the_edge_is_trimmed_there() {
    let log = fed(40);
    let options = Options { snapshot_every: 3, window: 4, ..Options::default() };
    let replica = || Replica::new(RIGHT, log.clone(), edges(), options.clone());
    let mut before = replica();
    while log.last("out").unwrap() < 15 {
        before.step().unwrap();
    }
    let first = log.read_from("in", 1, 1).unwrap()[0].number;
    assert!(first > 3, "the input still begins at {first}");
    let mut after = replica();
    while after.position() == 0 {
        after.step().unwrap();
    }
    assert!(after.position() + 1 >= first, "{}", after.position());
    to_the_end(&mut after).unwrap();
    assert_eq!(output(&log), sums::model(&(0..40).collect::<Vec<_>>()));
}

#[test]
fn blobs_of_all_but_the_two_newest_snapshots_are_dropped() {
    let log = fed(400);
    let options = Options { snapshot_every: 3, window: 4, ..Options::default() };
    let mut replica = Replica::new(RIGHT, log.clone(), edges(), options);
    let mut most = 0;
    while replica.step().unwrap() != Step::Ended {
        most = most.max(log.blobs());
    }
    assert_eq!((most, log.blobs()), (3, 2));
}

#[test]
fn lost_and_damaged_batches_are_named() {
    let log = fed(10);
    log.trim("in", 3).unwrap();
    let error = to_the_end(&mut rank(0, RIGHT, &log)).unwrap_err();
    assert_eq!(error.to_string(), "edge \"in\": batch 1 is trimmed, and no snapshot covers it");

    let log = MemoryLog::default();
    let mut bytes = cut(0..3_u64, 9).unwrap().remove(0);
    *bytes.last_mut().unwrap() ^= 1;
    log.append_if("in", 0, &bytes).unwrap();
    let error = to_the_end(&mut rank(0, RIGHT, &log)).unwrap_err();
    assert!(matches!(error, ReplicaError::Batch { number: 1, cause: BatchError::Damaged, .. }), "{error}");

    let log = MemoryLog::default();
    log.append_if("in", 0, &cut(["a".to_owned()], 9).unwrap()[0]).unwrap();
    let error = to_the_end(&mut rank(0, RIGHT, &log)).unwrap_err();
    assert_eq!(error.to_string(), "edge \"in\", batch 1: the batch holds values of another type than u64");
}

#[test]
fn an_edge_that_loses_batches_is_named_and_a_replica_that_begins_again_appends_them() {
    let log = fed(40);
    let mut replica = rank(0, RIGHT, &log);
    while replica.durable() < 10 {
        replica.step().unwrap();
    }
    let known = replica.durable();
    log.lose("out", 5);
    let error = (0..100_000).find_map(|_| replica.step().err()).expect("the loss is noticed");
    assert!(matches!(error, ReplicaError::Lost { last: 5, .. }), "{error}");
    let says = format!("edge \"out\" ends with batch 5, and had batch {known}: its servers have lost the batches");
    assert!(error.to_string().starts_with(&says), "{error}");
    assert_eq!(log.last("out"), Ok(5));
    to_the_end(&mut rank(0, RIGHT, &log)).unwrap();
    assert_eq!(output(&log), sums::model(&(0..40).collect::<Vec<_>>()));

    // Without a last batch, it waits for more.
    let log = MemoryLog::default();
    let batches = cut(0..40_u64, 2).unwrap();
    (0..).zip(&batches[..10]).for_each(|(last, batch)| log.append_if("in", last, batch).unwrap());
    let mut replica = rank(0, RIGHT, &log);
    while replica.durable() < 10 {
        replica.step().unwrap();
    }
    log.lose("in", 4);
    let error = (0..100_000).find_map(|_| replica.step().err()).expect("the loss is noticed");
    assert!(matches!(error, ReplicaError::Lost { last: 4, known: 10, .. }), "{error}");
    assert!(error.to_string().starts_with("edge \"in\" ends with batch 4, and had batch 10: "), "{error}");
    (4..).zip(&batches[4..]).for_each(|(last, batch)| log.append_if("in", last, batch).unwrap());
    to_the_end(&mut rank(0, RIGHT, &log)).unwrap();
    assert_eq!(output(&log), sums::model(&(0..40).collect::<Vec<_>>()));
}

#[test]
fn two_segments_in_a_row_are_one() {
    let log = fed(40);
    to_the_end(&mut rank(0, RIGHT, &log)).unwrap();
    let behind = Edges { input: "out".to_owned(), output: "last".to_owned() };
    to_the_end(&mut Replica::new(RIGHT, log.clone(), behind, Options::default())).unwrap();
    let between: Vec<u64> = output(&fed_through(40)).into_iter().map(|(_, sum)| sum).collect();
    let entries = log.read_from("last", 1, 1000).unwrap().into_iter();
    let values: Vec<(u64, u64)> = entries.flat_map(|entry| Batch::from_bytes(&entry.bytes).unwrap().values).collect();
    assert_eq!(values, sums::model(&between));
}

fn fed_through(values: u64) -> MemoryLog {
    let log = fed(values);
    to_the_end(&mut rank(0, RIGHT, &log)).unwrap();
    log
}

#[test]
fn a_full_edge_holds_the_ingress_back() {
    let log = MemoryLog::with_capacity(2);
    let mut ingress = Ingress::new(log.clone(), "in", cut(0..40_u64, 2).unwrap());
    for _ in 0..20 {
        ingress.step().unwrap();
    }
    assert_eq!(log.last("in"), Ok(2));
    assert_eq!(log.append_if("in", 2, b""), Err(LogError::Full));
    log.trim("in", 2).unwrap();
    assert_eq!(ingress.step().unwrap(), Step::Worked);
    assert_eq!(log.last("in"), Ok(3));
}
