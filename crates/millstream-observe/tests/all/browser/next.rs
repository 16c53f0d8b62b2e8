//! The page in a browser, while a process ends and another one opens its page at the same address.

use super::{chromium, got, send, shown};
use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, source};
use millstream_observe::{Page, Watch};
use millstream_testkit::programs::is_here;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// The page of a run that has ended, as its process has.
fn ended() -> Page {
    let run = Rings::new()
        .start(pipeline::<u64>().map(|x| x + 1).named("first").from(source::ready(0..50)).to_each(|_, _| ()))
        .unwrap();
    let watch = Arc::new(Watch::attach(run.observer()).unwrap());
    let page = Page::open("127.0.0.1:0").unwrap();
    page.show(watch.clone());
    run.wait().unwrap();
    watch.finish();
    page.end(0, "done");
    page
}

/// The first event of a page.
fn event(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /events HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.find(|line| line.starts_with("data: ")).expect("an event")
}

/// What the two processes answer at one address.
struct Answers {
    /// The page of the first one.
    html: String,
    events: [String; 2],
    /// The plan of the second one.
    plan: String,
    /// Whether the plan was asked for. The first request for it fails.
    asked: AtomicBool,
    /// Whether the browser shows the second one.
    seen: Mutex<bool>,
    changed: Condvar,
}

/// An element that the browser waits for until it shows the second run, before it writes down what it shows.
const WAITS: &str = "<img src=\"wait\"><script>setInterval(() => {
  const even = document.querySelector('[data-stage=\"even\"][data-moved=\"10\"]');
  if (even && document.getElementById(\"status\").textContent === \"running\") fetch(\"seen\");
}, 50)</script></body>";

impl Answers {
    /// Answers a request. An error is that of a reader that is gone.
    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
        let (kind, body) = match first.split(' ').nth(1).unwrap_or_default() {
            "/" => ("text/html", &*self.html),
            "/plan.json" if !self.asked.swap(true, Ordering::Relaxed) => return Ok(()),
            "/plan.json" => ("application/json", &*self.plan),
            "/frames.json" => ("application/json", "[]"),
            "/events" => ("text/event-stream", ""),
            "/wait" => {
                let seen = self.seen.lock().unwrap();
                drop(self.changed.wait_timeout_while(seen, Duration::from_secs(60), |seen| !*seen).unwrap());
                ("text/plain", "")
            }
            "/seen" => {
                *self.seen.lock().unwrap() = true;
                self.changed.notify_all();
                ("text/plain", "")
            }
            _ => ("text/plain", ""),
        };
        write!(stream, "HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\n\r\n{body}")?;
        if kind == "text/event-stream" {
            write!(stream, "{}\n\n", self.events[0])?;
            // Until the browser has gone.
            loop {
                write!(stream, "{}\n\n", self.events[1])?;
                sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }
}

#[test]
fn the_page_goes_on_with_the_next_process() {
    if !is_here("chromium", "the_page_goes_on_with_the_next_process") {
        return;
    }
    let (first, (sender, run, second)) = (ended(), shown());
    send(&sender, &second, 10, 10);
    let html = got(first.address(), "/");
    assert!(html.contains("\"sentence\":\"done\"") && html.contains("</body>"), "{html}");
    let answers = Arc::new(Answers {
        html: html.replace("</body>", WAITS),
        events: [&first, &second].map(|page| event(page.address())),
        plan: got(second.address(), "/plan.json"),
        asked: AtomicBool::new(false),
        seen: Mutex::new(false),
        changed: Condvar::new(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answers = answers.clone();
            spawn(move || answers.answer(stream));
        }
    });
    let dom = String::from_utf8(chromium(&["--dump-dom"], address)).unwrap();
    assert!(dom.contains("data-stage=\"even\" data-moved=\"10\"") && dom.contains(">running</span>"), "{dom}");
    assert!(!dom.contains("data-stage=\"first\""), "{dom}");
    drop(sender);
    run.wait().unwrap();
}
