//! Blobs, as objects of the servers' object store.
//!
//! The parts of a blob have its name in their subject, which those of the client's own uploads have not. So an upload
//! goes on with its next part in the next call, and what is left of one that was not completed is found by its name.

use super::answers::{not_appended, unavailable};
use super::{ANSWER, JetStream};
use crate::LogError;
use async_nats::header::NATS_ROLLUP;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::object_store::{
    DeleteErrorKind, GetErrorKind, InfoErrorKind, Object, ObjectInfo, ObjectOptions,
};
use async_nats::jetstream::stream::{DirectGetErrorKind, Stream};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use bytes::Bytes;
use futures_util::TryStreamExt;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::process;
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;

/// The size of a part, unless the servers take only smaller messages.
const PART: usize = 128 << 10;
/// How long the next part of a blob that is read may take.
const NEXT_PART: Duration = Duration::from_secs(5);

/// A blob of which not all parts are stored yet.
pub(super) struct Upload {
    name: String,
    /// The last token of its parts' subject: processes that store the same blob at once do not mix their parts.
    id: String,
    /// The size of a part.
    size: usize,
    /// How many parts are there.
    parts: usize,
    /// The sequence of the last one in the stream, 0 if there is none.
    last: u64,
    /// Whether the next part had no answer, so that it may be there.
    doubt: bool,
}

/// A blob of which not all is read yet.
pub(super) struct Download {
    name: String,
    object: Object,
    bytes: Vec<u8>,
    /// When something of it came last.
    came: Instant,
}

impl Upload {
    fn new(name: &str, size: usize) -> Self {
        let id = format!("{:016x}", RandomState::new().hash_one(process::id()));
        Upload { name: name.to_owned(), id, size, parts: 0, last: 0, doubt: false }
    }

    fn nuid(&self) -> String {
        format!("{}.{}", self.name, self.id)
    }

    fn has_next(&mut self, sequence: u64) {
        (self.parts, self.last, self.doubt) = (self.parts + 1, sequence, false);
    }
}

impl JetStream {
    fn bucket(&self) -> String {
        format!("{}-blobs", self.app)
    }

    fn parts(&self, nuid: &str) -> String {
        format!("$O.{}.C.{nuid}", self.bucket())
    }

    /// The subject of the description of a blob.
    fn described(&self, name: &str) -> String {
        format!("$O.{}.M.{}", self.bucket(), URL_SAFE.encode(name))
    }

    /// The stream of the blobs, without asking the servers.
    async fn stream_of_blobs(&self) -> Result<Stream<()>, LogError> {
        let name = format!("OBJ_{}", self.bucket());
        self.context.get_stream_no_info(name).await.map_err(|error| unavailable(&error))
    }

    /// Stores the parts that are not there yet, for as long as a call may take, and then what describes them.
    pub(super) fn store_blob(&self, name: &str, bytes: &[u8]) -> Result<(), LogError> {
        let begun = Instant::now();
        let there = self.ask(async {
            match self.blobs.info(name).await {
                // What was removed may still have its description.
                Ok(there) => Ok(!there.deleted),
                Err(error) if error.kind() == InfoErrorKind::NotFound => Ok(false),
                Err(error) => Err(unavailable(&error)),
            }
        })?;
        let mut upload = self.upload.lock().unwrap_or_else(PoisonError::into_inner);
        if there {
            *upload = None;
            return Ok(());
        }
        let under_way = match upload.take() {
            Some(under_way) if under_way.name == name => under_way,
            // A message has headers, too.
            _ => Upload::new(name, PART.min(self.context.client().max_payload() / 2).max(1)),
        };
        let under_way = upload.insert(under_way);
        let parts = bytes.len().div_ceil(under_way.size);
        while let Some(part) = bytes.chunks(under_way.size).nth(under_way.parts) {
            if begun.elapsed() > ANSWER {
                let stored = under_way.parts;
                return Err(LogError::Unavailable(format!("{stored} of {parts} parts of a blob are stored")));
            }
            self.store_part(under_way, Bytes::copy_from_slice(part))?;
        }
        self.describe(under_way, bytes.len(), parts)?;
        *upload = None;
        Ok(())
    }

    /// Stores the next part, or learns that it is there.
    fn store_part(&self, upload: &mut Upload, part: Bytes) -> Result<(), LogError> {
        let subject = self.parts(&upload.nuid());
        self.ask(async {
            if upload.doubt {
                let stream = self.stream_of_blobs().await?;
                match stream.direct_get_last_for_subject(&*subject).await {
                    Ok(there) if there.sequence > upload.last => {
                        upload.has_next(there.sequence);
                        return Ok(());
                    }
                    // Another replica has dropped them, as those of an old snapshot.
                    Err(error) if error.kind() == DirectGetErrorKind::NotFound && upload.parts > 0 => {
                        *upload = Upload::new(&upload.name, upload.size);
                        return Err(LogError::Unavailable("the parts of a blob were dropped".to_owned()));
                    }
                    Err(error) if error.kind() != DirectGetErrorKind::NotFound => return Err(unavailable(&error)),
                    _ => {}
                }
            }
            upload.doubt = true;
            // A part that arrives late is not there twice.
            let message = PublishMessage::build().payload(part).expected_last_subject_sequence(upload.last);
            let sent = self.context.send_publish(subject.clone(), message).await;
            let answer = sent.map_err(|error| not_appended(&error))?.await;
            upload.has_next(answer.map_err(|error| not_appended(&error))?.sequence);
            Ok(())
        })
    }

    /// Makes an object of parts that are all there. If another process has made one of its own, the parts are the same.
    fn describe(&self, upload: &Upload, size: usize, chunks: usize) -> Result<(), LogError> {
        let described = ObjectInfo {
            name: upload.name.clone(),
            description: None,
            metadata: HashMap::new(),
            headers: None,
            options: Some(ObjectOptions { link: None, max_chunk_size: Some(upload.size) }),
            bucket: self.bucket(),
            nuid: upload.nuid(),
            size,
            chunks,
            modified: None,
            // The name has a hash of the bytes.
            digest: None,
            deleted: false,
        };
        let value = serde_json::to_vec(&described).map_err(|error| LogError::Refused(error.to_string()))?;
        let message = PublishMessage::build().payload(value.into()).header(NATS_ROLLUP, "sub");
        self.ask(async {
            let sent = self.context.send_publish(self.described(&upload.name), message).await;
            let answer = sent.map_err(|error| not_appended(&error))?.await;
            answer.map(drop).map_err(|error| not_appended(&error))
        })
    }

    /// Reads a blob for as long as a call may take; the next call goes on.
    pub(super) fn read_blob(&self, name: &str) -> Result<Option<Vec<u8>>, LogError> {
        let begun = Instant::now();
        let mut download = self.download.lock().unwrap_or_else(PoisonError::into_inner);
        let mut under_way = match download.take().filter(|under_way| under_way.name == name) {
            Some(under_way) => under_way,
            None => {
                let object = self.ask(async {
                    match self.blobs.get(name).await {
                        Ok(object) => Ok(Some(object)),
                        Err(error) if error.kind() == GetErrorKind::NotFound => Ok(None),
                        Err(error) => Err(unavailable(&error)),
                    }
                })?;
                let Some(object) = object else { return Ok(None) };
                let bytes = Vec::with_capacity(object.info().size);
                Download { name: name.to_owned(), object, bytes, came: begun }
            }
        };
        let size = under_way.object.info().size;
        loop {
            let read = self.ask(async { Ok(under_way.object.read_buf(&mut under_way.bytes).await) });
            let error = match read {
                // A server that lags behind may not have all of its parts yet.
                Ok(Ok(0)) => return Ok((under_way.bytes.len() >= size).then_some(under_way.bytes)),
                Ok(Ok(_)) => {
                    under_way.came = Instant::now();
                    if begun.elapsed() <= ANSWER {
                        continue;
                    }
                    LogError::Unavailable(format!("{} of {size} bytes of a blob are read", under_way.bytes.len()))
                }
                Ok(Err(error)) => return Err(unavailable(&error)),
                // However slow the line is: it is enough that something comes.
                Err(error) if under_way.came.elapsed() >= NEXT_PART => return Err(error),
                Err(error) => error,
            };
            *download = Some(under_way);
            return Err(error);
        }
    }

    /// Removes a blob, the parts of it that no object has, and what describes it.
    pub(super) fn drop_blob(&self, name: &str) -> Result<(), LogError> {
        self.ask(async {
            match self.blobs.delete(name).await {
                Err(error) if error.kind() != DeleteErrorKind::NotFound => return Err(unavailable(&error)),
                _ => {}
            }
            let stream = self.stream_of_blobs().await?;
            for subject in [self.parts(&format!("{name}.*")), self.described(name)] {
                stream.purge().filter(subject).await.map_err(|error| unavailable(&error))?;
            }
            Ok(())
        })
    }

    /// The names of the blobs of which there are parts.
    pub(super) fn names_of_blobs(&self) -> Result<Vec<String>, LogError> {
        self.ask(async {
            let (stream, parts) = (self.stream_of_blobs().await?, self.parts(""));
            let mut subjects = stream.info_with_subjects(self.parts(">")).await.map_err(|error| unavailable(&error))?;
            let mut names = BTreeSet::new();
            while let Some((subject, _)) = subjects.try_next().await.map_err(|error| unavailable(&error))? {
                // The subjects of an earlier version have no name.
                let name = subject.strip_prefix(&parts).and_then(|nuid| nuid.rsplit_once('.'));
                names.extend(name.map(|(name, _)| name.to_owned()));
            }
            Ok(names.into_iter().collect())
        })
    }
}
