//! How the output of a program is written.

use super::{AS, command};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::time::Duration;

const DEPLOYMENTS: [&str; 4] = ["rings", "inline", "queues", "model"];

/// Each write is a datagram, so they can be counted.
pub(crate) fn lines_are_written_together() {
    let input: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("lines");
    std::fs::write(&file, &input).unwrap();
    let expected: String = input.lines().map(|line| format!("{}\n", line.len())).collect();
    for deployment in DEPLOYMENTS {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut lengths = command("lengths");
        lengths.env(AS, "lengths").args(["run", "--deploy", deployment]).arg(&file);
        let mut child = lengths.stdout(OwnedFd::from(theirs)).spawn().unwrap();
        drop(lengths);
        let (mut output, mut writes, mut datagram) = (Vec::new(), 0, vec![0; 1 << 18]);
        while output.len() < expected.len() {
            let length = ours.recv(&mut datagram).unwrap_or_else(|why| panic!("{deployment}: {why}"));
            output.extend_from_slice(&datagram[..length]);
            writes += 1;
        }
        assert!(child.wait().unwrap().success(), "{deployment}");
        assert!(output == expected.as_bytes(), "{deployment}");
        assert!(writes < 4000, "{deployment}: {writes} writes");
    }
}

pub(crate) fn a_line_is_written_before_the_next_one_comes() {
    for deployment in DEPLOYMENTS.into_iter().filter(|deployment| *deployment != "model") {
        let mut lengths = command("lengths");
        lengths.env(AS, "lengths").args(["run", "--deploy", deployment]);
        let mut child = lengths.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut lines, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        for length in 1..10 {
            writeln!(lines, "{}", "x".repeat(length)).unwrap();
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(line, format!("{length}\n"), "{deployment}");
        }
        drop(lines);
        assert!(child.wait().unwrap().success(), "{deployment}");
    }
}
