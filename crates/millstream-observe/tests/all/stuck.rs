//! A stage whose function does not return.

use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, source};
use millstream_observe::{Options, Watch};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn a_stage_that_does_not_return_is_named_with_its_number_and_no_other_is() {
    let (open, opened) = channel::<()>();
    let opened = Mutex::new(opened);
    let p = pipeline::<u64>()
        .map(|x| x + 1)
        .named("front")
        .map(move |x| {
            if *x == 8 {
                // Until the test has seen it, or has failed.
                let _ = opened.lock().unwrap().recv();
            }
            *x
        })
        .named("waits")
        .map(|x| x + 1)
        .named("after");
    // Batches are of one item and all stages share the worker. The earlier stages have input and room, and move nothing
    // either.
    let rings = Rings::new().workers(1).batch(1).ring(16);
    let (sender, receiver) = source::channel(16);
    let run = rings.start((&p).from(receiver).to_each(|_, _| ())).unwrap();
    let watch = Watch::attach_with(run.observer(), Options::default().frame(Duration::from_millis(50))).unwrap();
    (0..16).for_each(|x| sender.send(x).unwrap());
    let mut frame = watch.next(None).expect("the run goes on");
    while frame.stuck.is_empty() {
        frame = watch.next(Some(frame.number)).expect("the run goes on");
    }
    // Ends also if what follows fails.
    drop((open, sender));
    run.wait().unwrap();
    let [stuck] = &frame.stuck[..] else { panic!("one stage: {:?}", frame.stuck) };
    // One worker runs the three stages as one loop, which does not say where it is.
    assert_eq!((&*stuck.stage, stuck.number), ("after", 7));
    let sentence = "`after`, or a stage that is fused into it, has reached number 7 and moved nothing for ";
    assert!(stuck.sentence.starts_with(sentence), "{stuck:?}");
    assert!(watch.finish().stuck.is_empty());
}
