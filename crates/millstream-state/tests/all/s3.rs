//! Snapshots in S3, by a real server of its protocol on loopback, which may fail or be slow.

use crate::stores::keeps_snapshots;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::store::{ObjectStorage, Store, StoreDir};
use millstream::state::{Cadence, Persistent, Saved, StateDir, StateError, again};
use object_store::aws::AmazonS3Builder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use std::convert::Infallible;
use std::path::Path;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, io, process, thread};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

const BUCKET: &str = "states";

/// How a server misbehaves.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    /// Half of the requests are refused, and do nothing.
    refuses: bool,
    /// Half of the requests are done, and the answer is that they have failed.
    answers_wrongly: bool,
    /// Before each request.
    waits: Duration,
}

struct Server {
    port: u16,
    requests: Arc<AtomicU64>,
    _home: tempfile::TempDir,
    _runtime: Runtime,
}

impl Server {
    fn start(faults: Faults) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(BUCKET)).unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(home.path()).unwrap());
        service.set_auth(SimpleAuth::from_single("key", "secret"));
        let service = service.build();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(AtomicU64::new(0));
        let counted = requests.clone();
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (service, counted) = (service.clone(), counted.clone());
                let answer = service_fn(move |request| answer(service.clone(), counted.clone(), faults, request));
                let http = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(socket), answer);
                tokio::spawn(http);
            }
        });
        Server { port, requests, _home: home, _runtime: runtime }
    }

    fn store(&self) -> Arc<dyn Store> {
        store(self.port, "jobs/orders")
    }
}

async fn answer(
    service: S3Service,
    counted: Arc<AtomicU64>,
    faults: Faults,
    request: Request<Incoming>,
) -> Result<Response<s3s::Body>, Infallible> {
    let number = counted.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(faults.waits).await;
    // In no step with what a client repeats.
    let fails = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1;
    let failed = || {
        let mut response = Response::new(s3s::Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    };
    if fails && faults.refuses {
        // A client that still sends would take the end of the connection for the failure.
        let _ = request.into_body().collect().await;
        return Ok(failed());
    }
    let answered = service.call(request.map(s3s::Body::from)).await;
    Ok(answered.ok().filter(|_| !(fails && faults.answers_wrongly)).unwrap_or_else(failed))
}

/// A client that has a connection for each request.
#[derive(Debug)]
struct Unencrypted;

impl HttpConnector for Unencrypted {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Unencrypted))
    }
}

type Answering<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>;

impl HttpService for Unencrypted {
    fn call<'s: 'a, 'a>(&'s self, request: HttpRequest) -> Answering<'a> {
        Box::pin(ask(request))
    }
}

async fn ask(mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let failed = |error| HttpError::new(HttpErrorKind::Request, error);
    let address = request.uri().authority().unwrap().to_string();
    request.headers_mut().insert(HOST, address.parse().unwrap());
    let socket = TcpStream::connect(address).await.map_err(|error| HttpError::new(HttpErrorKind::Connect, error))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.map_err(failed)?;
    tokio::spawn(connection);
    *request.uri_mut() = request.uri().path_and_query().unwrap().as_str().parse().unwrap();
    let response = sender.send_request(request).await.map_err(failed)?;
    Ok(response.map(|body| HttpResponseBody::new(body.map_err(failed))))
}

/// A part of the bucket. It tries a request as often as it takes, and soon again.
fn store(port: u16, below: &str) -> Arc<dyn Store> {
    let backoff = BackoffConfig { init_backoff: Duration::from_millis(1), ..BackoffConfig::default() };
    let bucket = AmazonS3Builder::new()
        .with_endpoint(format!("http://127.0.0.1:{port}"))
        .with_client_options(ClientOptions::new().with_allow_http(true))
        .with_bucket_name(BUCKET)
        .with_region("us-east-1")
        .with_access_key_id("key")
        .with_secret_access_key("secret")
        .with_http_connector(Unencrypted)
        .with_retry(RetryConfig { backoff, ..RetryConfig::default() })
        .build()
        .unwrap();
    Arc::new(ObjectStorage::new(Arc::new(bucket), below).unwrap())
}

#[test]
fn s3_keeps_snapshots() {
    keeps_snapshots(&Server::start(Faults::default()).store());
}

#[test]
fn of_two_processes_that_put_one_object_in_s3_one_alone_succeeds() {
    let server = Server::start(Faults::default());
    let [one, other] = [server.store(), server.store()];
    one.put("job/1", &[b"of ", b"one"]).unwrap();
    assert_eq!(other.put("job/1", &[b"of other"]).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(other.get("job/1", 0..6).unwrap(), b"of one");
    let first = StoreDir::open(store(server.port, "jobs/two"), "two").unwrap();
    let second = StoreDir::open(store(server.port, "jobs/two"), "two").unwrap();
    second.save(&Saved { at: 100, ..Saved::default() }).unwrap();
    let fenced = first.save(&Saved { at: 200, ..Saved::default() });
    assert!(matches!(fenced, Err(StateError::Superseded { theirs: 2, ours: 1, .. })), "{fenced:?}");
}

#[test]
fn an_s3_that_fails_half_of_the_time_keeps_snapshots() {
    let refuses = Server::start(Faults { refuses: true, ..Faults::default() });
    let answers_wrongly = Server::start(Faults { answers_wrongly: true, ..Faults::default() });
    for (server, name) in [(refuses, "refuses"), (answers_wrongly, "answers wrongly")] {
        for epoch in 1..=3_u64 {
            let dir = StoreDir::open(server.store(), "orders").unwrap();
            for at in [10 * epoch, 10 * epoch + 1] {
                let bytes = at.to_le_bytes();
                dir.save(&Saved { at, parts: &[("sum", &bytes)], ..Saved::default() }).unwrap();
            }
            let newest = dir.newest().unwrap().unwrap();
            assert_eq!(dir.load(&newest).unwrap()[0].bytes, (10 * epoch + 1).to_le_bytes(), "{name}");
            let kept: Vec<u64> = dir.snapshots().unwrap().iter().map(|entry| entry.manifest().unwrap().at).collect();
            let expected: Vec<u64> = (1..=epoch).flat_map(|epoch| [10 * epoch, 10 * epoch + 1]).collect();
            assert_eq!(kept, expected, "{name}");
        }
        assert!(server.requests.load(Ordering::Relaxed) > 40, "{name}");
    }
}

/// The variable with the arguments of a life of the job in the next test: the port, and the directory of its output.
const LIFE: &str = "MILLSTREAM_STATE_S3";

const NUMBERS: u64 = 2000;

fn sums() -> impl Pipeline<u64, String> + Lasting {
    pipeline::<u64>()
        .scan(0_u64, |sum, x| {
            *sum += x;
            *sum
        })
        .named("sums")
        .map(|sum| format!("{sum}\n"))
        .any_edge()
}

/// A life of the job, on a machine of its own: it goes on at the newest snapshot in the store.
fn life(port: u16, home: &Path) {
    let machine = home.join(process::id().to_string());
    let state = StateDir::open(machine, "sums").unwrap().snapshots_in(store(port, "jobs/sums")).unwrap();
    let numbers = || {
        (0..NUMBERS).inspect(|x| {
            if x % 50 == 0 {
                thread::sleep(Duration::from_millis(5));
            }
        })
    };
    let job = Persistent::new(Rings::new().batch(4), state).snapshot_every(Cadence::Numbers(100));
    let (_, stored) = job.run(&sums(), again(numbers), FileSink::append(home.join("out"))).unwrap();
    assert_eq!(stored.failed, 0, "{stored:?}");
    fs::write(home.join("began"), stored.began.to_string()).unwrap();
}

#[test]
fn a_job_whose_snapshots_are_in_a_slow_s3_is_killed_and_goes_on() {
    if let Ok(told) = env::var(LIFE) {
        let (port, home) = told.split_once(' ').unwrap();
        return life(port.parse().unwrap(), Path::new(home));
    }
    let test = "s3::a_job_whose_snapshots_are_in_a_slow_s3_is_killed_and_goes_on";
    let server = Server::start(Faults { waits: Duration::from_millis(5), ..Faults::default() });
    let home = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    for number in 0.. {
        let mut process = Command::new(env::current_exe().unwrap());
        process.args(["--exact", test]).env(LIFE, format!("{} {}", server.port, home.path().display()));
        let mut process = process.stdout(Stdio::null()).spawn().unwrap();
        let before = server.requests.load(Ordering::Relaxed);
        if number < 5 {
            // Some of them while it starts, and some while it stores a snapshot.
            while server.requests.load(Ordering::Relaxed) < before + 6 + number * 7 {
                assert!(begun.elapsed() < Duration::from_secs(60));
                thread::sleep(Duration::from_millis(1));
            }
            process.kill().unwrap();
            process.wait().unwrap();
        } else {
            assert!(process.wait().unwrap().success(), "{:?}", begun.elapsed());
            break;
        }
    }
    let began: u64 = fs::read_to_string(home.path().join("began")).unwrap().parse().unwrap();
    assert!(began >= 100, "no snapshot was there");
    assert_eq!(fs::read_to_string(home.path().join("out")).unwrap(), sums().model(0..NUMBERS).concat());
}
