//! The targets of the fuzzer: no bytes from a connection make a process panic, hang, or take more memory than its
//! limit.

use crate::http::axum::Router;
use crate::http::axum::routing::{get, post_service};
use crate::http::{Endpoint, Ingest, Limits};
use crate::{WholeLines, WholeRecords, arrivals};
use millstream_core::text::Block;
use millstream_core::{Arrow, pipeline};
use millstream_exec::{Handle, JobExt, Reception, Rings, Runner, requests, service};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// A connection that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// The first two bytes set the longest line, and the pieces of the other bytes. The blocks must be the lines.
pub fn lines(bytes: &[u8]) {
    let Some(([longest, piece], text)) = bytes.split_first_chunk() else { return };
    let (longest, piece) = (usize::from(*longest) + 1, usize::from(*piece) + 1);
    let (mut whole, mut got, mut refused) = (WholeLines::new(longest), Vec::new(), false);
    for piece in text.chunks(piece) {
        match whole.push(piece) {
            Ok(block) => got.extend(block.into_iter().flatten()),
            Err(_) => {
                refused = true;
                break;
            }
        }
    }
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    assert_eq!(refused, lines.any(|line| line.len() > longest), "a line that is too long is refused, and no other");
    if refused {
        assert!(text.starts_with(&got));
    } else {
        assert_eq!([got, whole.end().unwrap_or_default()].concat(), text);
    }
}

/// The first two bytes set the longest record, and the pieces of the other bytes. The records must be the same as those
/// in one piece.
pub fn records(bytes: &[u8]) {
    let Some(([longest, piece], rest)) = bytes.split_first_chunk() else { return };
    let (longest, piece) = (usize::from(*longest), usize::from(*piece) + 1);
    let (mut expected, mut left) = (Vec::new(), rest);
    let too_long = loop {
        let Some((length, behind)) = left.split_first_chunk() else { break false };
        let length = u32::from_be_bytes(*length) as usize;
        if length > longest {
            break true;
        }
        let Some((record, behind)) = behind.split_at_checked(length) else { break false };
        expected.push(record.to_vec());
        left = behind;
    };
    let (mut records, mut got, mut refused) = (WholeRecords::new(longest), Vec::new(), false);
    for piece in rest.chunks(piece) {
        match records.push(piece) {
            Ok(some) => got.extend(some),
            Err(_) => {
                refused = true;
                break;
            }
        }
    }
    assert_eq!(refused, too_long);
    assert!(if refused { expected.starts_with(&got) } else { got == expected });
    assert!(refused || records.is_within() != left.is_empty());
}

/// The bytes of a connection over HTTP, cut as the first byte says. The other end closes its half and reads the rest.
pub fn http(bytes: &[u8]) {
    static SERVED: OnceLock<Served> = OnceLock::new();
    let Some((piece, bytes)) = bytes.split_first() else { return };
    let routes = SERVED.get_or_init(served).routes.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let said = runtime.block_on(async {
        let limits = Limits { head_within: PATIENCE, ..Limits::default() };
        let spoken = crate::http::spoken_to(routes, limits, bytes, usize::from(*piece) + 1);
        tokio::time::timeout(PATIENCE, spoken).await.expect("the connection ends")
    });
    assert!(said.is_empty() || said.starts_with(b"HTTP/1."), "it says {:?}", String::from_utf8_lossy(&said));
}

/// A service, and lines that are posted; both run as long as this is kept.
struct Served {
    routes: Router,
    _runs: Mutex<[Handle<()>; 2]>,
}

fn served() -> Served {
    let (client, answering) = service(requests::<u64>().map(|n| *n)).start().expect("it starts");
    let length = Endpoint::new(client, |_, body| Ok::<_, String>(body.len() as u64), |n| format!("{n}\n"));
    let (reception, arriving) = Reception::<Block, ()>::open(&Rings::new(), Some(16)).expect("it opens");
    let lines = pipeline::<Block>().from(arrivals::taken(arriving));
    let taking = Rings::new().start(lines.to_each(|_, block| assert!(block.ends_with(b"\n")))).expect("it starts");
    let ingest = Ingest::new(reception.client(&taking)).longest(64);
    let routes = Router::new()
        .route("/", get(|| async { "here\n" }).post_service(length.body(100)))
        .route("/ingest", post_service(ingest));
    Served { routes, _runs: Mutex::new([answering, taking]) }
}

#[cfg(test)]
mod tests {
    fn survives(target: &str, survive: impl Fn(&[u8])) {
        let corpus = format!("{}/fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
        let files: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|file| file.unwrap().path()).collect();
        assert!(files.len() > 1);
        for file in files {
            let bytes = std::fs::read(file).unwrap();
            (0..=bytes.len()).for_each(|end| survive(&bytes[..end]));
        }
    }

    #[test]
    fn the_corpus_is_survived() {
        survives("lines", super::lines);
        survives("records", super::records);
        survives("http", super::http);
    }
}
