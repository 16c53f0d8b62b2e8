//! The changes from one plan to another.

use millstream_core::plan::{Change, EdgeDiff, Fate, PlanDiff};
use millstream_core::{
    Arrow, Bound, KeysExt, PartsExt, Plan, RunOutcome, SequenceNumber, Shape, Sink, StreamsExt, pipeline,
};
use std::convert::Infallible;

/// The numbers that it was given.
#[derive(Clone)]
struct Kept(Vec<u64>);

impl<A: Shape> Sink<A> for Kept {
    type Output = Vec<u64>;
    type Error = Infallible;

    fn put(&mut self, number: SequenceNumber, _: A::Ref<'_>) -> Result<(), Infallible> {
        self.0.push(number.0);
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<Vec<u64>, Infallible> {
        Ok(self.0)
    }
}

fn fates(diff: &PlanDiff) -> Vec<(&str, &Fate)> {
    diff.stages.iter().map(|stage| (&*stage.name, &stage.fate)).collect()
}

fn edges(before: &[&str], after: &[&str]) -> Change {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Change::Reads(EdgeDiff { before: names(before), after: names(after) })
}

#[test]
fn equal_plans_have_no_difference() {
    let p = || pipeline::<u64>().filter(|x| *x > 0).shard_by(|x| *x, 2, |p| p.scan(0, |n, x| *n + x)).named("sum");
    let diff = p().plan().diff(&p().plan());
    assert!(diff.is_empty() && diff.kept().count() == 3, "{diff}");
    assert!(Plan::default().diff(&Plan::default()).is_empty());
}

/// A version that no longer writes a file differs from the one before, also if all of its stages are the same.
#[test]
fn a_sink_with_a_name_is_new_or_changed_or_dropped() {
    let kept = || Kept(Vec::new());
    let writes = pipeline::<u64>().tee(|p| p.filter(|x| *x > 3).tee_to("audit", kept())).map(|x| x + 1).plan();
    let all = pipeline::<u64>().tee(|p| p.tee_to("audit", kept()).filter(|x| *x > 3)).map(|x| x + 1).plan();
    let none = pipeline::<u64>().tee(|p| p.filter(|x| *x > 3)).map(|x| x + 1).plan();
    let stages = "kept     tee-1.filter-1\nkept     map-1\n";
    for (before, after, said) in [
        (&none, &writes, "new      audit (tee_to)\n2 kept, 0 changed, 1 new, 0 dropped\n"),
        (&writes, &none, "dropped  audit (tee_to)\n2 kept, 0 changed, 0 new, 1 dropped\n"),
        (
            &writes,
            &all,
            "changed  audit\n           reads: source, tee-1.filter-1 -> source\n\
             2 kept, 1 changed, 0 new, 0 dropped\n",
        ),
    ] {
        let diff = before.diff(after);
        assert_eq!(diff.to_string(), format!("{stages}{said}"));
        assert!(!diff.is_empty() && before.diff(before).is_empty());
        let json = serde_json::to_value(&diff).unwrap();
        assert_eq!(serde_json::from_value::<PlanDiff>(json).unwrap(), diff);
    }
}

/// The user's name is an identity wherever the stage is, and whatever is around it.
#[test]
fn a_named_stage_is_the_same_wherever_it_is() {
    let before = pipeline::<u64>().scan(0, |n, x| *n + x).named("sum").map(|x| x + 1).named("more");
    let after = pipeline::<u64>()
        .map(|x| x + 1)
        .named("more")
        .fanout(|p| p.scan(0, |n, x| *n + x).named("other"), |p| p.scan(0, |n, x| *n + x).named("sum"));
    let diff = before.plan().diff(&after.plan());
    let expected = [
        ("more", &Fate::Changed(vec![edges(&["sum"], &["source"])])),
        ("other", &Fate::New),
        ("sum", &Fate::Changed(vec![edges(&["source"], &["more"])])),
    ];
    assert_eq!(fates(&diff), expected);
    let output = EdgeDiff { before: vec!["more".into()], after: vec!["other".into(), "sum".into()] };
    assert_eq!(diff.output, Some(output));
}

#[test]
fn two_names_are_two_stages_even_at_one_place() {
    let sum = |name: &str| pipeline::<u64>().scan(0, |n, x| *n + x).named(name).plan();
    assert_eq!(fates(&sum("old").diff(&sum("new"))), [("new", &Fate::New), ("old", &Fate::Dropped)]);
}

#[test]
fn naming_a_stage_keeps_it() {
    let unnamed = pipeline::<u64>().scan(0, |n, x| *n + x).scan(0, |n, x| *n + x).plan();
    let named = pipeline::<u64>().scan(0, |n, x| *n + x).named("sum").scan(0, |n, x| *n + x).plan();
    let name =
        |before: &str, after: &str| Fate::Changed(vec![Change::Name { before: before.into(), after: after.into() }]);
    assert_eq!(fates(&unnamed.diff(&named)), [("sum", &name("scan-1", "sum")), ("scan-2", &Fate::Kept)]);
    assert_eq!(fates(&named.diff(&unnamed)), [("scan-1", &name("sum", "scan-1")), ("scan-2", &Fate::Kept)]);
}

/// Inside a named combinator, an unnamed stage is found by the name of that combinator.
#[test]
fn a_named_combinator_identifies_what_is_in_it() {
    let stats = || pipeline::<u64>().fanout(|p| p.delay(0), |p| p.delay(0)).named("stats");
    let other = || pipeline::<u64>().fanout(|p| p.delay(0), |p| p.delay(0)).map(|(x, _)| *x);
    let diff = stats().plan().diff(&other().then(stats()).plan());
    let kept: Vec<_> = diff.changed().map(|stage| &*stage.name).collect();
    assert_eq!(kept, ["stats.first.delay-1", "stats.second.delay-1"]);
    assert_eq!((diff.new_stages().count(), diff.dropped().count()), (3, 0), "{diff}");
}

#[test]
fn changes_are_listed_one_by_one() {
    let before = pipeline::<u64>()
        .shard_by_within(Bound::refuse(10), |x| *x, 2, |p| p.scan(0_u32, |_, x| *x as u8).named("sum"))
        .named("by");
    let after = pipeline::<u64>()
        .shard_by_within(
            Bound::refuse(20),
            |x| *x,
            4,
            |p| p.scan(0_u32, |_, x| *x as u16).named("sum").state_version(2),
        )
        .named("by");
    let (before, after) = (before.plan(), after.plan());
    let diff = before.diff(&after);
    let state = |plan: &Plan| plan.stages[1].state.clone();
    let keys = || Change::Keys { before: Some(10), after: Some(20) };
    let expected = [
        ("by.key-1", &Fate::Changed(vec![keys()])),
        (
            "sum",
            &Fate::Changed(vec![
                Change::State { before: state(&before), after: state(&after) },
                Change::Tasklets { before: 2, after: 4 },
                keys(),
                Change::SlotBytes { before: 1, after: 2 },
            ]),
        ),
    ];
    assert_eq!(fates(&diff), expected);
    let text = "\
changed  by.key-1
           keys: up to 10 -> up to 20
changed  sum
           state: u32 version 1 -> u32 version 2
           tasklets: 2 -> 4
           keys: up to 10 -> up to 20
           bytes of a slot: 1 -> 2
0 kept, 2 changed, 0 new, 0 dropped
";
    assert_eq!(diff.to_string(), text);
}

#[test]
fn a_stage_of_one_name_and_another_kind_is_changed() {
    let before = pipeline::<u64>().dedup().named("a").plan();
    let after = pipeline::<u64>().filter(|x| *x > 1).named("a").plan();
    let diff = before.diff(&after);
    let kind = Change::Kind { before: "dedup".into(), after: "filter".into() };
    let state = Change::State { before: before.stages[0].state.clone(), after: None };
    assert_eq!(fates(&diff), [("a", &Fate::Changed(vec![kind, state]))]);
    assert!(diff.to_string().contains("state: core::option::Option<u64> version 1 -> none\n"), "{diff}");
}

/// Another layout of a type of the same name shows the fingerprints, which are the only difference.
#[test]
fn a_type_that_changed_under_its_name_shows_its_fingerprints() {
    let plan = pipeline::<u64>().scan(0_u32, |_, x| *x).named("a").plan();
    let mut other = plan.clone();
    other.stages[0].state.as_mut().unwrap().fingerprint.0 += 1;
    let diff = plan.diff(&other);
    let fingerprint = |plan: &Plan| plan.stages[0].state.as_ref().unwrap().fingerprint;
    let line = format!("state: u32 version 1 ({}) -> u32 version 1 ({})\n", fingerprint(&plan), fingerprint(&other));
    assert!(diff.to_string().contains(&line), "{diff}");
}

#[cfg(feature = "serde")]
#[test]
fn a_difference_is_written_and_read() {
    let before = pipeline::<u64>().scan(0_u32, |_, x| *x).named("a").map(|x| *x).plan();
    let after =
        pipeline::<u64>().filter(|x| *x > 0).shard(2, |p| p.map(|x| *x)).scan(0_u8, |_, x| *x).named("a").plan();
    let diff = before.diff(&after);
    let json = serde_json::to_value(&diff).unwrap();
    assert_eq!(json["stages"][2]["fate"]["changed"][0]["change"], "reads");
    assert_eq!(serde_json::from_value::<PlanDiff>(json).unwrap(), diff);
}
