//! Connections to servers that encrypt, and ask for certificates.

use crate::certificates::Certificates;
use crate::server::Server;
use crate::words::words;
use millstream::prelude::*;
use millstream_cluster::{
    Access, App, Batch, Ingress, JetStream, Log, OnRings, OpenError, Step, Streams, Tls, Worked, cut, work,
};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// An application on this server, by a URL with this scheme.
fn create(server: &Server, scheme: &str, tls: Tls) -> Result<JetStream, OpenError> {
    let url = server.url().replace("nats://", scheme);
    let access = Access { url, app: "test".to_owned(), tls, ..Access::default() };
    JetStream::create(&access, &Streams { edges: App::edges(), replicas: 1, capacity: 64 }, PATIENCE)
}

/// An authority and a client's certificate, from any two.
fn tls(authority: Option<&Certificates>, client: Option<&Certificates>) -> Tls {
    Tls {
        authority: authority.map(|made| made.path("authority.pem")),
        certificate: client.map(|made| (made.path("client.pem"), made.path("client-key.pem"))),
    }
}

fn error(opened: Result<JetStream, OpenError>) -> String {
    match opened {
        Ok(_) => "there is a connection".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_pipeline_over_encrypted_connections_is_its_model() {
    let test = "a_pipeline_over_encrypted_connections_is_its_model";
    let made = Certificates::make();
    let Some(server) = Server::configured(test, &made.tls("server", true)) else { return };
    let lines: Vec<String> = (0..60_u64).map(|n| format!("w{} w{} w{}", n % 7, n * n % 5, n % 3)).collect();
    let app =
        App { program: "words".to_owned(), stages: vec![], replicas: 2, copies: 1, capacity: 64, snapshot_every: 3 };
    let log = create(&server, "tls://", tls(Some(&made), Some(&made))).unwrap();
    let segment = OnRings::new(words(), Rings::new().workers(1));
    let ended = thread::scope(|scope| {
        let workers = [(); 2].map(|()| {
            // Each has a connection of its own; a server that encrypts is as good with the other scheme.
            let log = create(&server, "nats://", tls(Some(&made), Some(&made))).unwrap();
            let (app, segment) = (&app, &segment);
            scope.spawn(move || work(segment, &log, app, || false, |_| ()).unwrap())
        });
        let mut ingress = Ingress::new(log.clone(), App::INPUT, cut(lines.clone(), 4).unwrap());
        while ingress.step().unwrap() != Step::Ended {}
        workers.map(|worker| worker.join().unwrap())
    });
    assert_eq!(ended, [Worked::Ended; 2]);
    let entries = log.read_from(App::OUTPUT, 1, 99).unwrap().into_iter();
    let values = entries.flat_map(|entry| Batch::<(String, u64)>::from_bytes(&entry.bytes).unwrap().values);
    assert_eq!(values.map(|(_, value)| value).collect::<Vec<_>>(), words().model(lines));
}

#[test]
fn what_is_wrong_with_an_encrypted_connection_is_said() {
    let test = "what_is_wrong_with_an_encrypted_connection_is_said";
    let (made, others) = (Certificates::make(), Certificates::make());
    let (ours, theirs) = (Some(&made), Some(&others));
    let Some(server) = Server::configured(test, &made.tls("server", true)) else { return };
    let Some(elsewhere) = Server::configured(test, &made.tls("elsewhere", true)) else { return };
    let Some(plain) = Server::start(test) else { return };
    for (server, scheme, tls, says) in [
        (&server, "tls://", tls(None, ours), "this machine does not trust the authority that signed"),
        (&server, "tls://", tls(None, ours), "`--tls-authority` (`Tls::authority`) names a file"),
        // A server that only encrypts is not connected to without.
        (&server, "nats://", tls(None, None), "this machine does not trust the authority that signed"),
        (&server, "tls://", tls(theirs, ours), "certificate is not signed by an authority in /"),
        // The server's reason may be lost, since it also closes the connection; the advice is there in any case.
        (&server, "tls://", tls(ours, None), "asks for a certificate of this client"),
        (&server, "tls://", tls(ours, None), "`--tls-certificate` and `--tls-key` (`Tls::certificate`) name one"),
        (&server, "tls://", tls(ours, theirs), "client.pem"),
        (&server, "tls://", tls(ours, theirs), "that an authority in its `ca_file` has signed"),
        (&elsewhere, "tls://", tls(ours, ours), "is only valid for DnsName(\"nats.example.org\"): use a name that"),
        (&plain, "tls://", tls(ours, ours), "the server does not encrypt: its configuration needs a `tls` block"),
        (&plain, "nats://", tls(ours, None), "the server does not encrypt: its configuration needs a `tls` block"),
    ] {
        let error = error(create(server, scheme, tls.clone()));
        assert!(error.contains(says), "{scheme} {tls:?}: {error}");
        assert!(error.contains(&format!(" {scheme}127.0.0.1:")), "{error}");
    }
}

#[test]
fn files_that_are_no_certificates_are_named() {
    let (made, others) = (Certificates::make(), Certificates::make());
    let Some(server) = Server::configured("files_that_are_no_certificates_are_named", &made.tls("server", true)) else {
        return;
    };
    let (nosuch, key) = (PathBuf::from("/nosuch"), made.path("client-key.pem"));
    let ours = tls(Some(&made), Some(&made));
    let certificate = made.path("client.pem");
    for (tls, says) in [
        (Tls { authority: Some(nosuch.clone()), ..ours.clone() }, "/nosuch cannot be used: No such file"),
        (Tls { authority: Some(key.clone()), ..ours.clone() }, "cannot be used: it has no certificate in PEM"),
        (Tls { certificate: Some((nosuch.clone(), key.clone())), ..ours.clone() }, "/nosuch cannot be used: "),
        (Tls { certificate: Some((certificate.clone(), nosuch)), ..ours.clone() }, "/nosuch cannot be used: "),
        (Tls { certificate: Some((certificate.clone(), certificate.clone())), ..ours.clone() }, "no private key in"),
        (
            Tls { certificate: Some((certificate, others.path("client-key.pem"))), ..ours },
            "-key.pem is not that of the certificate in /",
        ),
    ] {
        let error = error(create(&server, "tls://", tls.clone()));
        assert!(error.contains(says), "{tls:?}: {error}");
    }
}
