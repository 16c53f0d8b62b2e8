//! A stage whose function does not return.

use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobRefExt, Rings, Runner, source};
use millstream_observe::{Frame, Options, Watch};
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

/// The other tasklets of the stage wait for input meanwhile.
#[test]
fn one_of_the_shards_of_a_stage_does_not_return_also_after_a_stop() {
    let (open, opened) = channel::<()>();
    let opened = Mutex::new(opened);
    let waits = move |x: &u64| {
        if *x == 8 {
            let _ = opened.lock().unwrap().recv();
        }
        *x
    };
    let p = pipeline::<u64>().shard(3, |p| p.map_blocking(waits).named("waits"));
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().ring(16).start((&p).from(receiver).to_each(|_, _| ())).unwrap();
    // It is dropped before the run, which waits for the call.
    let open = open;
    let watch = Watch::attach_with(run.observer(), Options::default().frame(Duration::from_millis(50))).unwrap();
    (0..16).for_each(|x| sender.send(x).unwrap());
    let mut frame = watch.next(None).expect("the run goes on");
    while frame.stuck.is_empty() {
        frame = watch.next(Some(frame.number)).expect("the run goes on");
    }
    let stuck = |frame: &Frame| frame.stuck.iter().map(|stuck| (stuck.stage.clone(), stuck.number)).collect::<Vec<_>>();
    assert_eq!(stuck(&frame), [("waits".to_owned(), 8)]);
    run.stopper().stop_now();
    for _ in 0..2 {
        frame = watch.next(Some(frame.number)).expect("the call goes on");
        assert_eq!((stuck(&frame), frame.running), (vec![("waits".to_owned(), 8)], true));
    }
    drop(open);
    run.wait().unwrap();
    assert!(!watch.finish().running);
}
