//! Reads files from a URL.

use crate::progress;
use std::io::{self, Read};
use std::time::Duration;

/// The time for a connection, and for the head of the response. The body may take as long as it likes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Fetches the file at a URL. Its reads count as progress.
pub(super) struct Fetched(ureq::BodyReader<'static>);

/// # Errors
///
/// If there is no connection, or the response has no file.
pub(super) fn fetched(url: &str) -> io::Result<Fetched> {
    if !url.starts_with("http://") {
        return Err(io::Error::other("files can be read only from http:// addresses, without encryption"));
    }
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let config = config.timeout_connect(Some(PATIENCE)).timeout_recv_response(Some(PATIENCE)).build();
    let response = ureq::Agent::from(config).get(url).call().map_err(io::Error::other)?;
    match response.status() {
        status if status.is_success() => Ok(Fetched(response.into_body().into_reader())),
        status => Err(io::Error::other(format!("the server answered with status {}", status.as_u16()))),
    }
}

impl Read for Fetched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        progress::read(read);
        Ok(read)
    }
}
