//! Which run a page shows, and the names of its stages.

use super::got;
use millstream_core::{Arrow, ClockExt, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, source};
use millstream_observe::{Options, Page, Watch};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_run_is_there_before_its_first_frame() {
    let (sender, receiver) = source::channel::<u64>(16);
    let run = Rings::new().start(pipeline::<u64>().map(|x| x + 1).from(receiver).to_each(|_, _| ())).unwrap();
    let options = Options::default().frame(Duration::from_secs(86_400));
    let page = Page::open("127.0.0.1:0").unwrap();
    page.show(Arc::new(Watch::attach_with(run.observer(), options).unwrap()));
    let (head, body) = got(&page, "/health");
    assert!(head.starts_with("HTTP/1.1 200") && body == "{\"running\":true}", "{head} {body}");
    drop(sender);
    run.wait().unwrap();
    assert_eq!(got(&page, "/health").1, "{\"running\":false}");
}

/// A stage may have the name of an end. A metric has one sample for a name.
#[test]
fn the_ends_have_their_names_for_themselves() {
    let p = pipeline::<u64>().map(|x| x + 1).named("sink").flat_map(|x| [*x, *x]).named("source").map(|x| *x);
    let p = p.named("sink-2");
    let run = Rings::new().start((&p).from(source::ready(0..10)).to_each(|_, _| ())).unwrap();
    let watch = Arc::new(Watch::attach(run.observer()).unwrap());
    let page = Page::open("127.0.0.1:0").unwrap();
    page.show(watch.clone());
    run.wait().unwrap();
    watch.finish();
    let metrics = got(&page, "/metrics").1;
    for line in [
        "stage_numbers_total{stage=\"source\"} 11",
        "stage_numbers_total{stage=\"sink-3\"} 11",
        "stage_numbers_total{stage=\"sink-2\"} 21",
        "stage_numbers_total{stage=\"sink\"} 21",
        "ring_produced_total{ring=\"0\",writer=\"source\"} 11",
        "ring_produced_total{ring=\"1\",writer=\"sink-3\"} 11",
        "ring_consumed_total{ring=\"1\",reader=\"source-2\"} 11",
        "ring_consumed_total{ring=\"3\",reader=\"sink\"} 21",
    ] {
        assert!(
            metrics.lines().any(|found| found.strip_prefix("millstream_") == Some(line)),
            "no {line} in\n{metrics}"
        );
    }
}
