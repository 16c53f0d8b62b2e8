//! The snapshots that the servers have at the end: those that replicas store and do not drop would fill their disks.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The subjects of the parts of snapshots begin with this.
const PARTS: &str = "$O.words-blobs.C.";
/// A server answers within this time.
const ANSWER: Duration = Duration::from_secs(5);

/// The names of the snapshots of which there are parts, as this server says.
pub(super) fn names(url: &str) -> io::Result<BTreeSet<String>> {
    let mut server = BufReader::new(TcpStream::connect(url.trim_start_matches("nats://"))?);
    server.get_ref().set_read_timeout(Some(ANSWER))?;
    let asks = format!("{{\"subjects_filter\":\"{PARTS}>\"}}");
    let size = asks.len();
    write!(
        server.get_mut(),
        "CONNECT {{\"verbose\":false}}\r\nSUB _INBOX.chaos 1\r\n\
         PUB $JS.API.STREAM.INFO.OBJ_words-blobs _INBOX.chaos {size}\r\n{asks}\r\n"
    )?;
    loop {
        let mut line = String::new();
        if server.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let Some(message) = line.strip_prefix("MSG ") else { continue };
        let size = message.trim_end().rsplit(' ').next().and_then(|size| size.parse().ok());
        let mut text = vec![0; size.ok_or(ErrorKind::InvalidData)?];
        server.read_exact(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        return names_in(&text).ok_or_else(|| io::Error::other(text.into_owned()));
    }
}

/// The names in the description of the stream, if it is one. The subject of a part ends with the name of its snapshot
/// and that of its upload.
fn names_in(text: &str) -> Option<BTreeSet<String>> {
    let subjects = text.split('"').filter_map(|text| text.strip_prefix(PARTS));
    let names = subjects.filter_map(|part| Some(part.rsplit_once('.')?.0.to_owned())).collect();
    text.contains("\"state\"").then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_named_once() {
        let text = "{\"config\":{\"subjects\":[\"$O.words-blobs.C.>\",\"$O.words-blobs.M.>\"]},\"state\":{\"subjects\":{\
                    \"$O.words-blobs.C.out.8.ab.1\":3,\"$O.words-blobs.C.out.8.ab.2\":1,\
                    \"$O.words-blobs.C.out.16.cd.1\":2}}}";
        assert_eq!(names_in(text), Some(["out.16.cd".to_owned(), "out.8.ab".to_owned()].into()));
        assert_eq!(names_in("{\"error\":{\"code\":404}}"), None);
    }
}
