//! Logins, servers, and the streams and buckets that are made on them.

use super::answers::with_causes;
use super::said::Said;
use super::streams::{Made, make, unmake};
use super::{ANSWER, JetStream};
use async_nats::jetstream::context::RequestErrorKind;
use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

/// Connecting fails if no server has answered at all for this long.
const CONNECTING: Duration = Duration::from_secs(3);
/// What a server lacks that no request reaches.
const NO_STORE: &str = ": they run without JetStream: start them with `-js`, or with a block `jetstream` in their \
                        configuration";

/// Which application on which servers, and the identity of the client.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The servers: `nats://HOST:PORT`, or `tls://HOST:PORT`; several are separated by commas. If one begins with
    /// `tls://`, all connections must be encrypted. Without it, those are that the servers want to be encrypted.
    pub url: String,
    /// The name of the application: letters, digits, `-` and `_`. Its streams and buckets begin with it.
    pub app: String,
    /// The identity with which this client connects.
    pub login: Login,
    /// How connections are encrypted.
    pub tls: Tls,
}

impl Access {
    /// The URL without a user and a password.
    pub(super) fn shown_url(&self) -> String {
        let shown = self.url.split(',').map(|url| match (url.find("://"), url.rfind('@')) {
            (Some(scheme), Some(at)) if at > scheme => format!("{}{}", &url[..scheme + 3], &url[at + 1..]),
            (None, Some(at)) => url[at + 1..].to_owned(),
            _ => url.to_owned(),
        });
        shown.collect::<Vec<_>>().join(",")
    }
}

/// An identity for the servers.
#[derive(Clone, Default)]
pub enum Login {
    /// The user in the URL, or a client without a name.
    #[default]
    Open,
    /// A user with a password.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// A file of credentials: a token (JWT) and a key.
    Credentials(PathBuf),
    /// The seed of a key (nkey).
    Key(String),
}

/// Without secrets.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Login::Open => "Open",
            Login::Password { .. } => "Password",
            Login::Credentials(_) => "Credentials",
            Login::Key(_) => "Key",
        })
    }
}

/// The files of encrypted connections. If any of them is set, connections must be encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// The certificates that vouch for the servers, as PEM, in place of those of this machine.
    pub authority: Option<PathBuf>,
    /// This client's certificate and its key, as PEM.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// The streams of an application on the servers.
#[derive(Clone, Debug)]
pub struct Streams {
    /// Its edges.
    pub edges: Vec<String>,
    /// How many servers have each entry: 1, 3 or 5.
    pub replicas: usize,
    /// How many entries an edge holds.
    pub capacity: u32,
}

/// Why a [`JetStream`] could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No server answers.
    #[error("no server answers at {url}: {why}")]
    NoServer {
        /// Where.
        url: String,
        /// The last reason.
        why: String,
    },
    /// There is no encrypted connection.
    #[error("no encrypted connection to {url}: {why}")]
    Encryption {
        /// Where.
        url: String,
        /// Why, and what to do.
        why: String,
    },
    /// A file of the login or of the encryption, or a key, is not one.
    #[error("{what} cannot be used: {why}")]
    Unusable {
        /// The file, or what it is.
        what: String,
        /// Why.
        why: String,
    },
    /// A server refuses the login.
    #[error("the server at {url} refuses this login: {why}")]
    Login {
        /// Where.
        url: String,
        /// What it says.
        why: String,
    },
    /// The login lacks a permission.
    #[error("the servers at {url} forbid something: {why}")]
    Forbidden {
        /// Where.
        url: String,
        /// Which permission.
        why: String,
    },
    /// There is no application of this name.
    #[error("there is no application {app:?} at {url}: `cluster apply` makes one")]
    NoApp {
        /// Where.
        url: String,
        /// Its name.
        app: String,
    },
    /// Streams of an application of this name are there, and its records are not: they were being removed.
    #[error("the application {app:?} at {url} is removed in part: `cluster rm` removes the rest")]
    InPart {
        /// Where.
        url: String,
        /// Its name.
        app: String,
    },
    /// The servers are there, and cannot do what they are asked for now.
    #[error("the servers at {url} cannot do it now: {why}")]
    Unready {
        /// Where.
        url: String,
        /// The last reason.
        why: String,
    },
    /// The servers refuse the request.
    #[error("the servers at {url} refuse: {why}")]
    Refused {
        /// Where.
        url: String,
        /// Why.
        why: String,
    },
}

/// One attempt.
pub(super) enum Attempt {
    /// It must be made again; the last reason.
    Again(String),
    Failed(OpenError),
}

impl JetStream {
    /// Connects, and makes the application's streams and buckets that do not exist. Tries for this long.
    ///
    /// # Errors
    ///
    /// If no server answers, they refuse, or an application of this name is removed in part.
    pub fn create(access: &Access, streams: &Streams, patience: Duration) -> Result<Self, OpenError> {
        Self::connect(access, Some(streams), patience)
    }

    /// Connects to an existing application. Tries for this long.
    ///
    /// # Errors
    ///
    /// If no server answers, they refuse, or there is no such application.
    pub fn open(access: &Access, patience: Duration) -> Result<Self, OpenError> {
        Self::connect(access, None, patience)
    }

    /// Removes an application: its streams, its records and its blobs, and what is left of one whose removal was
    /// interrupted. Tries for this long.
    ///
    /// # Errors
    ///
    /// If no server answers, they refuse, or nothing of such an application is there. Some of it may be removed: then
    /// the same call again removes the rest.
    pub fn remove(access: &Access, edges: &[String], patience: Duration) -> Result<(), OpenError> {
        // An answer may be lost, and what was asked for done.
        let there = Cell::new(false);
        connected(access, patience, async |client| unmake(client, access, edges, &there).await)?;
        let none = || OpenError::NoApp { url: access.shown_url(), app: access.app.clone() };
        there.get().then_some(()).ok_or_else(none)
    }

    fn connect(access: &Access, streams: Option<&Streams>, patience: Duration) -> Result<Self, OpenError> {
        let (runtime, said, made) = connected(access, patience, async |client| make(client, access, streams).await)?;
        let Made { context, records, blobs } = made;
        Ok(JetStream::new(runtime, context, access, records, blobs, said))
    }
}

/// Connects, and asks the servers until they have answered, for this long.
fn connected<T>(
    access: &Access,
    patience: Duration,
    asks: impl AsyncFn(Client) -> Result<T, Attempt>,
) -> Result<(Runtime, Said, T), OpenError> {
    let url = || access.shown_url();
    let refused = |why: &dyn Error| OpenError::Refused { url: url(), why: with_causes(why) };
    let runtime =
        Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(|error| refused(&error))?;
    let said = Said::default();
    let answer = runtime.block_on(async {
        let mut last = "it did not answer in time".to_owned();
        let (begun, is_connected) = (Instant::now(), Cell::new(false));
        let trying = async {
            let mut client = None;
            loop {
                let attempt = async {
                    if client.is_none() {
                        client = Some(login(access, said.clone()).await?);
                        is_connected.set(true);
                    }
                    let client = client.clone().ok_or_else(|| Attempt::Again(String::new()))?;
                    asks(client).await
                };
                match attempt.await {
                    Ok(answer) => return Ok(answer),
                    Err(Attempt::Failed(error)) => return Err(error),
                    // Servers that elect a leader may take longer, but a wrong URL should fail soon.
                    Err(Attempt::Again(why)) if client.is_none() && begun.elapsed() > CONNECTING => {
                        return Err(OpenError::NoServer { url: url(), why });
                    }
                    Err(Attempt::Again(why)) => {
                        if let Some(why) = said.forbidden() {
                            return Err(OpenError::Forbidden { url: url(), why });
                        }
                        last = why;
                    }
                }
                sleep(Duration::from_millis(100)).await;
            }
        };
        let tried = timeout(patience, trying).await;
        tried.unwrap_or_else(|_| {
            let (url, why) = (url(), last);
            let hint = if why.contains(&RequestErrorKind::NoResponders.to_string()) { NO_STORE } else { "" };
            Err(match is_connected.get() {
                true => OpenError::Unready { url, why: why + hint },
                false => OpenError::NoServer { url, why },
            })
        })
    })?;
    Ok((runtime, said, answer))
}

fn unusable(what: String, why: String) -> Attempt {
    Attempt::Failed(OpenError::Unusable { what, why })
}

async fn login(access: &Access, said: Said) -> Result<Client, Attempt> {
    let Access { url, app, login, tls } = access;
    tls.check().map_err(Attempt::Failed)?;
    let shown = || access.shown_url();
    let with = match login {
        Login::Open => ConnectOptions::new(),
        Login::Password { user, password } => ConnectOptions::with_user_and_password(user.clone(), password.clone()),
        Login::Credentials(file) => std::fs::read_to_string(file)
            .and_then(|text| ConnectOptions::with_credentials(&text))
            .map_err(|error| unusable(file.display().to_string(), error.to_string()))?,
        Login::Key(seed) => ConnectOptions::with_nkey(seed.clone()),
    };
    let with = match &tls.authority {
        Some(authority) => with.add_root_certificates(authority.clone()),
        None => with,
    };
    let with = match &tls.certificate {
        Some((certificate, key)) => with.add_client_certificate(certificate.clone(), key.clone()),
        None => with,
    };
    // Also at the servers of which a server tells, whose addresses have no scheme.
    let with = with.require_tls(tls.is_asked(url));
    let with = with.event_callback(move |event| {
        let said = said.clone();
        async move { said.note(event) }
    });
    // The rights of an application's clients may be limited to their own answers.
    let with = with.name(app).custom_inbox_prefix(format!("_INBOX_{app}")).connection_timeout(ANSWER * 2);
    // A server that a network has lost closes nothing. After three of these without an answer the client goes to
    // another one; by default that takes three minutes.
    let with = with.ping_interval(ANSWER * 2);
    let servers: Vec<&str> = url.split(',').collect();
    with.connect(servers).await.map_err(|error| match (error.kind(), tls.why(&error)) {
        (_, Some(why)) => Attempt::Failed(OpenError::Encryption { url: shown(), why }),
        // This client has no key to sign with.
        (ConnectErrorKind::Authentication, _) => {
            unusable("the key of the login".to_owned(), "the seed of a user's key begins with SU".to_owned())
        }
        (ConnectErrorKind::AuthorizationViolation, _) => {
            Attempt::Failed(OpenError::Login { url: shown(), why: with_causes(&error) })
        }
        (ConnectErrorKind::ServerParse, _) => {
            Attempt::Failed(OpenError::Refused { url: shown(), why: with_causes(&error) })
        }
        (ConnectErrorKind::Io, _) => Attempt::Again(format!("{}{}", with_causes(&error), tls.hint(url))),
        _ => Attempt::Again(with_causes(&error)),
    })
}
