//! The states of a plan, what they lack to outlive a process, and plans as text.

use millstream_core::plan::{Fingerprint, NotDurable, StateInfo, Warning};
use millstream_core::{Arrow, ClockExt, FeedbackExt, KeysExt, PartsExt, Plan, StreamsExt, Window, pipeline};

fn states(p: &impl Arrow) -> Vec<(String, bool, Option<StateInfo>)> {
    p.plan().stages.into_iter().map(|stage| (stage.name, stage.stateful, stage.state)).collect()
}

fn missing(p: &impl Arrow) -> NotDurable {
    p.plan().check_durable().expect_err("something is missing")
}

#[test]
fn a_state_has_the_name_of_its_type_and_a_version() {
    let p = pipeline::<u64>().scan(0_u16, |n, x| u64::from(*n) + x).named("sum").state_version(3);
    let p = p.map(|x| *x).delay(1).inspect(|_| ()).fold([0_u8; 4], |_, _| (), |_| ());
    let states = states(&p);
    let types: Vec<_> = states
        .iter()
        .map(|(name, stateful, state)| {
            (&**name, *stateful, state.as_ref().map(|state| (&*state.type_name, state.version)))
        })
        .collect();
    let expected = [
        ("sum", true, Some(("u16", 3))),
        ("map-1", false, None),
        ("delay-1", true, Some(("u64", 1))),
        // It sees its numbers in order, and keeps nothing.
        ("inspect-1", true, None),
        ("fold-1", true, Some(("[u8; 4]", 1))),
    ];
    assert_eq!(types, expected);
}

#[test]
fn every_combinator_with_a_state_shows_it() {
    let p = pipeline::<u64>().dedup().take(100).enumerate().map(|(_, x)| *x);
    let p = p.windows_by(Window::tumbling(10), |time| *time).map(|w| w.values.len() as u64);
    let p = p.shard_by(|x| *x, 2, |p| p.scan(0_i8, |_, x| *x)).feedback('s', |p| p.map(|(x, s)| (*x, *s)));
    let without: Vec<_> = states(&p).into_iter().filter(|(_, stateful, state)| *stateful != state.is_some()).collect();
    // Its numbers are those of the slots.
    assert_eq!(without, [("enumerate-1".to_owned(), true, None)]);
    let kept: Vec<_> = states(&p).into_iter().filter(|(.., state)| state.is_some()).map(|(name, ..)| name).collect();
    let expected = ["dedup-1", "take-1", "windows_by-1", "shard_by-1.key-1", "shard_by-1.scan-1", "feedback-1.state-1"];
    assert_eq!(kept, expected);
}

#[test]
fn a_fingerprint_is_the_same_in_every_run_and_changes_with_the_type() {
    let of = |p: Plan| p.stages[0].state.clone().expect("a state").fingerprint;
    let narrow = of(pipeline::<u64>().scan(0_u32, |_, x| *x).plan());
    assert_ne!(narrow, of(pipeline::<u64>().scan(0_i32, |_, x| *x).plan()));
    assert_ne!(narrow, of(pipeline::<u64>().scan([0_u32], |_, x| *x).plan()));
    assert_eq!(narrow.to_string().parse(), Ok(narrow));
    let mut fnv = 0xcbf2_9ce4_8422_2325_u64;
    for byte in [&b"u32"[..], &4_u64.to_le_bytes(), &4_u64.to_le_bytes()].concat() {
        fnv = (fnv ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    assert_eq!(narrow, Fingerprint(fnv));
}

#[test]
fn a_version_without_a_state_has_a_warning() {
    let p = pipeline::<u64>().map(|x| *x).named("a").state_version(2);
    assert_eq!(p.plan().warnings, [Warning::VersionOfNothing { name: "a".into() }]);
    let p = pipeline::<u64>().shard_by(|x| *x, 2, |p| p.map(|x| *x)).named("keys").state_version(2);
    let plan = p.plan();
    assert_eq!((&*plan.warnings, plan.stages[0].state.as_ref().unwrap().version), (&[][..], 2));
}

#[test]
fn states_without_a_name_are_listed_with_a_suggestion_each() {
    let p = pipeline::<u64>().dedup().scan(0, |n, x| *n + x).scan(0, |n, x| *n + x).named("sum").map(|x| *x);
    let p = p.shard_by(|x| *x, 2, |p| p.fanout(|p| p.delay(0), |p| p.delay(0)).map(|(x, _)| *x));
    let p = p.feedback(0, |p| p.map(|(x, s)| x + s).fork());
    let missing = missing(&p);
    let listed: Vec<_> =
        missing.unnamed.iter().map(|state| (&*state.stage, &*state.combinator, &*state.suggestion)).collect();
    let expected = [
        ("dedup-1", "dedup", "dedup"),
        ("scan-1", "scan", "scan"),
        ("shard_by-1.key-1", "shard_by", "shard_by"),
        ("shard_by-1.fanout-1.first.delay-1", "delay", "delay"),
        ("shard_by-1.fanout-1.second.delay-1", "delay", "shard_by-fanout-second-delay"),
        ("feedback-1.state-1", "feedback", "feedback"),
    ];
    assert_eq!(listed, expected);
    assert!(missing.to_string().starts_with("6 stages keep a state and have no name of their own:\n"), "{missing}");
}

#[test]
fn suggestions_are_free_names() {
    let p = pipeline::<u64>().dedup().dedup().map(|x| *x).named("dedup");
    let suggested: Vec<_> = missing(&p).unnamed.into_iter().map(|state| state.suggestion).collect();
    assert_eq!(suggested, ["dedup-1", "dedup-2"]);
}

#[test]
fn a_name_that_is_set_twice_is_not_durable() {
    let p = pipeline::<u64>().dedup().named("a").dedup().named("a");
    assert_eq!(missing(&p), NotDurable { unnamed: Vec::new(), repeated: vec!["a".into()] });
    assert_eq!(missing(&p).to_string(), "the name \"a\" is set more than once");
    let p = pipeline::<u64>().map(|x| *x).named("a").feedback(0, |p| p.map(|(x, _)| (*x, 0))).named("a");
    assert_eq!(missing(&p).repeated, ["a"], "its state is `a-2.state-1`, and `a.state-1` without the map");
    let p = pipeline::<u64>().dedup().named("a").inspect(|_| ()).map(|x| *x).scan(0, |_, x| *x).named("b");
    assert_eq!(p.plan().check_durable(), Ok(()));
}

#[test]
fn a_name_of_stages_without_a_state_may_be_set_twice() {
    let p = pipeline::<u64>().map(|x| x + 1).named("add").dedup().named("new").map(|x| x + 2).named("add");
    assert_eq!(p.plan().warnings.len(), 1);
    assert_eq!(p.plan().check_durable(), Ok(()));
    assert_eq!(missing(&p.dedup().named("add")).repeated, ["add"]);
}

#[cfg(feature = "serde")]
#[test]
fn a_written_plan_says_its_format_and_another_format_is_refused() {
    let plan = pipeline::<u64>().scan(0, |n, x| *n + x).named("a").map(|x| *x).named("a").plan();
    let mut json = serde_json::to_value(&plan).unwrap();
    assert_eq!(json["format"], 1);
    assert_eq!(json["stages"][0]["state"]["fingerprint"].as_str().map(str::len), Some(16));
    json["later"] = "an unknown field".into();
    assert_eq!(serde_json::from_value::<Plan>(json.clone()).unwrap(), plan);
    json["format"] = 2.into();
    let error = serde_json::from_value::<Plan>(json).unwrap_err();
    assert_eq!(error.to_string(), "the plan has format 2, and this program reads format 1");
}
