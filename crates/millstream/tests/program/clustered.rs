//! Programs on a cluster, with a real server of this machine.

use crate::certificates::Certificates;
use crate::server::Server;
use crate::{assert_output, started};
use millstream::Program;
use millstream::prelude::*;
use std::process::ExitCode;

/// Sums, in one version and in the next, whose state has another type.
pub(crate) fn sums_1() -> ExitCode {
    let sum = |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    };
    Program::new(pipeline::<u64>().scan(0, sum).named("sum")).named("sums").lasting().main()
}

pub(crate) fn sums_2() -> ExitCode {
    let sum = |(sum, count): &mut (u64, u64), x: &u64| {
        (*sum, *count) = (*sum + x, *count + 1);
        *sum
    };
    Program::new(pipeline::<u64>().scan((0, 0), sum).named("sum")).named("sums").lasting().main()
}

pub(crate) fn it_works_on_a_cluster() {
    let Some(server) = Server::start("it_works_on_a_cluster") else { return };
    let run = |program: &str, args: &str, input: &str| {
        started(program, &format!("{args} --nats {} --app {program}", server.url()), input)
    };
    // With snapshots, and without: `lengths` says nothing of its states.
    for (program, input, output) in [("numbers", "1\n2\n\n3\n", "1\n5\n14\n"), ("lengths", "to\n\nbe or\r\n", "2\n5\n")]
    {
        assert_eq!(run(program, "cluster apply", "").2, Some(0));
        assert_eq!(run(program, "cluster feed --end", input).2, Some(0));
        let worked = run(program, "worker --quiet", "");
        // A worker that has left lines out has done all that there is to do: a supervisor need not start it again.
        assert_eq!(worked.2, Some(0), "{}", worked.1);
        let left_out =
            "numbers worker: the input: the line at byte 4 is left out: cannot parse integer from empty string\n";
        assert_eq!(worked.1, if program == "numbers" { left_out } else { "" });
        assert_output(run(program, "cluster read", ""), output, "", 0);
    }
    // Without snapshots nothing makes room in the input edge but its capacity. Who runs into that hears of it.
    let none = "has no snapshots (`Program::lasting`)";
    assert_eq!(run("lengths", "cluster rm", "").2, Some(0));
    let made = run("lengths", "cluster apply --capacity 8", "");
    assert!(made.1.contains(none) && made.1.contains("the input edge takes 8 batches in all"), "{}", made.1);
    assert_eq!(run("lengths", "cluster feed --batch 1", &"to be\n".repeat(8)).2, Some(0));
    let full = run("lengths", "cluster drain --within 3s", "");
    assert!(full.1.contains("the input edge is full: ") && full.1.contains("--capacity` makes room"), "{}", full.1);
    assert_eq!(full.2, Some(1), "{}", full.1);
    assert_eq!(run("lengths", "cluster apply --capacity 16", "").2, Some(0));
    assert_eq!(run("lengths", "cluster feed --end", "").2, Some(0));
    let worked = run("lengths", "worker", "");
    assert!(worked.1.contains(none) && worked.2 == Some(0), "{}", worked.1);
    assert_output(run("lengths", "cluster read", ""), &"5\n".repeat(8), "", 0);
    let made = run("numbers", "cluster apply", "");
    assert!(!made.1.contains(none) && made.2 == Some(0), "{}", made.1);
    // The place is that in the input, however it was cut into batches.
    let input = "1\n2\nx\n4\ny\n";
    assert_eq!(run("numbers", "cluster rm", "").2, Some(0));
    assert_eq!(run("numbers", "cluster apply --snapshot-every 1", "").2, Some(0));
    assert_eq!(run("numbers", "cluster feed --batch 1", &input[..6]).2, Some(0));
    assert_eq!(run("numbers", "cluster feed --batch 1 --end", &input[6..]).2, Some(0));
    let worked = run("numbers", "worker --quiet", "");
    let places = worked.1.split_terminator('\n').map(|line| &line[..line.find(" is left").unwrap_or(0)]);
    let at = ["numbers worker: the input: the line at byte 4", "numbers worker: the input: the line at byte 8"];
    assert_eq!((places.collect::<Vec<_>>(), worked.2), (at.to_vec(), Some(0)), "{}", worked.1);
    assert_output(run("numbers", "cluster read", ""), "1\n5\n21\n", "", 0);
    // A failure is every worker's, at the same number.
    assert_eq!(run("numbers", "cluster rm", "").2, Some(0));
    assert_eq!(run("numbers", "cluster apply", "").2, Some(0));
    assert_eq!(run("numbers", "cluster feed --end", "1\n5000000000\n").2, Some(0));
    assert_output(
        run("numbers", "worker --quiet", ""),
        "",
        "numbers: stage \"square\", number 1: panicked: too large\n",
        3,
    );
    let status = run("numbers", "cluster status", "");
    assert!(status.0.contains("alarm: replica 0: stage \"square\", number 1: panicked: too large\n"), "{}", status.0);
    assert_eq!(status.2, Some(4), "{}", status.1);
}

pub(crate) fn another_pipeline_is_refused_on_a_cluster() {
    let Some(server) = Server::start("another_pipeline_is_refused_on_a_cluster") else { return };
    let run = |program: &str, args: &str, input: &str| {
        started(program, &format!("{args} --nats {} --app sums", server.url()), input)
    };
    assert_eq!(run("sums-1", "cluster apply --snapshot-every 1", "").2, Some(0));
    let differs = "sums: the application runs a different pipeline: its stage is \"sum scan, state u64 version 1\", \
                   where this program has \"sum scan, state (u64, u64) version 1\"";
    for (args, says) in [
        ("worker", ": start the program of which `cluster apply` made the application"),
        ("cluster apply", "; take another name, or remove it with `cluster rm`"),
    ] {
        let refused = run("sums-2", args, "");
        assert_eq!(refused.2, Some(2), "{}", refused.1);
        assert!(refused.1.contains(&format!("{differs}{says}")), "{}", refused.1);
    }
    assert_eq!(run("sums-1", "cluster apply --snapshot-every 1", "").2, Some(0));
    // Said to compute the same, it may begin, as long as no snapshot is the other one's.
    assert_eq!(run("sums-1", "cluster feed --batch 1 --end", &"1\n".repeat(100)).2, Some(0));
    assert_eq!(run("sums-1", "worker", "").2, Some(0));
    assert_eq!(run("sums-2", "cluster apply --snapshot-every 1 --force", "").2, Some(0));
    let unfit = run("sums-2", "worker", "");
    assert_eq!(unfit.2, Some(2), "{}", unfit.1);
    assert!(unfit.1.contains("the snapshot does not fit the pipeline: stage \"sum\" "), "{}", unfit.1);
    let status = run("sums-2", "cluster status", "");
    assert!(status.0.contains("alarm: replica 0: the snapshot does not fit"), "{}", status.0);
    assert_eq!(status.2, Some(4), "{}", status.1);
    let sums: String = (1..=100).map(|sum| format!("{sum}\n")).collect();
    assert_output(run("sums-2", "cluster read", ""), &sums, "", 0);
}

pub(crate) fn it_works_on_a_cluster_that_encrypts() {
    let made = Certificates::make();
    let Some(server) = Server::configured("it_works_on_a_cluster_that_encrypts", &made.tls("server", true)) else {
        return;
    };
    let url = server.url().replace("nats://", "tls://");
    let run = |args: &str, input: &str| started("lengths", &format!("{args} --nats {url} --app lengths"), input);
    let file = |name: &str| made.path(name).display().to_string();
    let (authority, certificate, key) = (file("authority.pem"), file("client.pem"), file("client-key.pem"));
    let flags = format!("--tls-authority {authority} --tls-certificate {certificate} --tls-key {key}");
    for (flags, says) in [
        (String::new(), "`--tls-authority` (`Tls::authority`) names a file"),
        (format!("--tls-authority {authority}"), "`--tls-certificate` and `--tls-key` (`Tls::certificate`) name one"),
    ] {
        let refused = run(&format!("cluster apply {flags}"), "");
        assert_eq!(refused.2, Some(1), "{}", refused.1);
        assert!(refused.1.contains(says), "{}", refused.1);
    }
    assert_eq!(run(&format!("cluster apply {flags}"), "").2, Some(0));
    assert_eq!(run(&format!("cluster feed --end {flags}"), "to\n\nbe or\r\n").2, Some(0));
    assert_eq!(run(&format!("worker --quiet {flags}"), "").2, Some(0));
    assert_output(run(&format!("cluster read {flags}"), ""), "2\n5\n", "", 0);
}
