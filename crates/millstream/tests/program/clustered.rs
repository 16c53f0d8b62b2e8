//! Programs on a cluster, with a real server of this machine.

use crate::certificates::Certificates;
use crate::server::Server;
use crate::{assert_output, started};

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
        let code = if program == "numbers" { 1 } else { 0 };
        assert_eq!(worked.2, Some(code), "{}", worked.1);
        assert_eq!(worked.1.contains("line \"\" is left out: "), code == 1, "{}", worked.1);
        assert_output(run(program, "cluster read", ""), output, "", 0);
    }
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
