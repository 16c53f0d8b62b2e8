//! Services of random stages: each caller gets the model's slot at the number of its request.

use millstream_exec::{Answer, CallError};
use millstream_testkit::deployments;
use millstream_testkit::random::{Value, pipes, values};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};

/// An answer, as the slot that it is.
fn slot(answer: Result<Value, CallError>) -> Result<Option<Value>, CallError> {
    match answer {
        Err(CallError::NoAnswer) => Ok(None),
        answer => answer.map(Some),
    }
}

/// The outputs of futures that are polled in turn, without an executor: each runs what it can on this thread.
fn called<F: Future>(calls: impl Iterator<Item = F>) -> impl Iterator<Item = F::Output> {
    let mut calls: Vec<_> = calls.map(Box::pin).collect();
    let mut outputs: Vec<_> = calls.iter().map(|_| None).collect();
    while outputs.iter().any(Option::is_none) {
        for (call, output) in calls.iter_mut().zip(&mut outputs).filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(answer) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                *output = Some(answer);
            }
        }
        std::thread::yield_now();
    }
    outputs.into_iter().flatten()
}

proptest! {
    #[test]
    fn the_answers_of_a_random_service_are_the_slots_of_its_model(
        tree in pipes(16).prop_filter("more threads than a test should have", |tree| tree.width() <= 32),
        requests in values(60),
        deployment in deployments(),
        slots in prop::sample::select(vec![1, 2, 4, 16]),
        under_way in 1..=8_usize,
        calls: bool,
    ) {
        let built = tree.build_service();
        // Calls that wait for room are sent in no particular order.
        let slots = if calls { slots.max(8) } else { slots };
        let (client, run) = built.service().ring(slots).start_on(&deployment.rings()).unwrap();
        let mut answers = Vec::new();
        for requests in requests.chunks(under_way) {
            if calls {
                answers.extend(called(requests.iter().map(|request| client.call(request.clone()))).map(slot));
                continue;
            }
            let sent: Vec<_> = requests.iter().map_while(|request| client.send(request.clone()).ok()).collect();
            answers.extend(sent.into_iter().map(Answer::wait).map(slot));
        }
        drop(client);
        let ended = run.wait();
        match catch_unwind(AssertUnwindSafe(|| built.answers(requests))) {
            Ok(model) => {
                let model: Vec<_> = model.into_iter().map(Ok).collect();
                prop_assert_eq!(answers, model, "{}, {:?}", tree, deployment);
                prop_assert!(ended.is_ok(), "{}, {:?}: {:?}", tree, deployment, ended.map(|_| ()));
            }
            Err(_) => prop_assert!(ended.is_err(), "{}, {:?}: the model fails", tree, deployment),
        }
    }
}
