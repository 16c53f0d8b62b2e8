//! The page over HTTP: it serves the data of the watch.

mod runs;

use millstream_core::{Arrow, TryMapExt, pipeline};
use millstream_exec::{BoxExt, JobExt, JobRefExt, Rings, Runner, source};
use millstream_observe::{Options, Page, Watch};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sends a request. Returns the answer from the headers on.
fn asked(address: SocketAddr, path: &str) -> BufReader<TcpStream> {
    asked_with(address, path, "Host: localhost\r\nAccept: application/openmetrics-text")
}

/// As [`asked`], with these headers.
fn asked_with(address: SocketAddr, path: &str, headers: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n").unwrap();
    BufReader::new(stream)
}

fn got(page: &Page, path: &str) -> (String, String) {
    let mut all = String::new();
    asked(page.address(), path).read_to_string(&mut all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").expect("headers");
    (head.to_owned(), body.to_owned())
}

/// As [`got`], by a version of HTTP in which a body has no parts.
fn got_whole(page: &Page, path: &str) -> String {
    let mut stream = TcpStream::connect(page.address()).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    all.split_once("\r\n\r\n").expect("headers").1.to_owned()
}

/// Readers see the last value even if the program ends at once.
#[test]
fn a_dashboard_sends_its_last_value_before_it_is_gone() {
    use millstream_observe::Dashboard;
    for last in 1..10 {
        let board = Dashboard::open("127.0.0.1:0", "FIRST").unwrap();
        board.show("begun".into());
        let mut events = asked(board.address(), "/events");
        let mut line = String::new();
        while !line.contains("begun") {
            line.clear();
            assert!(events.read_line(&mut line).unwrap() > 0, "it ends before it has begun");
        }
        board.show(last.into());
        drop(board);
        let mut rest = String::new();
        events.read_to_string(&mut rest).unwrap();
        assert!(rest.contains(&format!("data: {last}\n")), "{rest}");
    }
}

/// Readers of events get the program's outcome with its last frame, and so do readers that ask now and then.
#[test]
fn the_last_event_says_how_it_ended() {
    let page = Page::open("127.0.0.1:0").unwrap();
    let address = page.address();
    let run =
        Rings::new().start(pipeline::<u64>().map(|x| x + 1).from(source::ready(0..1000)).to_each(|_, _| ())).unwrap();
    let watch = Arc::new(Watch::attach(run.observer()).unwrap());
    page.name("millstream test");
    page.show(watch.clone());
    let mut events = asked(address, "/events");
    let mut line = String::new();
    while !line.contains("data: ") {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "it ends before it has begun");
    }
    run.wait().unwrap();
    watch.finish();
    let plan: Value = serde_json::from_str(&got(&page, "/plan.json").1).unwrap();
    assert_eq!((&plan["program"], &plan["ended"]), (&"millstream test".into(), &Value::Null));
    page.end(3, "it failed");
    let dropped = std::thread::spawn(move || drop(page));
    let mut rest = String::new();
    events.read_to_string(&mut rest).unwrap();
    let last = rest.lines().rev().find_map(|line| line.strip_prefix("data: ")).expect("an event");
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["ended"], serde_json::json!({ "code": 3, "sentence": "it failed" }));
    assert_eq!((&last["frame"]["running"], &last["frame"]["rings"][1]["produced"]), (&false.into(), &1001.into()));
    // A reader that asked a moment ago may ask once more, for a second.
    dropped.join().unwrap();
    assert!(TcpStream::connect(address).is_err(), "it listens no more");
}

#[test]
fn all_that_is_served_agrees() {
    let page = Page::open("127.0.0.1:0").unwrap();
    assert!(got(&page, "/health").0.starts_with("HTTP/1.1 503"), "there is no run");
    assert_eq!(got(&page, "/plan.json").1, "null");
    assert_eq!(got_whole(&page, "/frames.json"), "[]");
    assert!(got(&page, "/metrics").1.ends_with("# EOF\n"));
    page.name("a \"test\"");
    page.bytes(|| 12);

    let p = pipeline::<u64>().map(|x| x + 1).named("more \"or\" less").filter(|x| x % 2 == 0).named("even");
    let (sender, receiver) = source::channel(4096);
    let run = Rings::new().start((&p).from(receiver).to_each(|_, _| ())).unwrap();
    let watch =
        Arc::new(Watch::attach_with(run.observer(), Options::default().frame(Duration::from_millis(20))).unwrap());
    page.show(watch.clone());
    (0..1000).for_each(|x| sender.send(x).unwrap());
    let first = watch.next(None).unwrap();
    let _ = watch.next(Some(first.number + 1));
    assert!(got(&page, "/health").1.contains("true"));

    // Events come in the order of the frames.
    let events = asked(page.address(), "/events").lines().map_while(Result::ok).filter_map(|line| {
        line.split_once("data: ").map(|(_, data)| serde_json::from_str::<Value>(data).expect("JSON"))
    });
    let numbers: Vec<u64> = events.take(3).map(|event| event["frame"]["number"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|two| two[0] < two[1]), "{numbers:?}");

    drop(sender);
    run.wait().unwrap();
    let all = watch.finish();
    let plan: Value = serde_json::from_str(&got(&page, "/plan.json").1).unwrap();
    assert_eq!(plan["frame"]["running"], false);
    let produced: Vec<_> =
        plan["frame"]["rings"].as_array().unwrap().iter().map(|ring| ring["produced"].as_u64().unwrap()).collect();
    assert_eq!(produced, all.rings.iter().map(|ring| ring.produced).collect::<Vec<_>>());
    assert_eq!(produced, [1001; 3]);
    assert_eq!(plan["layout"]["spots"].as_array().unwrap().len(), plan["graph"]["nodes"].as_array().unwrap().len());
    let frames: Vec<Value> = serde_json::from_str(&got_whole(&page, "/frames.json")).unwrap();
    assert_eq!(frames.last(), Some(&plan["frame"]));
    let numbers: Vec<_> = watch.frames().iter().map(|frame| frame.number).collect();
    assert_eq!(frames.iter().filter_map(|frame| frame["number"].as_u64()).collect::<Vec<_>>(), numbers);
    // It is sent as it is made: the text of all frames of a large graph is long.
    let head = got(&page, "/frames.json").0;
    assert!(head.contains("transfer-encoding: chunked") && head.contains("application/json"), "{head}");

    let (head, metrics) = got(&page, "/metrics");
    assert!(head.contains("application/openmetrics-text"), "{head}");
    for line in [
        "millstream_stage_numbers_total{stage=\"more \\\"or\\\" less\"} 1001",
        "millstream_ring_consumed_total{ring=\"1\",reader=\"sink\"} 1001",
        "millstream_running 0",
        "millstream_stage_empties_ratio{stage=\"more \\\"or\\\" less\"} 0.0",
        "# UNIT millstream_ring_occupancy_ratio ratio",
        "millstream_read_bytes_total 12",
        concat!("millstream_build_info{program=\"a \\\"test\\\"\",version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
        "# EOF",
    ] {
        assert!(metrics.lines().any(|found| found == line), "no {line} in\n{metrics}");
    }
    assert!(!metrics.contains("quantile="), "that label is for summaries: {metrics}");
    if std::path::Path::new("/proc/self/stat").exists() {
        for name in ["process_cpu_seconds_total ", "process_resident_memory_bytes ", "process_open_fds "] {
            assert!(metrics.lines().any(|line| line.starts_with(name)), "no {name} in\n{metrics}");
        }
    }
    // The order is the same each time.
    let names = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.rsplit_once(' ').map_or(line, |(name, _)| name).to_owned()).collect()
    };
    assert_eq!(names(&got(&page, "/metrics").1), names(&metrics));

    // A reader that does not name OpenMetrics gets the text that every Prometheus reads.
    let mut all = String::new();
    asked_with(page.address(), "/metrics", "Host: localhost\r\nAccept: */*").read_to_string(&mut all).unwrap();
    let (head, plain) = all.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(plain.contains("# TYPE millstream_stage_numbers_total counter\n"), "{plain}");
    assert!(!plain.contains("# EOF") && !plain.contains("# UNIT"), "{plain}");
}

/// A connection without a request is closed; else it would keep a descriptor until the program ends.
#[test]
fn idle_connections_are_closed() {
    let page = Page::open("127.0.0.1:0").unwrap();
    let mut idle = TcpStream::connect(page.address()).unwrap();
    // Longer than any connection should be idle.
    idle.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut rest = Vec::new();
    let _ = idle.read_to_end(&mut rest).expect("it is closed");
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{rest:?}");
}

/// A page from elsewhere with a host name for this machine reads nothing.
#[test]
fn other_names_are_refused() {
    let page = Page::open("127.0.0.1:0").unwrap();
    let status = |host: &str| {
        let mut all = String::new();
        asked_with(page.address(), "/health", &format!("Host: {host}")).read_to_string(&mut all).unwrap();
        all[.."HTTP/1.1 000".len()].to_owned()
    };
    assert_eq!(status("evil.example.org"), "HTTP/1.1 421");
    assert_eq!(status(&page.address().to_string()), "HTTP/1.1 503");
    assert_eq!(status("localhost:1"), "HTTP/1.1 503");
}

/// The samples of a metric are in the order of the pipeline: of its stages, and of more than ten rings.
#[test]
fn metrics_are_in_the_order_of_the_pipeline() {
    let p = pipeline::<u64>().map(|x| x + 1).named("z");
    let p = (0..12).fold(p.boxed(), |p, n| p.map(|x| x + 1).named((12 - n).to_string()).boxed());
    let run = Rings::new().start((&p).from(source::ready(0..100)).to_each(|_, _| ())).unwrap();
    let watch = Arc::new(Watch::attach(run.observer()).unwrap());
    let page = Page::open("127.0.0.1:0").unwrap();
    page.show(watch.clone());
    run.wait().unwrap();
    watch.finish();
    let metrics = got(&page, "/metrics").1;
    let labels = |sample: &str, label: &str| -> Vec<String> {
        let of_metric = metrics.lines().filter_map(|line| line.strip_prefix(sample)?.split_once(label));
        of_metric.map(|(_, value)| value.split_once('"').unwrap().0.to_owned()).collect()
    };
    let stages: Vec<_> = watch.graph().nodes.iter().map(|node| node.name.clone()).collect();
    assert_eq!((&*stages[1], &*stages[2], stages.len()), ("z", "12", 15));
    assert_eq!(labels("millstream_stage_numbers_total{", "stage=\""), stages);
    let rings: Vec<_> = (0..14).map(|ring| ring.to_string()).collect();
    assert_eq!(labels("millstream_ring_slots{", "ring=\""), rings);
    assert_eq!(labels("millstream_ring_consumed_total{", "reader=\""), stages[1..]);
    // There are none if the run ended before its first latency marker.
    let percentiles = labels("millstream_latency_seconds{", "percentile=\"");
    assert!(percentiles.is_empty() || percentiles == ["50", "90", "99", "99.9", "100"], "{percentiles:?}");
}

#[test]
fn the_share_of_empty_slots_is_served() {
    let p = pipeline::<u64>().map(|x| x + 1).named("all").filter(|x| x % 3 == 0).named("third");
    // One worker fills its batches as far as it may. The share of each batch is that of the run, up to one slot.
    let rings = Rings::new().workers(1).ring(2048).batch(1024).observe(true);
    let run = rings.start((&p).from(source::ready(0..6000)).to_each(|_, _| ())).unwrap();
    let watch = Arc::new(Watch::attach(run.observer()).unwrap());
    let page = Page::open("127.0.0.1:0").unwrap();
    page.show(watch.clone());
    run.wait().unwrap();
    let all = watch.finish();
    let shares: Vec<_> = all.stages.iter().map(|stage| stage.empties).collect();
    let third = shares[2].expect("there is a sample");
    assert!(shares == [Some(0.0), Some(0.0), Some(third), None] && (third - 2.0 / 3.0).abs() < 0.01, "{shares:?}");
    let found = |stage: &str| {
        let name = format!("millstream_stage_empties_ratio{{stage=\"{stage}\"}} ");
        got(&page, "/metrics").1.lines().find_map(|line| line.strip_prefix(&name)?.parse::<f64>().ok())
    };
    assert!(found("third").is_some_and(|share| (share - 2.0 / 3.0).abs() < 0.01), "{:?}", found("third"));
    assert_eq!((found("all"), found("sink")), (Some(0.0), None));
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = Page::open("127.0.0.1:0").unwrap();
    let (head, html) = got(&page, "/");
    assert!(head.contains("text/html"), "{head}");
    assert!(html.contains("<html lang=") && html.contains("prefers-color-scheme: dark") && html.contains("viewport"));
    // The only address is the name space of SVG.
    let addresses: Vec<_> = html
        .match_indices("//")
        .filter(|(at, _)| html[..*at].ends_with("http:") || html[..*at].ends_with("https:"))
        .collect();
    assert_eq!(addresses.len(), 1, "{addresses:?}");
    assert!(!html.contains("src="), "no script, no picture from elsewhere");
}

#[test]
fn a_dropped_page_does_not_wait_for_readers_of_events() {
    let page = Page::open("127.0.0.1:0").unwrap();
    let address = page.address();
    let _reads = asked(page.address(), "/events");
    drop(page);
    assert!(TcpStream::connect(address).is_err(), "it listens no more");
}

#[test]
fn side_outputs_are_served_too() {
    let even = |x: &u64| if x.is_multiple_of(2) { Ok(*x) } else { Err("odd") };
    let p = pipeline::<u64>().try_map_or_dead_letter("halve", even, |_| ());
    let run = Rings::new().start((&p).from(source::ready(0..100)).to_each(|_, _| ())).unwrap();
    let watch = Arc::new(Watch::attach(run.observer()).unwrap());
    let page = Page::open("127.0.0.1:0").unwrap();
    page.show(watch.clone());
    run.wait().unwrap();
    let all = watch.finish();
    assert_eq!(all.stage("halve").map(|stage| stage.failures), Some(50));
    let [letters] = &all.side_outputs[..] else { panic!("one sink of dead letters: {:?}", all.side_outputs) };
    assert_eq!((&*letters.name, letters.moved, letters.done), ("halve.dead-letters", 101, true));
    let metrics = got(&page, "/metrics").1;
    for line in [
        "millstream_stage_failures_total{stage=\"halve\"} 50",
        "millstream_stage_numbers_total{stage=\"halve.dead-letters\"} 101",
    ] {
        assert!(metrics.lines().any(|found| found == line), "no {line} in\n{metrics}");
    }
}

/// After an upgrade the watch and the page go on with the new version, and show the change.
#[test]
fn a_page_follows_the_versions_of_a_pipeline() {
    let sum = |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    };
    let (sender, receiver) = source::channel(64);
    let first = pipeline::<u64>().scan(0, sum).named("sum");
    let run = Rings::new().start(first.from(receiver).to_each(|_, _: &u64| ())).unwrap();
    let options = Options::default().frame(Duration::from_millis(20));
    let watch = Arc::new(Watch::attach_with(run.observer(), options).unwrap());
    let page = Page::open("127.0.0.1:0").unwrap();
    page.show(watch.clone());
    sender.send_all(0..50).unwrap();
    let frame = watch.next(None).unwrap();
    assert_eq!((frame.version, frame.change.as_ref()), (1, None));
    assert_eq!(watch.graph().nodes.len(), 3);
    let plan = || serde_json::from_str::<Value>(&got(&page, "/plan.json").1).unwrap();
    let number = plan()["run"].as_u64().unwrap();
    let at = run.upgrade(pipeline::<u64>().map(|x| x + 1).named("more").scan(0, sum).named("sum")).unwrap();
    sender.send_all(0..50).unwrap();
    // At any moment there is a frame, of one version or of the other, and the plan of its version.
    let frame = loop {
        let seen = plan();
        assert_eq!(seen["frame"]["version"].as_u64(), seen["run"].as_u64().map(|run| (run >> 32) + 1), "{seen}");
        let frame = watch.frame().expect("there was one before");
        if frame.version == 2 {
            break frame;
        }
    };
    let names =
        |frame: &millstream_observe::Frame| frame.stages.iter().map(|stage| stage.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&frame), ["source", "more", "sum", "sink"]);
    let change = frame.change.as_ref().expect("there was one");
    assert_eq!((change.version, change.at, change.states_moved), (2, at.0, 1));
    assert_eq!(change.pauses.iter().map(|(stage, _)| &**stage).collect::<Vec<_>>(), ["sum", "sink"]);
    assert_eq!(
        change.stages,
        "new      more (map)\nkept     sum, with its state\n1 kept, 0 migrated, 1 new, 0 dropped, 0 refused\n"
    );
    assert!(change.sentence.starts_with(&format!("version 2 from number {at} on, longest pause ")), "{change:?}");
    // Readers of the page see that the run has another number, and read the plan again.
    let seen = plan();
    assert_ne!(seen["run"].as_u64(), Some(number));
    assert_eq!(seen["graph"]["nodes"].as_array().map(Vec::len), Some(4));
    let metrics = got(&page, "/metrics").1;
    assert!(metrics.contains("millstream_pipeline_version 2\n"), "{metrics}");
    assert!(metrics.contains("millstream_change_pause_seconds{stage=\"sum\"}"), "{metrics}");
    // The numbers at the rings go on, which the dashboard for Grafana needs.
    let read = "millstream_ring_consumed_total{ring=\"2\",reader=\"sink\"} 100\n";
    let begun = Instant::now();
    while !got(&page, "/metrics").1.contains(read) {
        assert!(begun.elapsed() < Duration::from_secs(60), "never {read}");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(sender);
    run.wait().unwrap();
    assert_eq!(names(&watch.finish()), ["source", "more", "sum", "sink"]);
}
