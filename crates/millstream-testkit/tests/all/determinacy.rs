//! The assertions find broken determinacy, shrink it, and report its stage.

use millstream_core::{Arrow, Val, pipeline};
use millstream_exec::{Everywhere, Pipeline};
use millstream_testkit::{Determinacy, assert_deterministic, assert_deterministic_everywhere};
use proptest::collection::vec;
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The message of a failed assertion.
#[track_caller]
fn message_of(assertion: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(assertion)).expect_err("it must not hold");
    payload.downcast_ref::<String>().expect("a message").clone()
}

#[track_caller]
fn begins(message: &str, beginning: &str) {
    assert!(message.starts_with(beginning), "{message}");
}

fn inputs() -> impl Strategy<Value = Vec<u64>> {
    vec(any::<u64>(), 0..40)
}

fn squares(shards: usize) -> impl Pipeline<u64, u64> {
    pipeline::<u64>().shard(shards, |p| p.map(|x: &u64| x.wrapping_mul(*x)).named("square"))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

fn stamped(shards: usize) -> impl Pipeline<u64, u64> {
    squares(shards).map(move |x| x.wrapping_add(now())).named("stamp")
}

fn halved(shards: usize) -> impl Pipeline<u64, u64> {
    stamped(shards).map(|x| x / 2).named("halve")
}

#[test]
fn a_hidden_clock_is_found_and_made_small() {
    let message = message_of(|| assert_deterministic(halved(1), inputs()));
    begins(&message, "stage \"square\", \"stamp\" or \"halve\", which cannot be distinguished: number 0 holds Some(");
    assert!(message.contains("\n  input, the smallest found: [0]\n  deployment: ring 1, batch 1, workers 1, Inline\n"));
    assert!(message.contains("halve"), "the plan is missing: {message}");
}

#[test]
fn edges_name_the_stage() {
    let message = message_of(|| Determinacy::sharded(halved).edge(squares).edge(stamped).assert(inputs()));
    begins(&message, "stage \"stamp\": number 0 holds Some(");
    assert!(message.contains("smallest found: [0]\n"), "{message}");
    Determinacy::sharded(squares).edge(|_| pipeline::<u64>()).assert(inputs());
}

/// Right with one shard, and with three for small numbers.
fn wrong_with_three(shards: usize) -> impl Pipeline<u64, u64> {
    pipeline::<u64>().map(move |x| if shards == 3 && *x > 9 { 0 } else { *x }).named("route")
}

#[test]
fn a_dependence_on_the_shards_is_found() {
    let message = message_of(|| Determinacy::sharded(wrong_with_three).assert(inputs()));
    begins(&message, "stage \"route\": number 0 holds Some(0), but Some(10) in the model");
    assert!(message.contains("smallest found: [10]\n  deployment: ring 1, batch 1, workers 1, Inline, shards 3\n"));
}

/// Right with one to seven shards.
fn wrong_with_eight(shards: usize) -> impl Pipeline<u64, u64> {
    pipeline::<u64>().map(move |x| if shards == 8 { 0 } else { *x }).named("route")
}

#[test]
fn one_to_eight_shards_are_tried_by_default() {
    let message = message_of(|| Determinacy::sharded(wrong_with_eight).assert(vec(1..9_u64, 1..40)));
    begins(&message, "stage \"route\": number 0 holds Some(0), but Some(1) in the model");
    assert!(message.contains("smallest found: [1]\n  deployment: ring 1, batch 1, workers 1, Inline, shards 8\n"));
}

/// One value has one of two marks, so half of the small runs show no difference.
#[test]
fn hidden_state_that_shows_sometimes_is_also_made_small() {
    let calls = AtomicU64::new(0);
    let mark = move || calls.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63;
    let message =
        message_of(|| assert_deterministic(pipeline::<u64>().map(move |x| (*x, mark())).named("mark"), inputs()));
    begins(&message, "stage \"mark\": number ");
    let small = [1, 2, 3, 4].map(|n| format!("smallest found: {:?}\n", vec![0; n]));
    assert!(small.iter().any(|small| message.contains(small)), "{message}");
}

#[test]
fn the_smallest_input_keeps_the_values_it_needs() {
    let third = |seen: &mut u64, x: &u64| {
        *seen += 1;
        if *seen == 3 { now() } else { *x }
    };
    let message = message_of(|| assert_deterministic(pipeline::<u64>().scan(0, third).named("third"), inputs()));
    begins(&message, "stage \"third\": number 2 ");
    assert!(message.contains("smallest found: [0, 0, 0]\n"), "{message}");
}

#[test]
fn a_failure_is_reported_with_the_smallest_input() {
    let p = pipeline::<u64>().map(|x| 1000 / x.saturating_sub(9));
    let message = message_of(|| assert_deterministic(p, vec(0..100_u64, 0..40)));
    assert!(message.contains("attempt to divide by zero") && message.contains("smallest found: [0]"), "{message}");
}

fn divided(_: usize) -> impl Pipeline<u64, u64> {
    pipeline::<u64>().map(|x| 1000 / x.saturating_sub(9)).named("divide")
}

fn added(shards: usize) -> impl Pipeline<u64, u64> {
    divided(shards).map(|x| x + 1).named("add")
}

#[test]
fn a_panic_in_the_model_is_reported_with_its_stage() {
    let message = message_of(|| Determinacy::sharded(added).edge(squares).edge(divided).assert(vec(0..100_u64, 0..40)));
    begins(&message, "stage \"divide\": ");
    assert!(message.contains("attempt to divide by zero") && message.contains("smallest found: [0]"), "{message}");
}

#[test]
fn outputs_that_are_not_equal_to_themselves_are_compared_as_they_are_printed() {
    let ratio = || pipeline::<u64>().map(|x| 0.0 / *x as f64).named("ratio");
    assert_deterministic(ratio(), vec(0..3_u64, 0..40));
    let stamped = ratio().map(|x| (*x, now())).named("stamp");
    let message = message_of(|| assert_deterministic(stamped, vec(0..3_u64, 0..40)));
    begins(&message, "stage \"ratio\" or \"stamp\", which cannot be distinguished: number 0 holds Some((NaN, ");
}

/// A number with a `Clone` that is not a true copy.
#[derive(Debug, PartialEq)]
struct Counted(u64);

impl Clone for Counted {
    fn clone(&self) -> Self {
        Counted(self.0 + 1)
    }
}

fn counted(_: usize) -> impl Everywhere<In = Val<u64>, Out = Val<Counted>> {
    pipeline::<u64>().map(|x| Counted(x / 2)).named("count")
}

fn beside_itself(shards: usize) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    counted(shards).fanout(|p| p, |p| p).map(|(a, b)| a.0.max(b.0)).named("greater")
}

#[test]
fn a_fault_that_only_queues_show_is_found_on_queues() {
    assert_deterministic(beside_itself(1), inputs());
    let message = message_of(|| assert_deterministic_everywhere(beside_itself(1), inputs()));
    begins(
        &message,
        "stage \"count\" or \"greater\", which cannot be distinguished: \
         number 0 holds Some(1), but Some(0) in the model",
    );
    assert!(message.contains("smallest found: [0]\n  deployment: Queues { slots: 1 }, Ready\n"), "{message}");
    // An edge that cannot run on queues is skipped; one that can clears its stage.
    let of = || Determinacy::sharded(beside_itself).everywhere();
    let message = message_of(|| of().edge(counted).assert(inputs()));
    begins(&message, "stage \"count\" or \"greater\"");
    let numbers = |shards| counted(shards).map(|counted| counted.0);
    let message = message_of(|| of().edge_everywhere(numbers).assert(inputs()));
    begins(&message, "stage \"greater\": number 0 ");
}
