//! Pages of a slow and unreliable server: at most fifty requests at a time, which are tried again if the server is
//! busy, and pages in the order of their ids.
//!
//! ```console
//! $ cargo run --release -p millstream --features stream,tokio --example crawler 2000 | tail -1
//! ```

use futures_util::{Stream, StreamExt};
use millstream::prelude::*;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

const AT_ONCE: usize = 50;

/// A server as slow and unreliable as any. It counts.
#[derive(Debug, Default)]
struct Server {
    requests: AtomicU64,
    open: AtomicUsize,
    most_open: AtomicUsize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Refusal {
    /// Try again.
    Busy,
    /// There is no such page.
    Gone,
}

/// A request that the server works on.
struct Open<'a>(&'a Server);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Server {
    /// The `attempt`-th request of this page.
    async fn get(&self, id: u64, attempt: u32) -> Result<String, Refusal> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.most_open.fetch_max(self.open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let _open = Open(self);
        tokio::time::sleep(Duration::from_micros(100 + id * 7919 % 900)).await;
        match id % 17 {
            3 => Err(Refusal::Gone),
            5 if attempt < 2 => Err(Refusal::Busy),
            6 => Err(Refusal::Busy),
            _ => Ok(format!("page {id} has {} words", id * 31 % 1000)),
        }
    }
}

/// Asks again while the server is busy, as often as `retry` says, with its pauses.
async fn fetch(server: Arc<Server>, id: u64, retry: Retry) -> Result<String, Refusal> {
    let (mut pauses, mut attempt) = (retry.pauses(), 0);
    loop {
        let answer = server.get(id, attempt).await;
        match pauses.next() {
            Some(pause) if answer == Err(Refusal::Busy) => tokio::time::sleep(pause).await,
            _ => return answer,
        }
        attempt += 1;
    }
}

/// The lines of these pages, in the order of their ids. A dropped stream drops the requests that are open.
fn crawl(server: Arc<Server>, ids: impl Source<u64>) -> Result<impl Stream<Item = Result<String, RunError>>, RunError> {
    let retry = Retry::times(2).backoff(Duration::from_millis(1));
    let p = pipeline::<u64>()
        .map_async(AT_ONCE, move |id| {
            let (server, id) = (server.clone(), *id);
            async move { (id, fetch(server, id, retry).await) }
        })
        .named("fetch")
        .map(|(id, answer)| match answer {
            Ok(page) => format!("{page}\n"),
            Err(refusal) => format!("page {id} is {refusal:?}\n"),
        });
    // Few slots: the crawler is no more than some hundred pages ahead of its reader.
    Ok(Rings::new().ring(64).iter(p.from(ids))?.stream())
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pages = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2000);
    runtime()?.block_on(async {
        let mut lines = crawl(Arc::default(), source::ready(0..pages))?;
        let mut out = io::stdout();
        while let Some(line) = lines.next().await {
            out.write_all(line?.as_bytes())?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same lines, and how many requests they take, without a server.
    fn expected(pages: u64) -> (String, u64) {
        let (mut lines, mut requests) = (String::new(), 0);
        for id in 0..pages {
            let (line, tries) = match id % 17 {
                3 => (format!("page {id} is Gone\n"), 1),
                6 => (format!("page {id} is Busy\n"), 3),
                rest => (format!("page {id} has {} words\n", id * 31 % 1000), if rest == 5 { 3 } else { 1 }),
            };
            lines += &line;
            requests += tries;
        }
        (lines, requests)
    }

    #[test]
    fn pages_come_in_order_and_requests_are_bounded() {
        let server = Arc::<Server>::default();
        let got = runtime().unwrap().block_on(async {
            let lines = crawl(server.clone(), source::ready(0..500)).unwrap();
            lines.fold(String::new(), |all, line| async move { all + &line.unwrap() }).await
        });
        let (lines, requests) = expected(500);
        assert_eq!(got.into_bytes(), lines.into_bytes());
        assert_eq!(server.requests.load(Ordering::SeqCst), requests);
        assert!((2..=AT_ONCE).contains(&server.most_open.load(Ordering::SeqCst)));
        assert_eq!(server.open.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_dropped_stream_drops_the_open_requests() {
        let server = Arc::<Server>::default();
        runtime().unwrap().block_on(async {
            for wanted in [0, 1, 30] {
                let mut lines = crawl(server.clone(), 0..u64::MAX).unwrap();
                for _ in 0..wanted {
                    lines.next().await.unwrap().unwrap();
                }
                drop(lines);
                let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
                while Arc::strong_count(&server) > 1 || server.open.load(Ordering::SeqCst) > 0 {
                    assert!(tokio::time::Instant::now() < deadline, "no request stays open");
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        });
    }
}
