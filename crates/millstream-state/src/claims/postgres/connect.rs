//! Connecting to a server, and again if it is away.

use super::session::{Session, text_of};
use super::wait::after;
use std::fmt::{self, Debug};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};
use std::{error, io, thread};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, Error, Socket};

/// The pause before the next attempt to reach a server that is away.
const RETRY: Duration = Duration::from_millis(50);

/// What a session does first: its commits are durable.
const SYNCHRONOUS: &str = "SELECT set_config('synchronous_commit', 'on', false) \
                           WHERE current_setting('synchronous_commit') = 'off'";

type Later<R> = Pin<Box<dyn Future<Output = Result<R, Error>> + Send>>;

/// A client, and the future that moves its bytes until the connection ends.
type Connected = (Client, Later<()>);

/// Connects, with encryption or without.
#[derive(Clone)]
pub(super) struct Connector(Arc<dyn Fn(Config) -> Later<Connected> + Send + Sync>);

impl Connector {
    pub(super) fn new<T>(tls: T) -> Self
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::TlsConnect: Send,
        T::Stream: Send + 'static,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        Connector(Arc::new(move |config| {
            let tls = tls.clone();
            Box::pin(async move {
                let (client, connection) = config.connect(tls).await?;
                Ok((client, Box::pin(connection) as Later<()>))
            })
        }))
    }
}

impl Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

/// A server, and the thread on which its connections move their bytes.
#[derive(Debug)]
pub(super) struct Server {
    config: Config,
    connector: Connector,
    patience: Duration,
    name: Arc<str>,
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
}

impl Server {
    pub(super) fn new(config: &Config, connector: &Connector, patience: Duration) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("postgres").enable_all().build()?;
        let name = name_of(config).into();
        Ok(Server { config: config.clone(), connector: connector.clone(), patience, name, runtime: Some(runtime) })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// A session. If the server is away, it is asked again until the patience ends.
    pub(super) fn connect(&self) -> io::Result<Session> {
        let end = after(self.patience);
        loop {
            match self.connect_once(end) {
                Err(refused) if refused.for_now && Instant::now() + RETRY < end => thread::sleep(RETRY),
                Err(refused) => return Err(io::Error::other(format!("{}: {}", self.name, refused.why))),
                Ok(mut session) => {
                    session.query(SYNCHRONOUS, &[])?;
                    return Ok(session);
                }
            }
        }
    }

    fn connect_once(&self, end: Instant) -> Result<Session, Refused> {
        let (sender, answer) = mpsc::channel();
        let ended = Arc::new(Mutex::new(None));
        let (connecting, end_of) = ((self.connector.0)(self.config.clone()), ended.clone());
        let Some(runtime) = &self.runtime else { return Err(Refused::for_good("it is closed")) };
        let driver = runtime.spawn(async move {
            let mut connection = match connecting.await {
                Ok((client, connection)) => {
                    let _ = sender.send(Ok(client)); // the receiver may have lost its patience
                    connection
                }
                Err(error) => return drop(sender.send(Err(error))),
            };
            let why = connection.as_mut().await.err().map_or_else(|| "it was closed".to_owned(), |why| text_of(&why));
            // Before requests fail for it, which they do when the connection is dropped.
            *end_of.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        });
        match answer.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Ok(client)) => Ok(Session::new(client, driver, ended, self.patience, self.name.clone())),
            Ok(Err(error)) => Err(Refused { for_now: is_for_now(&error), why: text_of(&error) }),
            Err(_) => {
                driver.abort();
                Err(Refused::for_good(&format!("the server has not answered for {:?}", self.patience)))
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dropped by a future, which must not wait for another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Why there is no connection.
struct Refused {
    why: String,
    /// The next attempt may succeed.
    for_now: bool,
}

impl Refused {
    fn for_good(why: &str) -> Self {
        Refused { why: why.to_owned(), for_now: false }
    }
}

/// Whether a server is away, or starts or ends; not if it refuses the user, for example.
fn is_for_now(error: &Error) -> bool {
    let states = [
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::TOO_MANY_CONNECTIONS,
    ];
    let cause = error::Error::source(error);
    error.code().is_some_and(|code| states.contains(code))
        || error.is_closed()
        || cause.is_some_and(|cause| cause.is::<io::Error>())
}

/// The database and its hosts, without a password.
fn name_of(config: &Config) -> String {
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or(ports.first()).unwrap_or(&5432);
    let addresses = config.get_hostaddrs().iter().map(ToString::to_string);
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<String> = if config.get_hosts().is_empty() { addresses.collect() } else { hosts.collect() };
    let hosts: Vec<String> = hosts.iter().enumerate().map(|(at, host)| format!("{host}:{}", port(at))).collect();
    let name = config.get_dbname().or(config.get_user()).unwrap_or("default");
    format!("the database {name} at {}", hosts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_no_password() {
        let name = |text: &str| name_of(&text.parse().unwrap());
        assert_eq!(name("postgresql://me:secret@one:7,two:8/orders"), "the database orders at one:7,two:8");
        assert_eq!(name("host=/run/postgres user=me password=secret"), "the database me at /run/postgres:5432");
        assert_eq!(name("hostaddr=10.0.0.1 dbname=orders"), "the database orders at 10.0.0.1:5432");
    }
}
