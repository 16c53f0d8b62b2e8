//! A state that takes long to restore: many accounts, before anything is changed.

use super::super::http::{self, response};
use super::super::processes::{PATIENCE, violation};
use crate::cmd::{Result, failure};
use std::io::{self, BufReader, Write};
use std::net::TcpStream;
use std::thread;

const CONNECTIONS: u64 = 32;

/// Requests that are sent at once.
const AT_ONCE: u64 = 50;

/// Pays 1 into each of these accounts.
pub(super) fn fill(port: u16, accounts: u64) -> Result {
    let fills = |from: u64| move || pays(port, (from..accounts).step_by(CONNECTIONS as usize));
    let threads: Vec<_> = (0..CONNECTIONS).map(|from| thread::spawn(fills(from))).collect();
    for thread in threads {
        let paid = thread.join().map_err(|_| failure("a client panicked"))?;
        paid.map_err(|error| violation(format!("an account is not filled: {error}")))?;
    }
    Ok(())
}

fn pays(port: u16, mut accounts: impl Iterator<Item = u64>) -> io::Result<()> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut connection = BufReader::new(stream);
    loop {
        let some: Vec<u64> = accounts.by_ref().take(AT_ONCE as usize).collect();
        if some.is_empty() {
            return Ok(());
        }
        let requests: String = some.iter().map(|account| request(*account)).collect();
        connection.get_mut().write_all(requests.as_bytes())?;
        for _ in some {
            let said = response(&mut connection)?;
            if said.status != 200 {
                return Err(io::Error::other(format!("{}: {}", said.status, said.body)));
            }
        }
    }
}

fn request(account: u64) -> String {
    http::post("/deposit", "", &format!("{{\"to\":\"f{account}\",\"amount\":1}}"))
}
