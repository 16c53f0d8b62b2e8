//! A client that repeats requests without an answer.

use super::super::http::{self, response};
use super::super::processes::{all_said, violation};
use crate::cmd::{Failure, Result, failure};
use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(super) struct Client {
    address: SocketAddr,
    home: PathBuf,
    connection: Option<BufReader<TcpStream>>,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
    /// How often the request was sent again.
    pub(super) repeated: u64,
}

impl Answer {
    pub(super) fn expect(&self, status: u16) -> Result {
        if self.status == status {
            return Ok(());
        }
        Err(violation(format!("{} instead of {status}: {}", self.status, self.body)))
    }
}

impl Client {
    pub(super) fn new(port: u16, home: &Path) -> Self {
        Client { address: ([127, 0, 0, 1], port).into(), home: home.to_owned(), connection: None }
    }

    /// Posts until there is an answer that is no 503.
    pub(super) fn until_answered(&mut self, path: &str, id: &str, body: &str, within: Duration) -> Result<Answer> {
        let id = if id.is_empty() { String::new() } else { format!("idempotency-key: {id}\r\n") };
        self.until(&http::post(path, &id, body), within)
    }

    fn get(&mut self, path: &str, within: Duration) -> Result<String> {
        let answer = self.until(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"), within)?;
        answer.expect(200)?;
        Ok(answer.body)
    }

    fn until(&mut self, request: &str, within: Duration) -> Result<Answer> {
        let since = Instant::now();
        let mut sent = 0;
        while since.elapsed() < within {
            match self.once(request, &mut sent) {
                Ok((503, _)) => {}
                Ok((status, body)) => return Ok(Answer { status, body, repeated: u64::max(sent, 1) - 1 }),
                Err(_) => self.connection = None,
            }
            sleep(Duration::from_millis(2));
        }
        let said: String = all_said(&self.home).map(|(_, said)| said).collect();
        Err(failure(format!("no answer within {within:?}; it said:\n{said}")))
    }

    /// Sends a request, and counts it. Returns the status and the body of the response.
    fn once(&mut self, request: &str, sent: &mut u64) -> io::Result<(u16, String)> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => http::connect(self.address, Duration::from_secs(20))?,
        };
        connection.get_mut().write_all(request.as_bytes())?;
        *sent += 1;
        let response = response(&mut connection)?;
        self.connection = Some(connection).filter(|_| !response.is_last);
        Ok((response.status, response.body))
    }

    /// Checks that no money is lost or made. Returns the number of transfers.
    pub(super) fn audit(&mut self, within: Duration) -> Result<u64> {
        let said = self.get("/audit", within)?;
        let field = |name: &str| number(&said, name).ok_or_else(|| unreadable(&said));
        if field("balances")? != field("paid_in")? - field("paid_out")? {
            return Err(violation(format!("money is lost or made: {said}")));
        }
        field("transfers")
    }

    /// All accounts.
    pub(super) fn accounts(&mut self, within: Duration) -> Result<BTreeMap<String, u64>> {
        let mut all = BTreeMap::new();
        loop {
            let after = all.last_key_value().map_or("", |(account, _): (&String, &u64)| account.as_str()).to_owned();
            let page = self.get(&format!("/accounts?after={after}"), within)?;
            all.extend(pairs(&page));
            if page.contains("\"more\":false") {
                return Ok(all);
            }
            if all.last_key_value().is_none_or(|(last, _)| *last == after) {
                return Err(unreadable(&page));
            }
        }
    }
}

fn unreadable(said: &str) -> Failure {
    failure(format!("what is this: {said}"))
}

/// The number of this field of a flat JSON object.
fn number(json: &str, field: &str) -> Option<u64> {
    let (_, rest) = json.split_once(&format!("\"{field}\":"))?;
    rest[..rest.find(|c: char| !c.is_ascii_digit())?].parse().ok()
}

/// The pairs of a name and a number in it.
fn pairs(json: &str) -> impl Iterator<Item = (String, u64)> {
    json.split("[\"").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once("\",")?;
        Some((name.to_owned(), rest[..rest.find(']')?].parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balances_and_fields_are_found() {
        let page = r#"{"accounts":[["ann",70],["b-1",0]],"more":false}"#;
        assert_eq!(pairs(page).collect::<Vec<_>>(), [("ann".to_owned(), 70), ("b-1".to_owned(), 0)]);
        assert_eq!(number(r#"{"balances":12,"paid_in":5}"#, "paid_in"), Some(5));
        assert_eq!(number(r#"{"balances":12}"#, "paid_in"), None);
    }
}
