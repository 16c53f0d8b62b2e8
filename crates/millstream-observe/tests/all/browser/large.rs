//! A graph of thousands of stages.

use super::chromium;
use millstream_core::{Arrow, Val, pipeline};
use millstream_exec::{BoxExact, BoxExt, JobExt, Rings, Runner, source};
use millstream_observe::{Page, Watch};
use millstream_testkit::programs::is_here;
use std::sync::Arc;

const STAGES: usize = 3000;

/// Half of the stages after the other half, and so on: types nested as deep as the chain is long would need a deep
/// stack.
fn chain(stages: usize) -> BoxExact<Val<u64>, Val<u64>> {
    match stages {
        1 => pipeline::<u64>().map(|x| x + 1).boxed_exact(),
        _ => chain(stages / 2).then(chain(stages - stages / 2)).boxed_exact(),
    }
}

/// The values of this attribute in all elements of the page.
fn values<'a>(dom: &'a str, attribute: &str) -> Vec<&'a str> {
    let begin = format!(" {attribute}=\"");
    dom.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn thousands_of_stages_collapse_and_all_are_there() {
    if !is_here("chromium", "thousands_of_stages_collapse_and_all_are_there") {
        return;
    }
    let (sender, receiver) = source::channel(8);
    let run =
        Rings::new().workers(1).ring(8).start(chain(STAGES).from(receiver).to_each(|_, _| ())).expect("it is valid");
    let watch = Arc::new(Watch::attach(run.observer()).unwrap());
    let page = Page::open("127.0.0.1:0").unwrap();
    page.show(watch.clone());
    (0..100).for_each(|x| sender.send(x).unwrap());
    let mut frame = watch.next(None).unwrap();
    while frame.stages.iter().any(|stage| stage.moved < 100) {
        frame = watch.next(Some(frame.number)).expect("the run goes on");
    }
    let dom = String::from_utf8(chromium(&["--dump-dom"], page.address())).unwrap();
    let boxes: Vec<usize> = values(&dom, "data-stages").iter().map(|count| count.parse().unwrap()).collect();
    assert_eq!(boxes.iter().sum::<usize>(), STAGES + 2, "the source, the stages, the sink: {boxes:?}");
    assert!((10..=400).contains(&boxes.len()), "{} boxes", boxes.len());
    let moved = values(&dom, "data-moved");
    assert_eq!((moved.len(), moved.iter().all(|moved| *moved == "100")), (boxes.len(), true), "{moved:?}");
    // The bench measures the time. This test only requires that the page was painted in time.
    let rendered: f64 = values(&dom, "data-rendered")[0].parse().unwrap();
    assert!(rendered > 0.0 && rendered < 60_000.0, "{rendered} ms");
    println!("{STAGES} stages were rendered after {rendered} ms");
    drop(sender);
    run.wait().unwrap();
}
