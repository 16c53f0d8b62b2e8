//! Bodies, within limits of size and time.

use super::Refusal;
use super::timers::Reused;
use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use std::time::Duration;

/// The whole body, if it comes in time.
pub(super) async fn whole(body: Body, most: usize, timer: &Reused, within: Duration) -> Result<Bytes, Refusal> {
    // Refuses a body that announces too many bytes before it comes.
    let hint = body.size_hint();
    if usize::try_from(hint.lower()).is_ok_and(|least| least <= most) {
        timer.within(within, collected(body, most)).await.unwrap_or(Err(Refusal::BodyTooSlow))
    } else {
        Err(Refusal::BodyTooLong { most })
    }
}

async fn collected(mut body: Body, most: usize) -> Result<Bytes, Refusal> {
    let Some(first) = next(&mut body).await? else { return Ok(Bytes::new()) };
    if first.len() > most {
        return Err(Refusal::BodyTooLong { most });
    }
    // A body of one piece, as most are, is not copied.
    let Some(second) = next(&mut body).await? else { return Ok(first) };
    let mut all = BytesMut::from(first);
    let mut piece = Some(second);
    while let Some(bytes) = piece {
        if all.len() + bytes.len() > most {
            return Err(Refusal::BodyTooLong { most });
        }
        all.extend_from_slice(&bytes);
        piece = next(&mut body).await?;
    }
    Ok(all.freeze())
}

/// The next piece of a body.
pub(super) async fn next(body: &mut Body) -> Result<Option<Bytes>, Refusal> {
    if body.is_end_stream() {
        return Ok(None);
    }
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Err(_)) => return Err(Refusal::BodyBroken),
            Some(Ok(frame)) => {
                // Trailers have no meaning here.
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
        }
    }
}
