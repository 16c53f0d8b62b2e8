//! Plans: names, rings and warnings.

use millstream_core::plan::Warning;
use millstream_core::wires::WireExt;
use millstream_core::{
    Arrow, AtEnd, Bound, FeedbackExt, FoldExt, KernelsExt, KeysExt, ModelExt, ModelSlots, PartsExt, Plan, Retry,
    RunOutcome, ScanKernel, SequenceNumber, Shape, Sink, StreamsExt, TryMapExt, Val, ViewExt, Window, WindowsExt,
    pipeline,
};

fn names(p: &impl Arrow) -> Vec<String> {
    p.plan().stages.into_iter().map(|stage| stage.name).collect()
}

#[test]
fn names_are_the_users_or_the_path() {
    let p = pipeline::<u64>()
        .map(|x| x + 1)
        .named("parse")
        .map(|x| x + 1)
        .fanout(|p| p.map(|x| *x).scan(0, |s, x| *s + x), |p| p.map(|x| *x))
        .named("stats")
        .map(|(x, _)| *x)
        .shard(2, |p| p.map(|x| *x));
    let expected = ["parse", "map-2", "stats.first.map-1", "stats.first.scan-1", "stats.second.map-1", "map-3"];
    assert_eq!(names(&p)[..6], expected);
    assert_eq!(names(&p)[6], "shard-1.map-1");
    let stages = p.plan().stages;
    let paths: Vec<_> = stages.iter().map(|stage| (&*stage.path, stage.named_by_user)).collect();
    assert_eq!(paths[..2], [("map-1", true), ("map-2", false)]);
    assert_eq!(paths[3], ("fanout-1.first.scan-1", false));
}

#[test]
fn naming_a_stage_changes_no_other_name() {
    let step = || pipeline::<u64>().map(|x| x + 1);
    let unnamed = names(&step().then(step()).then(step()));
    let named = names(&step().then(step().named("second")).then(step()));
    assert_eq!((unnamed[0].clone(), "second", unnamed[2].clone()), (named[0].clone(), &*named[1], named[2].clone()));
}

/// A name for a `shard_by` or a `feedback` is one for the stage that it adds itself, and not for those of its body.
#[test]
fn a_part_of_a_combinator_is_named_with_it() {
    let p = pipeline::<u64>().shard_by(|x| *x, 2, |p| p.scan(0, |n, x| *n + x)).named("accounts");
    let p = p.feedback(0, |p| p.map(|(x, s)| x + s).fork());
    let stages = p.plan().stages;
    let named: Vec<_> = stages.iter().map(|stage| (&*stage.name, stage.named_by_user)).collect();
    let expected = [
        ("accounts.key-1", true),
        ("accounts.scan-1", false),
        ("feedback-1.map-1", false),
        ("feedback-1.state-1", false),
    ];
    assert_eq!(named, expected);
}

#[test]
fn a_stage_in_nested_shards_has_the_product_of_tasklets() {
    let p = pipeline::<u64>().shard(2, |p| p.shard(3, |p| p.map(|x| *x))).map(|x| *x);
    let tasklets: Vec<_> = p.plan().stages.iter().map(|stage| stage.tasklets).collect();
    assert_eq!(tasklets, [6, 1]);
}

/// The table marks a stage that may wait, and its columns are as wide as their contents.
#[test]
fn stages_that_may_wait_are_marked() {
    let p = pipeline::<u64>().map(|x| *x).shard(2, |p| p.map_blocking(|x| *x).named("slow"));
    let p = p.try_map_retry(Retry::times(3), |x| Ok::<_, String>(*x));
    let blocking: Vec<_> = p.plan().stages.iter().map(|stage| stage.blocking).collect();
    assert_eq!((blocking, p.plan().tasklets()), (vec![false, true, true], (1, 3)));
    let table = p.plan().to_string();
    assert!(table.contains("slow x2") && table.contains("map_blocking (blocks)"), "{table}");
    let column = |line: usize, text: &str| table.lines().nth(line).and_then(|line| line.find(text));
    assert_eq!(column(0, "reads"), column(3, "r1  "), "{table}");
    assert_eq!(column(0, "writes"), column(4, "r3 (dense"), "{table}");
}

/// However long a cell is, the cells of a column begin below each other.
#[test]
fn every_column_is_as_wide_as_its_longest_cell() {
    let all = pipeline::<u64>().fanout5(|p| p, |p| p, |p| p, |p| p, |p| p);
    let p = all.map(|(a, b, c, d, e)| a + b + c + d + e).named("größte Summe");
    let p = p.shard_by_within(Bound::refuse(1_000_000_000), |x| x % 7, 3, |p| p.scan(0, |n, x| *n + x));
    let table = p.plan().with_capacity(64).to_string();
    assert!(table.contains("up to 1000000000 keys") && table.contains("r0 r0 r0 r0 r0"), "{table}");
    let cells = |line: &str| -> Vec<usize> {
        let mut before = (' ', ' ');
        let mut starts = Vec::new();
        for (column, c) in line.chars().enumerate() {
            if c != ' ' && before == (' ', ' ') {
                starts.push(column);
            }
            before = (before.1, c);
        }
        starts
    };
    let rows: Vec<_> = table.lines().take_while(|line| !line.starts_with("rings:")).map(cells).collect();
    assert_eq!((rows.len(), rows[0].len()), (6, 4), "{table}");
    assert!(rows.iter().all(|row| *row == rows[0]), "{table}");
}

#[test]
fn a_sum_of_bytes_saturates() {
    let p = pipeline::<u64>().map(|x| *x);
    assert_eq!(p.plan().with_capacity(usize::MAX / 8).bytes(), Some(usize::MAX));
}

#[test]
fn rings_know_their_bytes() {
    let p = pipeline::<u64>().filter(|x| *x > 3).map(|x| *x as u8);
    let plan = p.plan();
    let bytes: Vec<_> = plan.rings.iter().map(|ring| (ring.slot_bytes, ring.dense)).collect();
    assert_eq!(bytes, [(8, true), (1, true), (2, false)]);
    assert_eq!(plan.stages[1].reads, [0, 1]);
    assert_eq!(plan.bytes(), None);
    assert_eq!(plan.with_capacity(16).bytes(), Some(16 * 11));
}

#[test]
fn a_join_of_a_fold_and_its_input_has_a_warning() {
    let p = pipeline::<u64>().fanout(|p| p, |p| p.fold(0, |n, _| *n += 1, |n| n));
    assert_eq!(p.plan().warnings, [Warning::NeverJoins { at: "fanout-1".into() }]);
    let folds = pipeline::<u64>().fanout(|p| p.fold(0, |n, _| *n += 1, |n| n), |p| p.fold(0, |n, _| *n += 1, |n| n));
    assert_eq!(folds.plan().warnings, []);
}

/// A kernel of a program: the number of values, at END.
struct Ended;

impl ScanKernel for Ended {
    type In = Val<u64>;
    type Out = u64;
    type Density = AtEnd;
    type State = u64;
    const NAME: &'static str = "ended";

    fn start(&self) -> u64 {
        0
    }

    fn step(&self, count: &mut u64, _: SequenceNumber, value: Option<&u64>, end: bool) -> Option<u64> {
        *count += u64::from(value.is_some());
        end.then_some(*count)
    }

    fn model(&self, slots: ModelSlots<'_, Val<u64>>) -> Vec<Option<u64>> {
        let mut count = 0;
        slots.map(|value, end| {
            count += u64::from(value.is_some());
            end.then_some(count)
        })
    }
}

#[test]
fn a_kernel_whose_output_is_at_end_is_as_a_fold_in_a_join() {
    let both = pipeline::<u64>().fanout(|p| p.scan_with(Ended), |p| p.count());
    assert_eq!((both.plan().warnings, both.model(0..3)), (vec![], vec![(3, 3)]));
    let never = pipeline::<u64>().fanout(|p| p, |p| p.scan_with(Ended));
    assert_eq!(never.plan().warnings, [Warning::NeverJoins { at: "fanout-1".into() }]);
}

/// The warnings of a fan-out of the input and this stage, each with `maybe`, and how they read.
macro_rules! beside_maybe {
    (|$p:ident: $item:ty| $stage:expr) => {{
        let p = pipeline::<$item>().fanout(|p| p.maybe(), |$p| $stage.maybe());
        let alone = pipeline::<$item>().fanout(|$p| $stage.maybe(), |$p| $stage.maybe());
        assert_eq!(alone.plan().warnings, [], "both halves are filled at END");
        let $p = pipeline::<$item>();
        assert_eq!($stage.maybe().plan().warnings, [], "there is no join");
        p.plan().warnings
    }};
}

#[test]
fn a_join_that_loses_what_a_stage_yields_at_end_has_a_warning() {
    let loses = |of: &str| [Warning::LosesEnd { at: "fanout-1".into(), of: format!("fanout-1.second.{of}-1") }];
    let tumbling = || Window::tumbling(5);
    let session = || Window::session(5);
    let fold = beside_maybe!(|p: u64| p.fold(0, |n, _| *n += 1, |n| n));
    assert_eq!(fold, loses("fold"));
    assert_eq!(
        fold[0].to_string(),
        "`fanout-1` loses what `fanout-1.second.fold-1` yields at END, where what it is read with is empty; `or` in a \
         `wires!` block keeps it"
    );
    assert_eq!(beside_maybe!(|p: u64| p.sum()), loses("sum"));
    assert_eq!(beside_maybe!(|p: u64| p.fold_by(|x| *x, 0, |n, _| *n += 1, |n| n)), loses("fold_by"));
    assert_eq!(beside_maybe!(|p: u64| p.chunks(2)), loses("chunks"));
    assert_eq!(beside_maybe!(|p: u64| p.scan_finish(0, |n, _| Some(*n), |n| Some(Some(n)))), loses("scan_finish"));
    assert_eq!(beside_maybe!(|p: u64| p.fold_windows(tumbling(), |t| *t, 0, |n, _| *n += 1)), loses("fold_windows"));
    assert_eq!(
        beside_maybe!(|p: u64| p.fold_windows_by(|x| *x, tumbling(), |t| *t, 0, |n, _| *n += 1)),
        loses("fold_windows_by")
    );
    assert_eq!(
        beside_maybe!(|p: u64| p.fold_sessions(session(), |t| *t, 0, |n, _| *n += 1, |n, m| *n += m)),
        loses("fold_sessions")
    );
    assert_eq!(
        beside_maybe!(|p: u64| p.fold_sessions_by(|x| *x, session(), |t| *t, 0, |n, _| *n += 1, |n, m| *n += m)),
        loses("fold_sessions_by")
    );
}

#[test]
fn a_stage_after_the_one_that_yields_at_end_is_named() {
    let p = pipeline::<u64>().fanout(|p| p, |p| p.chunks(2).filter(|chunk| chunk.len() == 1).map(Vec::len).named("n"));
    assert_eq!(p.plan().warnings, [Warning::LosesEnd { at: "fanout-1".into(), of: "n".into() }]);
    let inner = pipeline::<u64>().fanout(|p| p, |p| p.fanout(|p| p, |p| p.chunks(2)));
    let at = || "fanout-1.second.fanout-1".to_owned();
    let of = format!("{}.second.chunks-1", at());
    assert_eq!(inner.plan().warnings, [Warning::LosesEnd { at: at(), of }], "the outer join has nothing to lose");
}

#[test]
fn a_join_that_has_pairs_only_at_end_has_a_warning_if_a_half_yields_more() {
    let p = pipeline::<u64>().fanout(|p| p.chunks(2), |p| p.count());
    let of = "fanout-1.first.chunks-1".to_owned();
    let warnings = p.plan().warnings;
    assert_eq!(warnings, [Warning::LosesNumbers { at: "fanout-1".into(), of }]);
    assert_eq!(
        warnings[0].to_string(),
        "`fanout-1` loses what `fanout-1.first.chunks-1` yields before END, where what it is read with is empty; \
         `or` in a `wires!` block keeps it"
    );
    assert_eq!(p.model(0..5), [(vec![4], 5)], "the chunks of two are lost");
    let three = pipeline::<u64>().fanout3(|p| p.sum(), |p| p.count(), |p| p.max());
    assert_eq!(three.plan().warnings, []);
    let block = millstream::wires!(|x: Val<u64>| {
        let chunk = x.chunks(2);
        let count = x.count();
        |chunk, count| (chunk.clone(), *count)
    });
    assert!(matches!(&block.plan().warnings[..], [Warning::LosesNumbers { .. }]), "{:?}", block.plan().warnings);
}

#[test]
fn what_or_outputs_where_a_join_is_empty_is_not_lost() {
    let of_chunks = millstream::wires!(|x: Val<u64>| {
        let even = x.filter(|x| x % 2 == 0);
        let chunk = x.chunks(2).map(|chunk| chunk[0]);
        (even, chunk).map(|(even, chunk): (&u64, &u64)| even * 100 + chunk).or(even).or(chunk)
    });
    assert_eq!(of_chunks.model([1, 2, 3, 5, 7]), [201, 3, 7]);
    assert_eq!(of_chunks.plan().warnings, []);
    let of_even = millstream::wires!(|x: Val<u64>| {
        let even = x.filter(|x| x % 2 == 0);
        let chunk = x.chunks(2).map(|chunk| chunk[0]);
        (even, chunk).map(|(even, chunk): (&u64, &u64)| even * 100 + chunk).or(even)
    });
    assert_eq!(of_even.model([1, 2, 3, 5, 7]), [201]);
    let warnings = of_even.plan().warnings;
    assert!(matches!(&warnings[..], [Warning::LosesEnd { of, .. }] if of == "chunk"), "{warnings:?}");
}

#[test]
fn a_choice_that_loses_what_a_wire_has_at_end_has_a_warning() {
    let chosen = millstream::wires!(|x: Val<u64>| {
        let total = x.sum();
        if |x| x % 2 == 0 { |total| *total } else { |x| *x }
    });
    assert_eq!(chosen.model([1, 2, 3]), [1, 3]);
    let loses = |at: &str, of: &str| [Warning::LosesEnd { at: at.into(), of: of.into() }];
    assert_eq!(chosen.plan().warnings, loses("if-1", "total"));
    let in_a_lane_of_a_lane = millstream::wires!(|x: Val<u64>| {
        let pair = x.chunks(2).map(Vec::len);
        match x {
            1 => |x| *x as usize,
            _ => {
                if |x| *x > 2 {
                    |pair| *pair
                } else {
                    |x| *x as usize
                }
            }
        }
    });
    assert_eq!(in_a_lane_of_a_lane.model([1, 2, 3, 4, 5]), [1, 2, 2]);
    let warnings = in_a_lane_of_a_lane.plan().warnings;
    assert!(matches!(&warnings[..], [Warning::LosesEnd { of, .. }] if of == "pair"), "{warnings:?}");
    let none = millstream::wires!(|x: Val<u64>| {
        let before = x.windows(2).map(Vec::len);
        if |x| x % 2 == 0 { |before| *before } else { |x| 0 }
    });
    assert_eq!(none.plan().warnings, []);
}

#[test]
fn what_has_nothing_at_end_has_no_warning() {
    let p =
        pipeline::<u64>().fanout3(|p| p.windows(2).maybe(), |p| p.filter(|x| *x > 2).maybe(), |p| p.dedup().maybe());
    assert_eq!(p.plan().warnings, []);
    let ends = pipeline::<u64>().fanout(|p| p.chunks(2).maybe(), |p| p.fold(0, |n, _| *n += 1, |n| n).maybe());
    assert_eq!(ends.plan().warnings, []);
    assert_eq!(ends.model_slots(0..3).last(), Some(&Some((Some(vec![2]), Some(3)))));
}

#[test]
fn names_set_twice_or_on_nothing_have_a_warning() {
    let p = pipeline::<u64>().map(|x| *x).named("a").map(|x| *x).named("a");
    assert_eq!(names(&p), ["a", "a-2"]);
    assert_eq!(p.plan().warnings, [Warning::SameName { name: "a".into() }]);
    let p = p.map(|x| *x).named("a-2").map(|x| *x).named("a");
    assert_eq!(names(&p), ["a", "a-2", "a-2-2", "a-3"]);
    let p = pipeline::<u64>().map(|x| *x).named("a-2").map(|x| *x).named("a").map(|x| *x).named("a");
    assert_eq!(names(&p), ["a-2", "a", "a-3"]);
    let nothing = pipeline::<u64>().named("b");
    assert_eq!(nothing.plan().warnings, [Warning::NamesNothing { name: "b".into() }]);
    let empty = pipeline::<u64>().map(|x| *x).named("").scan(0, |sum, x| *sum += x).named("");
    assert_eq!(names(&empty), ["map-1", "scan-1"]);
    assert_eq!(empty.plan().check_durable().unwrap_err().unnamed.len(), 1);
}

/// A sink has its own name.
#[test]
fn a_name_behind_a_named_sink_is_that_of_the_stage_before_it() {
    let p = pipeline::<u64>().map(|x| *x).tee_to("log", Nothing).named("a").map(|x| *x).named("log");
    let plan = p.plan();
    assert_eq!((names(&p), &*plan.side_sinks[0].name), (vec!["a".to_owned(), "log-2".to_owned()], "log"));
    assert_eq!(plan.warnings, [Warning::SameName { name: "log".into() }]);
    let nothing = pipeline::<u64>().tee_to("log", Nothing).named("b");
    assert_eq!(nothing.plan().warnings, [Warning::NamesNothing { name: "b".into() }]);
}

/// A sink that takes everything.
#[derive(Clone)]
struct Nothing;

impl<A: Shape> Sink<A> for Nothing {
    type Output = ();
    type Error = std::convert::Infallible;

    fn put(&mut self, _: SequenceNumber, _: A::Ref<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[test]
fn a_plan_without_rings_can_be_shown() {
    assert!(Plan::default().to_string().contains("r0"));
}
