//! A service whose program is changed while it serves: the new one takes over from the old one.
//!
//! ```console
//! $ cargo run -p millstream --features net --example taken_over -- state one &
//! one: http://127.0.0.1:40123/add
//! $ curl -d 5 http://127.0.0.1:40123/add
//! one: 5
//! $ cargo run -p millstream --features net --example taken_over -- state two &
//! two: http://127.0.0.1:40123/add
//! $ curl -d 7 http://127.0.0.1:40123/add
//! two: 12
//! ```
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use millstream::net::http::axum::{Router, http::StatusCode, routing::post_service};
use millstream::net::http::hand_over::{Offer, Settled, Successor, ask};
use millstream::net::http::{Endpoint, Limits, Server};
use millstream::prelude::*;
use millstream::state::{Following, JobError, Persistent, Running, StateDir, StateError};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

fn sums() -> impl Stage<AnyEdge<String>, u64> + Lasting {
    let add = |sum: &mut u64, number: &String| {
        *sum += number.trim().parse::<u64>().unwrap_or(0);
        *sum
    };
    requests::<String>().scan(0, add).named("sum")
}

/// A run that follows that of the process that has the state, and is close to it; `None` if there is nothing to follow.
fn follow(dir: &Path) -> Result<Option<Following<String, u64>>, JobError> {
    let Ok(state) = StateDir::read(dir) else { return Ok(None) };
    let job = Persistent::new(Rings::new(), state);
    let Some(mut following) = job.follow(pipeline().any_edge().then(sums()), Default::default())? else {
        return Ok(None);
    };
    while !following.catches_up(LOOK) {
        following.check()?;
    }
    Ok(Some(following))
}

/// The run, from where the last one ended, and the routes to it.
fn start(
    dir: &Path,
    version: &str,
    following: Option<Following<String, u64>>,
) -> Result<(Router, Running<()>), JobError> {
    let state = StateDir::open(dir, "sums")?;
    let (client, run) = match following {
        Some(following) => following.own(state)?,
        None => Persistent::new(Rings::new(), state).serve(pipeline().any_edge().then(sums()), Default::default())?,
    };
    let version = version.to_owned();
    let add = Endpoint::new(
        client,
        |_, body| String::from_utf8(body.to_vec()).map_err(|_| StatusCode::BAD_REQUEST),
        move |sum| format!("{version}: {sum}\n"),
    );
    Ok((Router::new().route("/add", post_service(add)), run))
}

/// Serves until another process has taken over, or it is `over`. Says where.
fn serve(dir: &Path, version: &str, over: &AtomicBool, say: impl Fn(SocketAddr)) -> Result<(), Failure> {
    // While the old process serves, all is read that it has.
    let following = follow(dir)?;
    // When there is an old process, it has let its state go by now.
    let before = ask(dir, PATIENCE)?;
    let (routes, mut run) = start(dir, version, following)?;
    let (server, offer) = match before {
        Some(before) => {
            let server = before.open(routes, Limits::default())?;
            let offer = before.up(&server, PATIENCE)?;
            (server, offer)
        }
        None => {
            let server = Server::open("127.0.0.1:0", routes)?;
            let offer = server.offer(dir)?;
            (server, offer)
        }
    };
    say(server.address());
    loop {
        let Some(successor) = offer.asked(LOOK) else {
            if over.load(Ordering::Relaxed) {
                offer.settle();
                break;
            }
            continue;
        };
        run.rest();
        server.hold(PATIENCE);
        run.close();
        run.wait()?;
        if handed_over(&server, &offer, successor) {
            break;
        }
        // The state is free when the new process has ended.
        let (routes, again) = loop {
            match start(dir, version, None) {
                Err(JobError::State(StateError::InUse { .. })) => sleep(LOOK),
                started => break started?,
            }
        };
        server.resume(routes);
        run = again;
    }
    // Who asks from now on asks the new process.
    drop(offer);
    while server.counters().open() > 0 && !over.load(Ordering::Relaxed) {
        sleep(LOOK);
    }
    server.close(PATIENCE);
    Ok(())
}

/// `false` if this process has to go on.
fn handed_over(server: &Server, offer: &Offer, successor: Successor) -> bool {
    match successor.hand_over(server, offer, PATIENCE) {
        Ok(handed_over) => handed_over.settled(server, offer, PATIENCE) != Settled::Lost,
        Err(error) => {
            eprintln!("it is not handed over: {error}");
            false
        }
    }
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (Some(dir), Some(version)) = (arguments.next(), arguments.next()) else {
        return Err("which directory, and which version?".into());
    };
    let never = AtomicBool::new(false);
    serve(Path::new(&dir), &version, &never, |address| println!("{version}: http://{address}/add"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::mpsc::channel;
    use std::thread::scope;

    fn add(address: SocketAddr, number: u64) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        let (body, mut answer) = (number.to_string(), String::new());
        let head = format!("POST /add HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
        write!(stream, "{head}connection: close\r\n\r\n{body}").unwrap();
        stream.read_to_string(&mut answer).unwrap();
        answer.rsplit('\n').nth(1).unwrap().to_owned()
    }

    #[test]
    fn one_version_takes_over_from_the_other() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("state");
        let over = AtomicBool::new(false);
        scope(|scope| {
            let begin = |version: &'static str| {
                let (said, address) = channel();
                let (dir, over) = (dir.clone(), &over);
                let served = scope.spawn(move || serve(&dir, version, over, |address| said.send(address).unwrap()));
                (served, address.recv_timeout(PATIENCE).unwrap())
            };
            let (one, address) = begin("one");
            assert_eq!(add(address, 5), "one: 5");
            let (two, same) = begin("two");
            assert_eq!(same, address);
            assert_eq!(add(address, 7), "two: 12");
            one.join().unwrap().unwrap();
            assert_eq!(add(address, 1), "two: 13");
            over.store(true, Ordering::Relaxed);
            two.join().unwrap().unwrap();
        });
    }
}
