//! `cluster rm --force` while workers run.

use crate::cluster::{Cluster, Worker};
use crate::scene::ended;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

#[test]
fn workers_of_an_application_that_is_removed_end_and_do_not_work_for_the_next_one() {
    let test = "workers_of_an_application_that_is_removed_end_and_do_not_work_for_the_next_one";
    let Some(cluster) = Cluster::start(test, "") else { return };
    cluster.done("cluster apply words --app count --replicas 1", b"");
    // One works, and one waits for a place.
    let mut works = cluster.worker("count");
    while cluster.status("count")["places"][0]["state"] != "follows" {
        sleep(Duration::from_millis(20));
    }
    let mut waits = cluster.command("worker --app count");
    waits.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut waits = Worker(waits.spawn().unwrap());
    let mut said = BufReader::new(waits.0.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("waiting for a free place"), "{line}");
    cluster.done("cluster rm --app count --force", b"");
    cluster.done("cluster apply uppercase --app count", b"");
    cluster.done("cluster feed --app count --end", b"to be\n");
    assert_eq!(ended(&mut works.0).code(), Some(2));
    assert_eq!(ended(&mut waits.0).code(), Some(2));
    line.clear();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("count: the application was removed while this worker ran for it"), "{line}");
    let _worker = cluster.worker("count");
    assert_eq!(cluster.done("cluster read --app count", b"").text(), "TO BE\n");
}
