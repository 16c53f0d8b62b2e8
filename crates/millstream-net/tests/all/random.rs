//! Random pipelines whose values come over TCP, and go to a reader over TCP, have the output of their model.

use crate::peer::{PATIENCE, Peer};
use millstream_core::text::Block;
use millstream_core::{Arrow, ClockExt, SequenceNumber, pipeline};
use millstream_exec::{Client, JobExt, Reception, Runner};
use millstream_net::tcp::{Options, send_lines, take_lines, take_records};
use millstream_net::{WhenSlow, arrivals, broadcast};
use millstream_testkit::random::{Value, pipes, values};
use millstream_testkit::{Deployment, deployments};
use proptest::prelude::*;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread::spawn;
use std::time::Instant;

/// How values come.
#[derive(Clone, Copy, Debug)]
enum By {
    Lines,
    Records,
}

fn number(text: &str) -> Value {
    Value::I(text.parse().unwrap())
}

/// Sends these numbers, in pieces of this many bytes, and returns what comes in, one after the other.
fn sent(by: By, numbers: &[Value], piece: usize, deployment: Deployment) -> impl Iterator<Item = Value> + use<> {
    let (values, seen) = channel();
    let texts = numbers.iter().map(|number| format!("{number:?}"));
    let bytes: Vec<u8> = match by {
        By::Lines => texts.flat_map(|text| (text + "\n").into_bytes()).collect(),
        By::Records => {
            let record = |text: String| [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat();
            texts.flat_map(record).collect()
        }
    };
    let (expected, rings) = (numbers.len() as u64, deployment.rings());
    let send = move |value: &Value| drop(values.send(value.clone()));
    let receive = move |listener: millstream_net::tcp::Listener| {
        let mut peer = Peer::of(listener.address());
        bytes.chunks(piece).for_each(|piece| peer.0.write_all(piece).unwrap());
        drop(peer);
        let since = Instant::now();
        while listener.counters().taken() < expected {
            assert!(since.elapsed() < PATIENCE, "{} of {expected} were taken", listener.counters().taken());
            std::thread::yield_now();
        }
    };
    // The two kinds have items of their own, and the rest is the same.
    spawn(move || match by {
        By::Lines => {
            let (reception, arriving) = Reception::<Block, ()>::open(&rings, None).unwrap();
            let lines = pipeline::<Block>().flat_map(|block: &Block| {
                String::from_utf8(block.to_vec()).unwrap().lines().map(number).collect::<Vec<_>>()
            });
            let run = rings.start(lines.from(arrivals::taken(arriving)).to_each(move |_, value| send(value))).unwrap();
            let client: Client<Block, ()> = reception.client(&run);
            receive(take_lines("127.0.0.1:0", client, Options::default()).unwrap());
            run.wait().unwrap();
        }
        By::Records => {
            let (reception, arriving) = Reception::<Vec<u8>, ()>::open(&rings, None).unwrap();
            let records = pipeline::<Vec<u8>>().map(|record| number(std::str::from_utf8(record).unwrap()));
            let run = rings.start(records.from(arrivals::taken(arriving)).to_each(move |_, value| send(value)));
            let run = run.unwrap();
            receive(take_records("127.0.0.1:0", reception.client(&run), Options::default()).unwrap());
            run.wait().unwrap();
        }
    });
    seen.into_iter()
}

fn cases() -> u32 {
    if std::env::var_os("MILLSTREAM_FULL").is_some() { 1000 } else { 40 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn a_random_pipeline_between_two_sockets_has_the_output_of_its_model(
        tree in pipes(12).prop_filter("more threads than a test should have", |tree| tree.width() <= 16),
        inputs in values(40),
        deployment in deployments(),
        by in prop_oneof![Just(By::Lines), Just(By::Records)],
        piece in 1..40_usize,
    ) {
        let built = tree.build();
        let model = catch_unwind(AssertUnwindSafe(|| built.model_slots(inputs.clone())));
        // A pipeline that fails has no whole output.
        prop_assume!(model.is_ok());
        let expected: Vec<String> = model.unwrap().into_iter().flatten().map(|value| format!("{value:?}")).collect();

        let (publisher, values) = broadcast(4096);
        let out = send_lines("127.0.0.1:0", values.clone(), WhenSlow::Disconnect, Options::default()).unwrap();
        let mut reader = Peer::of(out.address());
        let since = Instant::now();
        while values.readers() == 0 {
            assert!(since.elapsed() < PATIENCE, "no one reads");
            std::thread::yield_now();
        }
        let outputs = built.through(deployment.rings(), sent(by, &inputs, piece, deployment));
        (0..).zip(outputs).for_each(|(n, value)| publisher.publish(SequenceNumber(n), format!("{value:?}\n")));
        drop(publisher);
        let read = reader.rest();
        prop_assert_eq!(read.lines().collect::<Vec<_>>(), expected, "{}, {:?}, {:?}", tree, deployment, by);
    }
}
