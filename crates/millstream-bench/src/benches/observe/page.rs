//! The time until a browser has painted the page of a run of thousands of stages.

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::programs::is_here;
use crate::setting::Setting;
use millstream::observe::{Page, Watch};
use millstream::prelude::*;
use std::process::{Command, Stdio};
use std::sync::Arc;

const STAGES: usize = 3000;

/// The limit of the time from the request to the painted page, in seconds.
const LIMIT: f64 = 2.0;

/// The page's own measurement: milliseconds since the request.
const SAYS: &str = "data-rendered=\"";

pub(super) fn run(setting: &Setting) -> Result<Results, Failure> {
    if !is_here("chromium", "page3000")? {
        return Ok(Results::left_out("page3000.limit"));
    }
    let rings = setting.rings(1).ring(8);
    let (sender, receiver) = source::channel(8);
    let run = rings.start(chain(STAGES).from(receiver).to_each(|_, _| ()))?;
    let watch = Arc::new(Watch::attach(run.observer()).map_err(Failure::io("a thread"))?);
    (0..100).try_for_each(|x| sender.send(x)).map_err(|_| Failure::Threads("the run has ended by itself"))?;
    let mut took = Vec::new();
    for _ in 0..setting.turns() {
        // Each page is new: its first request also waits for the layout.
        let page = Page::open("127.0.0.1:0").map_err(Failure::io("a page"))?;
        page.show(watch.clone());
        setting.progress.say("a browser paints 3,000 stages");
        took.push(painted(&format!("http://{}/", page.address()))? / 1e3);
    }
    drop(sender);
    run.wait()?;
    let ratios = took.iter().map(|took| LIMIT / took).collect();
    let ratios = vec![Ratio::new("page3000", "limit", ratios, Some(1.0))];
    Ok(Results { figures: vec![Figure::new("page3000", "ours", took, Unit::Seconds)], ratios, ..Results::default() })
}

/// Half of the stages after the other half, and so on: types nested as deep as the chain is long would need a deep
/// stack.
fn chain(stages: usize) -> BoxExact<Val<u64>, Val<u64>> {
    match stages {
        1 => pipeline::<u64>().map(|x| x + 1).boxed_exact(),
        _ => chain(stages / 2).then(chain(stages - stages / 2)).boxed_exact(),
    }
}

/// The milliseconds until the page was painted.
fn painted(url: &str) -> Result<f64, Failure> {
    let profile = tempfile::tempdir().map_err(Failure::io("a directory"))?;
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,800", "--dump-dom"]);
    chromium.arg(format!("--user-data-dir={}", profile.path().display())).arg(url);
    let output = chromium.stderr(Stdio::null()).output().map_err(Failure::io("chromium"))?;
    let dom = String::from_utf8_lossy(&output.stdout);
    let said = dom.split_once(SAYS).and_then(|(_, rest)| rest.split('"').next()?.parse().ok());
    said.ok_or_else(|| {
        Failure::Program(format!("{chromium:?}"), "the page does not say when it was painted".to_owned())
    })
}
