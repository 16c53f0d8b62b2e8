//! Servers in plain axum: `ledger`, `journal FILE` and `discard`. Each says on standard error where it listens, and
//! serves until it is killed.

mod journal;
mod routes;

#[path = "../../../../millstream-cli/src/command/serve/ledger.rs"]
mod ledger;
#[path = "../../../../millstream-cli/src/command/serve/steps.rs"]
mod steps;

use axum::Router;
use axum::serve::ListenerExt;
use journal::Journal;
use std::io;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let served = match *args {
        ["ledger"] => serve(routes::ledger(None)),
        ["journal", file] => Journal::begin(Path::new(file)).and_then(|it| serve(routes::ledger(Some(it)))),
        ["discard"] => serve(routes::discarding()),
        _ => Err(io::Error::other("usage: millstream-axum-peers ledger | journal FILE | discard")),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("millstream-axum-peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(routes: Router) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        eprintln!("listening at http://{}/", listener.local_addr()?);
        let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
        axum::serve(listener, routes).await
    })
}
