//! Services: many callers, one pipeline, each answer to its own caller.

use millstream_core::{Arrow, StreamsExt, TryMapExt};
use millstream_exec::{Answer, CallError, Client, Handle, Rings, RunError, Service, TrySendError, requests, service};
use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread::{spawn, yield_now};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Adds up what comes; the answer is the request and the sum.
fn total() -> Service<u64, (u64, u64)> {
    service(requests::<u64>().scan(0, |sum, x: &u64| {
        *sum += x;
        (*x, *sum)
    }))
}

#[test]
fn every_caller_gets_its_own_answer() {
    const CALLERS: u64 = 4;
    const CALLS: u64 = 500;
    for slots in [1, 4, 4096] {
        let (client, run) = total().ring(slots).start_on(&Rings::new().ring(slots).batch(3)).unwrap();
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let client = client.clone();
                spawn(move || {
                    let ours = (0..CALLS).map(|n| 1 + n * CALLERS + caller);
                    ours.map(|x| (x, client.call_blocking(x).unwrap())).collect::<Vec<_>>()
                })
            })
            .collect();
        let mut answers: Vec<_> = callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
        assert!(answers.iter().all(|(x, (of, _))| x == of));
        // The sums tell the order of the requests: each is the one before it and the request.
        answers.sort_by_key(|(_, (_, sum))| *sum);
        let sums = answers.iter().scan(0, |sum, (x, _)| {
            *sum += x;
            Some(*sum)
        });
        assert!(sums.eq(answers.iter().map(|(_, (_, sum))| *sum)));
        drop(client);
        assert_eq!(run.wait().unwrap().1.numbers.0, CALLERS * CALLS);
    }
}

#[test]
fn a_client_can_have_many_requests_under_way() {
    let (client, _run) = total().start().unwrap();
    let answers: Vec<_> = (0..1000).map(|x| client.send(x).unwrap()).collect();
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.wait().unwrap()).collect();
    let expected = (0..1000).scan(0, |sum, x| {
        *sum += x;
        Some((x, *sum))
    });
    assert_eq!(answers, expected.collect::<Vec<_>>());
}

#[test]
fn a_handle_that_is_dropped_stops_the_service_and_calls_say_so() {
    let (client, _) = service(requests::<u64>().map(|x| x + 1)).start().unwrap();
    let ended = client.call_blocking(1).unwrap_err();
    assert_eq!(ended, CallError::Ended);
    assert!(ended.to_string().ends_with("or its handle was dropped"), "{ended}");
}

#[test]
fn a_failure_is_the_answer_of_its_own_caller_alone() {
    let checked = |x: &u64| match x {
        13 => Err("unlucky"),
        14 => panic!("worse"),
        x => Ok(*x),
    };
    let stages = requests::<u64>().filter(|x| *x != 12).try_map_or_empty(checked).scan(0, |sum, x: &u64| {
        *sum += x;
        *sum
    });
    let (client, run) = service(stages).start().unwrap();
    let answers: Vec<_> = (11..16).map(|x| client.call_blocking(x)).collect();
    let none = || Err(CallError::NoAnswer);
    assert_eq!(answers, [Ok(11), none(), none(), none(), Ok(26)]);
    drop(client);
    let (_, report) = run.wait().unwrap();
    assert_eq!(report.stages.iter().map(|stage| stage.failures).sum::<u64>(), 2);
    let names: Vec<_> = report.stages.iter().map(|stage| &*stage.name).collect();
    assert!(names.contains(&"service.first.scan-1"), "{names:?}");
}

/// A service whose stage waits until the returned sender sends or is dropped, for each request.
fn held() -> (Client<u64, u64>, Handle<()>, mpsc::Sender<()>) {
    let (go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let stages = requests::<u64>().map_blocking(move |x: &u64| {
        let _ = wait.lock().unwrap().recv();
        *x
    });
    let (client, run) = service(stages).ring(2).start_on(&Rings::new().ring(2)).unwrap();
    (client, run, go)
}

#[test]
fn a_full_service_refuses_or_waits() {
    let (client, run, go) = held();
    let mut accepted = Vec::new();
    let refused = loop {
        match client.try_send(accepted.len() as u64) {
            Ok(answer) => accepted.push(answer),
            Err(TrySendError::Full { value, .. }) if accepted.len() > 3 => break value,
            Err(TrySendError::Full { .. }) => yield_now(), // a stage is about to make room
            Err(TrySendError::Ended(_)) => panic!("it has not ended"),
        }
    };
    assert_eq!(refused, accepted.len() as u64);
    let late = {
        let client = client.clone();
        spawn(move || client.call_blocking(99))
    };
    drop(go);
    let answers: Vec<_> = accepted.into_iter().map(|answer| answer.wait().unwrap()).collect();
    assert_eq!(answers, (0..refused).collect::<Vec<_>>());
    assert_eq!(late.join().unwrap(), Ok(99));
    drop(client);
    run.wait().unwrap();
}

#[test]
fn what_was_accepted_before_a_drain_is_answered() {
    let (client, run, go) = held();
    let accepted: Vec<_> = (0..3).map(|x| client.send(x).unwrap()).collect();
    let drained = spawn(move || run.drain(LONG));
    // From some moment on, nothing is accepted.
    while client.try_send(7).is_ok_and(|answer| {
        drop(answer);
        true
    }) {
        let _ = go.send(());
    }
    drop(go);
    let answers: Vec<_> = accepted.into_iter().map(Answer::wait).collect();
    assert_eq!(answers, [Ok(0), Ok(1), Ok(2)]);
    drained.join().unwrap().unwrap();
    assert_eq!(client.call_blocking(1), Err(CallError::Ended));
    assert!(matches!(client.send(1), Err(CallError::Ended)));
}

/// Whether a call ended with this failure.
fn failed_with<A>(answer: &Result<A, CallError>, text: &str) -> bool {
    matches!(answer, Err(CallError::Failed(failure)) if failure.to_string() == text)
}

#[test]
fn all_callers_of_a_service_that_fails_get_the_failure_of_its_run() {
    const FAILURE: &str = "stage \"count\", number 5: panicked: five";
    let stages = requests::<u64>().map(|x: &u64| if *x == 5 { panic!("five") } else { *x }).named("count");
    let (client, run) = service(stages).start().unwrap();
    assert_eq!(client.failure(), None);
    let answers: Vec<_> = (0..100).map_while(|x| client.send(x).ok()).collect();
    let answers: Vec<_> = answers.into_iter().map(Answer::wait).collect();
    // Those before it may have got theirs, and those after it never do.
    let failed = |answer: &Result<u64, CallError>| failed_with(answer, FAILURE);
    assert!((0..5).all(|n| answers[n] == Ok(n as u64) || failed(&answers[n])), "{answers:?}");
    assert!(answers.len() > 5 && answers[5..].iter().all(failed), "{answers:?}");
    // Those that come later have it as well, in every way to call.
    assert!(failed(&client.call_blocking(1)) && failed(&futures_executor::block_on(client.call(1))));
    assert!(failed_with(&client.send(1).map(|_| ()), FAILURE));
    assert!(matches!(client.try_send(1), Err(TrySendError::Ended(1))));
    let failure = run.wait().unwrap_err();
    assert_eq!(failure.to_string(), FAILURE);
    // Also after its run is gone.
    assert!(failed(&client.call_blocking(1)) && client.failure() == Some(failure));
    assert_eq!(client.call_blocking(1).unwrap_err().to_string(), format!("the service has failed: {FAILURE}"));
}

/// Several stages fail at the same time. The requests that were accepted have the one failure that the handle returns.
#[test]
fn accepted_requests_have_the_failure_of_the_handle() {
    for _ in 0..50 {
        let (go, wait) = mpsc::channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        let stages = requests::<u64>().inspect(move |x: &u64| {
            if *x == 0 {
                let _ = wait.lock().unwrap().recv();
            }
        });
        let stages = stages
            .map(|x: &u64| if *x == 9 { panic!("nine") } else { *x })
            .named("first")
            .map(|x: &u64| if *x == 3 { panic!("three") } else { *x })
            .named("second");
        let (client, run) = service(stages).start_on(&Rings::new().workers(2).batch(1)).unwrap();
        let answers: Vec<_> = (0..20).map(|x| client.send(x).unwrap()).collect();
        drop(go);
        let answers: Vec<_> = answers.into_iter().map(Answer::wait).collect();
        let failure = run.wait().unwrap_err().to_string();
        assert!(answers[9..].iter().all(|answer| failed_with(answer, &failure)), "{failure}, {answers:?}");
        assert!(answers.iter().all(|answer| answer.is_ok() || failed_with(answer, &failure)), "{failure}, {answers:?}");
    }
}

#[test]
fn the_error_of_a_closure_is_the_source_of_a_call_error() {
    use std::error::Error;
    let parsed = service(requests::<String>().try_map(|text: &String| text.parse::<u64>()));
    let (client, _run) = parsed.start().unwrap();
    let failed = futures_executor::block_on(client.send("x".to_owned()).unwrap().into_future()).unwrap_err();
    assert!(failed.source().is_some_and(|error| error.is::<std::num::ParseIntError>()), "{failed:?}");
    assert!(CallError::Ended.source().is_none());
}

#[test]
fn a_stop_leaves_no_caller_waiting() {
    let (client, run, go) = held();
    let under_way = client.send(1).unwrap();
    let waiting = {
        let client = client.clone();
        spawn(move || (0..).find_map(|x| client.call_blocking(x).err()))
    };
    let stopper = run.stopper();
    stopper.stop_now();
    drop(go);
    assert!(matches!(under_way.wait(), Err(CallError::Ended) | Ok(1)));
    assert_eq!(waiting.join().unwrap(), Some(CallError::Ended));
    drop(run.wait());
}

#[test]
fn an_answer_that_takes_too_long_is_not_waited_for() {
    let (client, run, go) = held();
    assert_eq!(client.send(1).unwrap().wait_for(Duration::from_millis(1)), Err(CallError::TimedOut));
    drop(go);
    assert_eq!(client.send(2).unwrap().wait_for(LONG), Ok(2));
    drop(client);
    run.wait().unwrap();
}

#[test]
fn a_call_that_is_given_up_changes_no_other_answer() {
    let (client, run) = total().start().unwrap();
    let polled = |future: &mut (dyn Future<Output = _> + Unpin)| {
        std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
    };
    {
        // It is sent at the first poll, and dropped while it waits.
        let mut call = pin!(client.call(1));
        let first: Poll<Result<_, CallError>> = polled(&mut call);
        assert!(matches!(first, Poll::Pending | Poll::Ready(Ok((1, 1)))));
    }
    drop(client.call(50)); // never polled, never sent
    drop(client.send(2).unwrap());
    assert_eq!(client.call_blocking(3), Ok((3, 6)));
    drop(client);
    assert_eq!(run.wait().unwrap().1.numbers.0, 3);
}

#[test]
fn async_calls_wait_for_room_and_for_answers() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (client, run) = total().ring(1).start_on(&Rings::new().ring(1)).unwrap();
    let answers = runtime.block_on(async {
        let calls: Vec<_> = (0..50)
            .map(|x| {
                let client = client.clone();
                tokio::spawn(async move { client.call(x).await })
            })
            .collect();
        let mut answers = Vec::new();
        for call in calls {
            answers.push(call.await.unwrap().unwrap());
        }
        answers
    });
    assert!(answers.iter().map(|(x, _)| *x).eq(0..50));
    drop(client);
    assert_eq!(run.wait().unwrap().1.numbers.0, 50);
}

#[test]
fn a_caller_that_panics_ends_no_other() {
    let (client, run) = total().start().unwrap();
    let bad = client.clone();
    let panicked = spawn(move || {
        bad.call_blocking(1).unwrap();
        panic!("a bug of this caller");
    });
    assert!(panicked.join().is_err());
    assert_eq!(client.call_blocking(2), Ok((2, 3)));
    drop(client);
    run.wait().unwrap();
}

#[test]
fn the_last_client_may_panic_while_it_owns_the_service() {
    let (client, run) = total().start().unwrap();
    assert!(
        spawn(move || {
            client.call_blocking(1).unwrap();
            panic!("a bug of the last caller");
        })
        .join()
        .is_err()
    );
    let (_, report) = run.wait().unwrap();
    assert_eq!(report.numbers.0, 1);
}

/// An answer that says when it is dropped, unless it is a clone.
#[derive(Debug)]
struct Watched(Arc<AtomicBool>);

impl Clone for Watched {
    fn clone(&self) -> Self {
        panic!("an answer that cannot be cloned")
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn an_answer_whose_clone_panics_fails_the_run_and_leaves_no_caller_waiting() {
    let dropped = Arc::new(AtomicBool::new(false));
    let given = dropped.clone();
    let (client, run) = service(requests::<u64>().map(move |_: &u64| Watched(given.clone()))).start().unwrap();
    assert!(matches!(client.call_blocking(1), Err(CallError::Failed(_))));
    let failed = run.wait().unwrap_err();
    assert!(matches!(failed, RunError::Stage { .. }), "{failed}");
    assert!(failed.to_string().contains("an answer that cannot be cloned"), "{failed}");
    drop(client);
    assert!(dropped.load(Ordering::Relaxed));
}

#[test]
fn a_service_is_started_as_often_as_wanted() {
    let totals = total();
    for _ in 0..2 {
        let (client, _run) = totals.start().unwrap();
        assert_eq!(client.call_blocking(4), Ok((4, 4)));
    }
}

#[test]
fn a_client_is_a_service_of_the_tower_crates() {
    async fn twice<S: tower_service::Service<u64, Error = CallError>>(mut callee: S) -> (S::Response, S::Response) {
        std::future::poll_fn(|cx| callee.poll_ready(cx)).await.unwrap();
        (callee.call(1).await.unwrap(), callee.call(2).await.unwrap())
    }
    let (client, _run) = total().start().unwrap();
    assert_eq!(futures_executor::block_on(twice(client)), ((1, 1), (2, 3)));
}
