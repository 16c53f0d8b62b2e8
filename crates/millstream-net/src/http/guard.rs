//! Refuses requests before they reach a route.

use super::{Limits, Refusal};
use crate::listening::asked_for;
use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use millstream_exec::is_here;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Checks the heads of requests.
#[derive(Debug)]
pub(super) struct Guard {
    token: Option<String>,
    requests_of_one: Option<usize>,
    /// Whether it listens on loopback.
    here: bool,
    under_way: Mutex<HashMap<IpAddr, usize>>,
}

/// An open request, which counts among those of its address.
#[derive(Debug)]
pub(super) struct Admitted {
    guard: Arc<Guard>,
    peer: IpAddr,
}

impl Guard {
    pub(super) fn new(limits: &Limits, address: SocketAddr) -> Self {
        let (token, requests_of_one) = (asked_for(limits.token.as_deref()).map(str::to_owned), limits.requests_of_one);
        Guard { token, requests_of_one, here: address.ip().is_loopback(), under_way: Mutex::default() }
    }

    /// Admits the request to its route, or returns the response that refuses it. `None` if requests are not counted.
    pub(super) fn admit(
        self: &Arc<Self>,
        method: &Method,
        headers: &HeaderMap,
        peer: IpAddr,
    ) -> Result<Option<Admitted>, Box<Response>> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"));
        let host = text(header::HOST);
        // A page of another site can have a host name that resolves to this machine. Browsers send that name.
        if self.here && !host.is_none_or(is_here) {
            let why = "this server answers only to `localhost` and IP addresses\n";
            return refuse((StatusCode::MISDIRECTED_REQUEST, why));
        }
        // A page of another site can also open a WebSocket, by a GET, and send and read any messages.
        let changes = opens_socket(headers) || !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        if changes {
            // And a page of another site can post to any address, without reading the answer.
            let foreign = |origin: &str| origin.split_once("://").map(|(_, from)| from) != host;
            if text(header::ORIGIN).is_some_and(foreign) {
                return refuse((StatusCode::FORBIDDEN, "requests from another site are refused\n"));
            }
            if let Some(token) = &self.token
                && !headers.get(header::AUTHORIZATION).is_some_and(|given| is_bearer(given.as_bytes(), token))
            {
                let header = [(header::WWW_AUTHENTICATE, "Bearer")];
                return refuse((StatusCode::UNAUTHORIZED, header, "the token is missing or wrong\n"));
            }
        }
        // Bodies are not decompressed, so the limit of a body holds for its contents.
        if text(header::CONTENT_ENCODING).is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
            let why = "send the body as it is, without `Content-Encoding`\n";
            return refuse((StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
        }
        let Some(most) = self.requests_of_one else { return Ok(None) };
        let mut all = self.lock();
        let under_way = all.entry(peer).or_default();
        if *under_way >= most {
            return refuse(Refusal::TooMany);
        }
        *under_way += 1;
        drop(all);
        Ok(Some(Admitted { guard: self.clone(), peer }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refuse(response: impl IntoResponse) -> Result<Option<Admitted>, Box<Response>> {
    Err(Box::new(response.into_response()))
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut all = self.guard.lock();
        if let Some(under_way) = all.get_mut(&self.peer) {
            *under_way -= 1;
            if *under_way == 0 {
                all.remove(&self.peer);
            }
        }
    }
}

/// The response to an admitted request, which stays open until the response ends if that is a stream.
pub(super) fn open_while_streamed(response: Response, admitted: Option<Arc<Admitted>>) -> Response {
    let Some(admitted) = admitted.filter(|_| response.body().size_hint().exact().is_none()) else { return response };
    let hold = move |frame| {
        let _ = &admitted;
        frame
    };
    response.map(|body| Body::new(body.map_frame(hold)))
}

/// Whether the request opens a WebSocket. Other upgrades are not made: the request is answered as it is.
pub(super) fn opens_socket(headers: &HeaderMap) -> bool {
    let to = headers.get(header::UPGRADE).and_then(|to| to.to_str().ok());
    to.is_some_and(|to| to.to_ascii_lowercase().contains("websocket"))
}

/// Whether it is this token, which may have any characters; blanks at its ends do not count, since a header has none
/// there. The time of the comparison does not depend on how much of the token is right.
fn is_bearer(given: &[u8], token: &str) -> bool {
    let Some((scheme, given)) = given.split_at_checked("bearer".len()) else { return false };
    let Some(given) = given.strip_prefix(b" ") else { return false };
    let (given, token) = (given.trim_ascii(), token.trim_ascii().as_bytes());
    let differ = given.iter().zip(token).fold(0, |differ, (a, b)| differ | (a ^ b));
    scheme.eq_ignore_ascii_case(b"bearer") && given.len() == token.len() && std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(limits: &Limits, at: &str, method: Method, headers: &[(&str, &str)]) -> u16 {
        let guard = Arc::new(Guard::new(limits, at.parse().unwrap()));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(axum::http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let admitted = guard.admit(&method, &map, "127.0.0.1".parse().unwrap());
        admitted.map_or_else(|response| response.status().as_u16(), |_| 200)
    }

    #[test]
    fn a_page_from_elsewhere_reads_and_changes_nothing() {
        let here = |method, headers: &[_]| status(&Limits::default(), "127.0.0.1:80", method, headers);
        assert_eq!(here(Method::GET, &[("host", "localhost:80")]), 200);
        assert_eq!(here(Method::GET, &[("host", "[::1]:80")]), 200);
        assert_eq!(here(Method::GET, &[("host", "example.org")]), 421);
        assert_eq!(here(Method::GET, &[("host", "localhost.example.org:80")]), 421);
        let from = |origin| here(Method::POST, &[("host", "127.0.0.1:80"), ("origin", origin)]);
        assert_eq!(from("http://127.0.0.1:80"), 200);
        assert_eq!(from("http://example.org"), 403);
        assert_eq!(from("null"), 403);
        let socket =
            |origin| here(Method::GET, &[("upgrade", "websocket"), ("host", "127.0.0.1:80"), ("origin", origin)]);
        assert_eq!(socket("http://127.0.0.1:80"), 200);
        assert_eq!(socket("http://example.org"), 403);
    }

    #[test]
    fn a_token_is_asked_for_where_something_changes() {
        let limits = Limits::default().token("secret");
        let with = |method, headers: &[_]| status(&limits, "10.0.0.1:80", method, headers);
        assert_eq!(with(Method::GET, &[]), 200);
        assert_eq!(with(Method::POST, &[]), 401);
        assert_eq!(with(Method::GET, &[("upgrade", "WebSocket")]), 401);
        assert_eq!(with(Method::GET, &[("upgrade", "h2c")]), 200);
        assert_eq!(with(Method::DELETE, &[("authorization", "Bearer secreT")]), 401);
        assert_eq!(with(Method::POST, &[("authorization", "Basic secret")]), 401);
        assert_eq!(with(Method::POST, &[("authorization", "Bearer secret2")]), 401);
        assert_eq!(with(Method::POST, &[("authorization", "bearer secret")]), 200);
    }

    #[test]
    fn an_empty_token_is_none() {
        for token in ["", " \t"] {
            let limits = Limits::default().token(token);
            for headers in [&[][..], &[("authorization", "Bearer x")]] {
                assert_eq!(status(&limits, "127.0.0.1:80", Method::POST, headers), 200, "{token:?}");
            }
        }
    }

    #[test]
    fn a_token_may_have_any_characters_and_blanks_at_its_ends() {
        for token in ["geheimnis-\u{e4}\u{f6}\u{fc}", " secret\t"] {
            let guard = Arc::new(Guard::new(&Limits::default().token(token), "10.0.0.1:80".parse().unwrap()));
            let admits = |given: &str| {
                let value = axum::http::HeaderValue::from_bytes(format!("Bearer {given}").as_bytes()).unwrap();
                let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
                guard.admit(&Method::POST, &headers, "10.0.0.2".parse().unwrap()).is_ok()
            };
            assert!(admits(token.trim()) && !admits("secreT") && !admits("geheimnis-aou"), "{token}");
        }
    }

    #[test]
    fn a_compressed_body_is_refused() {
        let with = |coding| status(&Limits::default(), "127.0.0.1:80", Method::POST, &[("content-encoding", coding)]);
        assert_eq!(with("gzip"), 415);
        assert_eq!(with("identity"), 200);
    }

    #[test]
    fn one_address_has_a_bounded_number_of_requests_under_way() {
        let guard = Arc::new(Guard::new(&Limits::default().requests_of_one(2), "10.0.0.1:80".parse().unwrap()));
        let admit = |peer: &str| guard.admit(&Method::GET, &HeaderMap::new(), peer.parse().unwrap());
        let first = admit("10.0.0.2").unwrap();
        let _second = admit("10.0.0.2").unwrap();
        assert_eq!(admit("10.0.0.2").unwrap_err().status(), 429);
        let other = admit("10.0.0.3").unwrap();
        drop(first);
        assert!(admit("10.0.0.2").is_ok());
        drop(other);
        assert_eq!(guard.lock().len(), 1, "an address without requests is forgotten");
    }
}
