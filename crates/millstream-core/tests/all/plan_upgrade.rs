//! The verdict on a run that goes on with another pipeline.

use millstream_core::plan::Verdict;
use millstream_core::{Arrow, ClockExt, FilterKernel, KernelsExt, KeysExt, PartsExt, Plan, StreamsExt, Val, pipeline};

fn said(old: &Plan, new: &Plan) -> String {
    old.check_upgrade(new).to_string()
}

macro_rules! sum {
    ($p:expr) => {
        $p.scan(0_u64, |n, x| *n + x).named("sum")
    };
}

#[test]
fn a_stage_without_a_state_comes_and_goes() {
    let old = sum!(pipeline::<u64>().map(|x| x + 1)).plan();
    let new = sum!(pipeline::<u64>().filter(|x| *x > 0)).plan();
    let text = "new      filter-1 (filter)\nkept     sum, with its state\ndropped  map-1 (map)\n\
                1 kept, 0 migrated, 1 new, 1 dropped, 0 refused\n";
    assert_eq!(said(&old, &new), text);
    assert!(Plan::default().check_upgrade(&Plan::default()).is_allowed());
}

/// A `take` has a clock of its own, and the stages after it read rings of two clocks.
#[test]
fn a_stage_without_a_state_after_the_end_of_a_stream_comes_and_goes() {
    let taken = || pipeline::<u64>().take(5).named("take");
    let (old, new) = (taken().map(|x| x + 1).plan(), taken().filter(|x| *x > 0).plan());
    let text = "kept     take, with its state\nnew      filter-1 (filter)\ndropped  map-1 (map)\n\
                1 kept, 0 migrated, 1 new, 1 dropped, 0 refused\n";
    assert_eq!(said(&old, &new), text);
    let starts = taken().flat_map(|x: &u64| vec![*x; 2]).plan();
    assert!(!starts.check_upgrade(&old).is_allowed(), "its numbers would be lost");
}

/// A kernel of a program that is a `take`.
struct First(usize);

impl FilterKernel for First {
    type In = Val<u64>;
    type State = usize;
    const NAME: &'static str = "first";
    const ENDS: bool = true;

    fn start(&self) -> usize {
        self.0
    }

    fn keeps(&self, left: &mut usize, _: &u64) -> bool {
        let wanted = *left > 0;
        *left -= usize::from(wanted);
        wanted
    }

    fn over(&self, left: &usize) -> bool {
        *left == 0
    }

    fn model(&self, values: Vec<&u64>) -> Vec<bool> {
        (0..values.len()).map(|n| n < self.0).collect()
    }

    fn model_over(&self, values: Vec<&u64>) -> Option<usize> {
        (values.len() >= self.0).then_some(self.0)
    }
}

/// It keeps the numbers of its input, as a `take` of the library does.
#[test]
fn a_kernel_that_ends_the_stream_becomes_a_take() {
    let own = pipeline::<u64>().filter_with(First(5)).named("limit").plan();
    let taken = pipeline::<u64>().take(5).named("limit").plan();
    let text = "kept     limit, with its state\n1 kept, 0 migrated, 0 new, 0 dropped, 0 refused\n";
    assert_eq!((said(&own, &taken), said(&taken, &own)), (text.to_owned(), text.to_owned()));
    assert!(own.stages[0].ends && serde_json::to_value(&own).unwrap()["stages"][0]["ends"] == true);
    let inside = pipeline::<u64>().tee(|p| p.filter_with(First(5))).plan();
    assert!(!inside.stages[0].ends && serde_json::to_value(&inside).unwrap()["stages"][0].get("ends").is_none());
}

/// A run finds a state by its stage's name alone.
#[test]
fn a_state_that_would_be_lost_is_refused() {
    let old = sum!(pipeline::<u64>()).plan();
    let renamed = pipeline::<u64>().scan(0_u64, |n, x| *n + x).named("total").plan();
    let text = "new      total (scan), with a state that begins fresh\n\
                refused  sum: it keeps a u64 version 1, and the new pipeline has no such stage to take it\n\
                0 kept, 0 migrated, 1 new, 0 dropped, 1 refused\n";
    assert_eq!(said(&old, &renamed), text);
    let stateless = pipeline::<u64>().map(|x| *x).named("sum").plan();
    let text = "refused  sum: it keeps a u64 version 1, and would keep nothing\n\
                0 kept, 0 migrated, 0 new, 0 dropped, 1 refused\n";
    assert_eq!(said(&old, &stateless), text);
}

#[test]
fn a_state_of_another_kind_is_refused() {
    let old = sum!(pipeline::<u64>()).plan();
    let later = sum!(pipeline::<u64>()).state_version(2).plan();
    let other = pipeline::<u64>().scan(0_u32, |n, x| u64::from(*n) + x).named("sum").plan();
    let keyed = |k| sum!(pipeline::<u64>().shard_by(|x| *x, k, |p| sum!(p)).named("keys").map(|x| *x)).plan();
    for (old, new, why) in [
        (&old, &later, "sum: its state is a u64 version 1, and would be u64 version 2"),
        (&old, &other, "sum: its state is a u64 version 1, and would be u32 version 1"),
    ] {
        let check = old.check_upgrade(new);
        assert!(!check.is_allowed() && check.to_string().contains(why), "{check}");
        assert!(check.refused().all(|stage| matches!(stage.verdict, Verdict::Refused { .. })));
    }
    assert!(keyed(1).check_upgrade(&keyed(2)).is_allowed(), "keys go to other lanes with their states");
}

#[test]
fn ends_of_another_size_are_refused() {
    let (old, new) = (pipeline::<u64>().map(|x| *x).plan(), pipeline::<u32>().map(|x| u64::from(*x)).plan());
    let text = "kept     map-1\nrefused  the ends: the source's values have 8 bytes, and the new pipeline takes values of 4\n\
                1 kept, 0 migrated, 0 new, 0 dropped, 1 refused\n";
    assert_eq!(said(&old, &new), text);
}

#[test]
fn a_check_is_written_and_read() {
    let check = sum!(pipeline::<u64>()).plan().check_upgrade(&pipeline::<u64>().map(|x| *x).plan());
    let json = serde_json::to_value(&check).unwrap();
    assert_eq!(json["stages"][0]["verdict"]["verdict"], "new");
    assert_eq!(json["stages"][1]["verdict"]["verdict"], "refused");
    assert_eq!(serde_json::from_value::<millstream_core::plan::UpgradeCheck>(json).unwrap(), check);
}
