//! Accounts over HTTP that survive a crash. Each has a state of its own, and a request with an id is done once.
//!
//! ```console
//! $ cargo run -p millstream --features net --example accounts -- state
//! http://127.0.0.1:40123/change
//! ```
//!
//! In another terminal; then end the program by Ctrl-D, Ctrl-C or `kill -9`, start it again, and go on:
//!
//! ```console
//! $ curl -d 'first ann 30' http://127.0.0.1:40123/change
//! 30
//! $ curl -d 'second ann -50' http://127.0.0.1:40123/change
//! ann has 30
//! ```
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use millstream::net::http::axum::{Router, http::StatusCode, routing::post_service};
use millstream::net::http::{Endpoint, Server};
use millstream::net::once::{FirstAnswers, Look};
use millstream::prelude::*;
use millstream::state::{Persistent, Running, StateDir, recorded};
use std::path::Path;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Pays into an account, or out of it if the amount is negative.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Change {
    id: String,
    account: String,
    amount: i64,
}
recorded!(Change);

/// Reads `ID ACCOUNT AMOUNT`. What it refuses never meets the pipeline.
fn read(body: &[u8]) -> Result<Change, (StatusCode, &'static str)> {
    let refused = (StatusCode::BAD_REQUEST, "expected: ID ACCOUNT AMOUNT\n");
    let text = std::str::from_utf8(body).map_err(|_| refused)?;
    let [id, account, amount] = text.split_whitespace().collect::<Vec<_>>()[..] else { return Err(refused) };
    let amount = amount.parse().map_err(|_| refused)?;
    Ok(Change { id: id.to_owned(), account: account.to_owned(), amount })
}

/// The new balance, or why the change was refused.
type Outcome = Result<i64, String>;

/// One account: its balance, and the answers to its last requests.
type Account = (i64, FirstAnswers<Outcome>);

/// Applies a change to its account, unless that was done before. A panic would end the service, so there is none.
fn apply((balance, answers): &mut Account, change: &Change) -> Outcome {
    // What distinguishes two requests of one id: the account is that of this state.
    let request = change.amount.cast_unsigned();
    match answers.look(&change.id, request) {
        Look::New => {}
        Look::Answered(first) => return first,
        Look::OtherRequest => return Err(format!("{} is the id of another change", change.id)),
        Look::Forgotten => return Err(format!("{} was answered, too long ago to know how", change.id)),
    }
    let outcome = match balance.checked_add(change.amount) {
        Some(sum) if sum >= 0 => {
            *balance = sum;
            Ok(sum)
        }
        _ => Err(format!("{} has {balance}", change.account)),
    };
    answers.keep(&change.id, request, outcome.clone());
    outcome
}

/// Every account on one of two tasklets. A snapshot finds the states by their names.
fn accounts<E: LastingEdge<Change>>() -> impl Stage<E, Outcome> + Lasting {
    id::<E>()
        .shard_by_ref(
            |change: &Change| change.account.as_str(),
            2,
            |p| p.scan((0, FirstAnswers::new(1000)), apply).named("balance"),
        )
        .named("accounts")
}

/// The server and the run, with the balances that are in the directory.
fn start(dir: &Path) -> Result<(Server, Running<()>), Failure> {
    let job = Persistent::new(Rings::new(), StateDir::open(dir, "accounts")?);
    let (client, run) = job.serve(accounts(), Default::default())?;
    let write = |outcome| match outcome {
        Ok(balance) => (StatusCode::OK, format!("{balance}\n")),
        Err(why) => (StatusCode::UNPROCESSABLE_ENTITY, format!("{why}\n")),
    };
    let change = Endpoint::new(client, |_, body| read(&body), write);
    let routes = Router::new().route("/change", post_service(change));
    Ok((Server::open("127.0.0.1:0", routes)?, run))
}

fn main() -> Result<(), Failure> {
    let dir = std::env::args().nth(1).ok_or("which directory?")?;
    let (server, run) = start(Path::new(&dir))?;
    println!("http://{}/change", server.address());
    // Until the end of its input. A service would wait for a signal instead.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    // No new connections. Once the last client is gone, the run stores a snapshot and ends.
    drop(server);
    run.wait()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};

    /// The status and the body of the answer.
    fn post(address: SocketAddr, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("POST /change HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
        write!(stream, "{head}connection: close\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.rsplit("\r\n").next().unwrap().to_owned())
    }

    #[test]
    fn balances_survive_and_a_change_is_done_once() {
        let home = tempfile::tempdir().unwrap();
        let lives: [&[(&str, u16, &str)]; 2] = [
            &[
                ("first ann 30", 200, "30\n"),
                ("second ann -50", 422, "ann has 30\n"),
                ("first bo 5", 200, "5\n"),
                ("ann 30", 400, "expected: ID ACCOUNT AMOUNT\n"),
            ],
            &[
                ("first ann 30", 200, "30\n"),
                ("first ann 31", 422, "first is the id of another change\n"),
                ("third ann 1", 200, "31\n"),
                ("second bo -5", 200, "0\n"),
            ],
        ];
        for life in lives {
            let (server, run) = start(home.path()).unwrap();
            for (body, status, answer) in life {
                assert_eq!(post(server.address(), body), (*status, (*answer).to_owned()), "{body}");
            }
            drop(server);
            run.wait().unwrap();
        }
    }
}
