//! `cluster` and `worker` over connections that are encrypted.

use crate::certificates::Certificates;
use crate::cluster::{Cluster, Worker, counted, lines};
use crate::scene::{Input, ended};
use std::process::{Command, Stdio};

/// The flags with the authority and the client's certificate of any two.
fn flags(authority: Option<&Certificates>, client: Option<&Certificates>) -> String {
    let authority = authority.map(|made| format!(" --tls-authority {}", made.path("authority.pem").display()));
    let client = client.map(|made| {
        let (certificate, key) = (made.path("client.pem"), made.path("client-key.pem"));
        format!(" --tls-certificate {} --tls-key {}", certificate.display(), key.display())
    });
    format!("{}{}", authority.unwrap_or_default(), client.unwrap_or_default())
}

/// A command for the server, which encrypts.
fn command(cluster: &Cluster, args: &str) -> Command {
    let mut command = cluster.command(args);
    command.env("MILLSTREAM_NATS", cluster.server.url().replace("nats://", "tls://"));
    command
}

#[test]
fn an_application_lives_on_a_server_that_encrypts() {
    let made = Certificates::make();
    let users = "authorization { users: [ { user: \"me\", password: \"knows\" } ] }\n";
    let config = format!("{}{users}", made.tls("server", true));
    let Some(cluster) = Cluster::start("an_application_lives_on_a_server_that_encrypts", &config) else { return };
    let flags = flags(Some(&made), Some(&made));
    let with = |args: &str| {
        let mut command = command(&cluster, &format!("{args} --app count --nats-user me{flags}"));
        command.env("MILLSTREAM_NATS_PASSWORD", "knows");
        command
    };
    let done = |args: &str, input: &[u8]| {
        let seen = cluster.scene.run(with(args), Input::Pipe(input, 1 << 16));
        assert_eq!(seen.code, Some(0), "{args}: {}", seen.stderr);
        seen.text()
    };
    let text = lines(500);
    done("cluster apply words --snapshot-every 4", b"");
    let mut workers = [(); 2].map(|()| {
        let mut worker = with("worker --workers 1");
        Worker(worker.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    });
    done("cluster feed --batch 256", text.as_bytes());
    done("cluster drain", b"");
    assert_eq!(done("cluster read", b""), counted(&text));
    for worker in &mut workers {
        assert_eq!(ended(&mut worker.0).code(), Some(0));
    }
    let status = done("cluster status", b"");
    assert!(status.contains("\n      0  ended") && status.contains("\n      1  ended"), "{status}");
    done("cluster rm", b"");
}

#[test]
fn the_machines_authorities_count_if_no_others_are_given() {
    let (made, others) = (Certificates::make(), Certificates::make());
    let test = "the_machines_authorities_count_if_no_others_are_given";
    let Some(cluster) = Cluster::start(test, &made.tls("server", false)) else { return };
    for (authority, code) in [(None, 0), (Some(&others), 1)] {
        let mut command = command(&cluster, &format!("cluster apply wc --app a{}", flags(authority, None)));
        command.env("SSL_CERT_FILE", made.path("authority.pem"));
        let seen = cluster.scene.run(command, Input::Nothing);
        assert_eq!(seen.code, Some(code), "{}", seen.stderr);
    }
}

#[test]
fn an_encrypted_connection_that_fails_says_what_to_do() {
    let (made, others) = (Certificates::make(), Certificates::make());
    let (ours, theirs) = (Some(&made), Some(&others));
    let test = "an_encrypted_connection_that_fails_says_what_to_do";
    let Some(cluster) = Cluster::start(test, &made.tls("server", true)) else { return };
    let Some(plain) = Cluster::start(test, "") else { return };
    for (cluster, flags, code, says) in [
        (
            &cluster,
            flags(None, ours),
            1,
            "does not trust the authority that signed the server's certificate: `--tls-auth",
        ),
        (&cluster, flags(theirs, ours), 1, "is not signed by an authority in /"),
        (&cluster, flags(ours, None), 1, "asks for a certificate of this client: `--tls-certificate` and `--tls-key`"),
        (&cluster, flags(ours, theirs), 1, "it takes those that an authority in its `ca_file` has signed"),
        (&plain, flags(ours, None), 1, "the server does not encrypt: its configuration needs a `tls` block"),
        (&cluster, " --tls-authority nosuch".to_owned(), 2, "nosuch cannot be used: No such file or directory"),
        (&cluster, " --tls-certificate nosuch".to_owned(), 2, "--tls-key"),
    ] {
        for args in ["cluster apply wc", "worker"] {
            let args = format!("{args} --app a{flags}");
            let seen = cluster.scene.run(command(cluster, &args), Input::Nothing);
            assert_eq!(seen.code, Some(code), "{args}: {}", seen.stderr);
            assert!(seen.stderr.contains(says), "{args}: {}", seen.stderr);
        }
    }
    // Without flags, and by a URL that does not insist.
    let seen = cluster.run("cluster apply wc --app a", b"");
    assert_eq!(seen.code, Some(1));
    assert!(seen.stderr.contains("no encrypted connection to nats://127.0.0.1:"), "{}", seen.stderr);
}

#[test]
fn a_password_of_the_environment_is_not_shown() {
    let Some(cluster) = Cluster::start("a_password_of_the_environment_is_not_shown", "") else { return };
    for url in ["nats://me:secret@127.0.0.1:1", "nats://127.0.0.1:1,tls://me:secret@127.0.0.1:1"] {
        let mut command = cluster.command("cluster status --app a");
        command.env("MILLSTREAM_NATS", url);
        let seen = cluster.scene.run(command, Input::Nothing);
        assert_eq!(seen.code, Some(1));
        assert!(seen.stderr.contains("s://127.0.0.1:1") && !seen.stderr.contains("secret"), "{}", seen.stderr);
    }
}
