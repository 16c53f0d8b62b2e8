//! Which run a page shows.

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
