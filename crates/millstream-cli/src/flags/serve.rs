use super::Run;
use super::values::{at_least_one, seconds};
use clap::Args;
#[cfg(feature = "tls")]
use clap::ValueHint;
#[cfg(feature = "tls")]
use std::path::PathBuf;

/// Serve a ledger of accounts over HTTP: six stages on rings, from the request to its answer
///
/// POST /deposit {"to":"ann","amount":5}, /withdraw {"from":...}, /transfer {"from":...,"to":...}; GET /balance/NAME,
/// /accounts, /audit, /health, /metrics, and /page/ for the browser. A request with an Idempotency-Key, or an "id" in
/// its body, is done once, however often it is sent, and gets its first answer. With --state what was answered survives
/// a crash, and a new binary takes over from the old one, under its clients (--take-over). A signal ends it when
/// everything that was accepted is answered
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen: HOST:PORT; port 0 is any free port. Beyond this machine only with a token in MILLSTREAM_TOKEN,
    /// which each POST then has as `Authorization: Bearer TOKEN`. A socket in LISTEN_FDS, or of the process from which
    /// it takes over, has its own address
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = super::values::address)]
    pub(crate) listen: String,
    /// The most connections at a time; further ones wait
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = at_least_one)]
    pub(crate) connections: usize,
    /// The most requests of one client address at a time; further ones get status 429 [default: no limit]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) requests_of_one: Option<usize>,
    /// Seconds until a connection without a request, or with a part of its head, is closed. A body has 10 seconds
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = seconds)]
    pub(crate) idle: u64,
    /// The most accounts. A ledger that goes on from a snapshot keeps the limit with which it began
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = at_least_one)]
    pub(crate) accounts: usize,
    /// Keep the answers to the last N requests with ids. The ids of up to 8 N older ones are kept, too; a request with
    /// one of these gets status 409. A ledger that goes on from a snapshot keeps the number with which it began
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = at_least_one)]
    pub(crate) answers: usize,
    /// Encrypt connections, with the certificates in this PEM file
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", requires = "tls_key", value_hint = ValueHint::FilePath)]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, as PEM
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", requires = "tls_certificate", value_hint = ValueHint::FilePath)]
    pub(crate) tls_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) run: Run,
}
