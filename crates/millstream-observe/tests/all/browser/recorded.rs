//! A recorded picture in a real browser.

use millstream_core::{Arrow, ClockExt, PartsExt, StreamsExt, pipeline};
use millstream_exec::{JobExt, Rings, Runner, source};
use millstream_observe::{Elements, Recorder};
use millstream_testkit::programs::{headless_chromium, is_here};

/// Presses a key.
const VISITOR: &str = "<script>document.dispatchEvent(new KeyboardEvent('keydown', { key: 'End' }))</script></svg>";

/// The numbers of elements are those of the stage's output, not of its input.
#[test]
fn the_last_element_of_a_stage_that_renumbers_is_shown() {
    if !is_here("chromium", "the_last_element_of_a_stage_that_renumbers_is_shown") {
        return;
    }
    let elements = Elements::new(100);
    let p = pipeline::<u64>().flat_map(|x| [*x; 10]).named("ten").tee(|p| p.enumerate().map(elements.of("ten")));
    let run = Rings::new().start(p.from(source::ready(0..100)).to_each(|_, _| ())).unwrap();
    let recorder = Recorder::attach(run.observer()).unwrap();
    run.wait().unwrap();
    let svg = recorder.finish().with(&elements).svg();
    let visited = svg.trim_end().strip_suffix("</svg>").expect("the end of the picture").to_owned() + VISITOR;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.svg");
    std::fs::write(&path, visited).unwrap();
    let browser = headless_chromium(&dir.path().join("profile"))
        .arg("--dump-dom")
        .arg(format!("file://{}", path.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8(browser.stdout).unwrap();
    assert!(dom.contains(">999: 99</text>"), "{dom}");
}
