//! The page in a real browser, and a real Prometheus at its metrics.

#![expect(clippy::print_stdout, reason = "a test says how long the browser took")]

mod grafana;
mod large;
mod next;
mod prometheus;
mod recorded;

use millstream_core::{Arrow, pipeline};
use millstream_exec::{Handle, JobRefExt, Rings, Runner, Sender, source};
use millstream_observe::{Options, Page, Watch};
use millstream_testkit::programs::{headless_chromium, is_here};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

fn chromium(flags: &[&str], address: SocketAddr) -> Vec<u8> {
    let profile = tempfile::tempdir().unwrap();
    let output = headless_chromium(profile.path())
        .args(["--hide-scrollbars", "--window-size=1200,800"])
        .args(flags)
        .arg(format!("http://{address}/"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", output.status);
    output.stdout
}

fn got(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    all.split_once("\r\n\r\n").expect("headers").1.to_owned()
}

/// A run that waits for values, and its page.
fn shown() -> (Sender<u64>, Handle<()>, Page) {
    let p = pipeline::<u64>().map(|x| x + 1).named("more").filter(|x| x % 2 == 0).named("even");
    let (sender, receiver) = source::channel(4096);
    let run = Rings::new().ring(64).start((&p).from(receiver).to_each(|_, _| ())).unwrap();
    let watch = Watch::attach_with(run.observer(), Options::default().frame(Duration::from_millis(20))).unwrap();
    let page = Page::open("127.0.0.1:0").unwrap();
    page.show(Arc::new(watch));
    (sender, run, page)
}

/// Sends values, and waits until the page shows all of them.
fn send(sender: &Sender<u64>, page: &Page, values: u64, all: u64) {
    (0..values).for_each(|x| sender.send(x).unwrap());
    let begun = Instant::now();
    let last = || {
        serde_json::from_str::<Value>(&got(page.address(), "/plan.json")).unwrap()["frame"]["stages"][3]["moved"]
            .clone()
    };
    while last() != all {
        assert!(begun.elapsed() < Duration::from_secs(60), "the page never shows {all}");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_page_shows_the_numbers_of_a_run_that_goes_on() {
    if !is_here("chromium", "the_page_shows_the_numbers_of_a_run_that_goes_on") {
        return;
    }
    let (sender, run, page) = shown();
    let dir = tempfile::tempdir().unwrap();
    let screenshot = |name: &str| {
        let path = dir.path().join(name);
        chromium(&[&format!("--screenshot={}", path.display())], page.address());
        std::fs::read(path).unwrap()
    };
    let mut pictures = Vec::new();
    for all in [1000, 2000] {
        send(&sender, &page, 1000, all);
        let dom = String::from_utf8(chromium(&["--dump-dom"], page.address())).unwrap();
        for stage in ["source", "more", "even", "sink"] {
            let shown = format!("data-stage=\"{stage}\" data-moved=\"{all}\"");
            assert!(dom.contains(&shown), "no {shown} in {dom}");
        }
        for ring in 0..3 {
            assert!(dom.contains(&format!("data-ring=\"{ring}\">{all}</text>")), "ring {ring} in {dom}");
        }
        assert!(dom.contains(">running</span>"), "{dom}");
        assert!(dom.contains(&format!("aria-label=\"more: {all} numbers")), "{dom}");
        pictures.push(screenshot(&format!("{all}.png")));
    }
    assert!(pictures[0] != pictures[1] && pictures[0].starts_with(b"\x89PNG"));
    drop(sender);
    run.wait().unwrap();
}
