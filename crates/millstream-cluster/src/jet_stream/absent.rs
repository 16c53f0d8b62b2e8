//! Streams that are not there, or no longer the ones that were opened.

use super::answers::{unavailable, with_causes};
use crate::LogError;
use async_nats::jetstream::kv;
use std::error::Error;

/// Whether a stream is not there.
pub(super) fn is_absent(error: &dyn Error) -> bool {
    with_causes(error).contains("stream not found")
}

/// Whether the records are not those that were opened any more. They are made first and removed first: while they are
/// there, so are the other streams.
pub(super) async fn is_gone(records: &kv::Store) -> Result<bool, LogError> {
    match records.stream.get_info().await {
        Ok(info) => Ok(info.created != records.stream.cached_info().created),
        Err(error) if is_absent(&error) => Ok(true),
        Err(error) => Err(unavailable(&error)),
    }
}
