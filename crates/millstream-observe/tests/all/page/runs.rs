//! Which run a page shows, and the names of its stages.

use super::{asked, got};
use millstream_core::{Arrow, ClockExt, PartsExt, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, sink, source};
use millstream_observe::{Options, Page, Watch};
use serde_json::Value;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

/// Each process counts its runs from 1. So readers know by the id whose run it is.
#[test]
fn pages_at_one_address_are_told_apart() {
    let seen = || {
        let page = Page::open("127.0.0.1:0").unwrap();
        let p = pipeline::<u64>().map(|x| x + 1);
        let run = Rings::new().start((&p).from(source::ready(0..10)).to_each(|_, _| ())).unwrap();
        let watch = Arc::new(Watch::attach(run.observer()).unwrap());
        page.show(watch.clone());
        run.wait().unwrap();
        watch.finish();
        let mut lines = asked(page.address(), "/events").lines().map_while(Result::ok);
        let event = lines.find_map(|line| Some(line.strip_prefix("data: ")?.to_owned())).expect("an event");
        let [event, plan, again] = [event, got(&page, "/plan.json").1, got(&page, "/plan.json").1]
            .map(|text| serde_json::from_str::<Value>(&text).unwrap());
        assert_eq!((&event["id"], &again["id"]), (&plan["id"], &plan["id"]));
        assert_eq!((&event["run"], &plan["run"]), (&1.into(), &1.into()));
        plan["id"].as_str().expect("a text").to_owned()
    };
    let ids = [seen(), seen()];
    assert_ne!(ids[0], ids[1]);
}

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

/// A stage or a named sink may have the name of an end. A metric has one sample for a name.
#[test]
fn the_ends_have_their_names_for_themselves() {
    let p = pipeline::<u64>().map(|x| x + 1).named("sink").flat_map(|x| [*x, *x]).named("source").map(|x| *x);
    let p = p.named("sink-2").tee_to("sink", sink::collect());
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
        "stage_numbers_total{stage=\"sink-4\"} 21",
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
