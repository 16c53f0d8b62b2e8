//! Reads files from a URL.

use crate::input::{Counted, Opening};
use crate::interrupts::ended;
use std::io::{self, Read};
use std::time::Duration;

/// The time for a connection, and for the head of the response. The body may take as long as it likes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Fetches the file at a URL. Its reads count as progress.
///
/// # Errors
///
/// If there is no connection, or the response has no file; one that [`is_end`](crate::interrupts::is_end) recognizes if
/// a signal ends the wait for it.
pub(super) fn fetched(url: &str, opening: &Opening) -> io::Result<Box<dyn Read + Send>> {
    let body = match &opening.interrupts {
        Some(interrupts) => {
            let url = url.to_owned();
            interrupts.unless_interrupted(move || body_at(&url))?.ok_or_else(ended)??
        }
        None => body_at(url)?,
    };
    opening.aside(Counted(body))
}

fn body_at(url: &str) -> io::Result<ureq::BodyReader<'static>> {
    if !url.starts_with("http://") {
        return Err(io::Error::other("files can be read only from http:// addresses, without encryption"));
    }
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let config = config.timeout_connect(Some(PATIENCE)).timeout_recv_response(Some(PATIENCE)).build();
    let response = ureq::Agent::from(config).get(url).call().map_err(io::Error::other)?;
    match response.status() {
        status if status.is_success() => Ok(response.into_body().into_reader()),
        status => Err(io::Error::other(format!("the server answered with status {}", status.as_u16()))),
    }
}
