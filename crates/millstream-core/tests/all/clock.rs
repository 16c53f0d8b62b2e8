//! New clocks in the model, against lists written by hand.

use millstream_core::{Arrow, ClockExt, ModelExt, pipeline};

#[test]
fn outputs_are_numbered_from_0_and_the_new_end_is_empty() {
    let p = pipeline::<u64>().filter(|x| x % 2 == 1).flat_map(|x| vec![*x; *x as usize]).map(|x| x * 10);
    assert_eq!(p.model_slots([1, 2, 3]), [Some(10), Some(30), Some(30), Some(30), None]);
    assert_eq!(p.model_slots([2, 4]), [None]);
    assert_eq!(p.model_slots([]), [None]);
}

#[test]
fn the_value_of_end_is_a_value_like_any_other() {
    let p = pipeline::<u64>().fold(Vec::new(), |all, x| all.push(*x), |all| all);
    let sum = |sum: &mut u64, x: &u64| *sum += x;
    assert_eq!(p.flatten().fold(0, sum, |sum| sum).model_slots([5, 6]), [None, None, Some(11)]);
    let p = pipeline::<u64>().fold(0, sum, |sum| sum).compact();
    assert_eq!(p.model_slots([5, 6]), [Some(11), None]);
}

#[test]
fn a_pair_of_rings_is_compacted_to_a_ring_of_tuples() {
    let p = pipeline::<u64>().fanout(|p| p, |p| p.filter_map(|x| (x % 2 == 0).then_some(x + 1))).compact();
    assert_eq!(p.model_slots(1..=4), [Some((2, 3)), Some((4, 5)), None]);
}

#[test]
fn a_plan_has_the_clock_of_each_ring() {
    let p = pipeline::<u64>().map(|x| *x).flat_map(|x| 0..*x).filter(|x| *x > 1).compact();
    let plan = p.plan();
    assert_eq!(plan.rings.iter().map(|ring| ring.clock).collect::<Vec<_>>(), [0, 0, 1, 1, 2]);
    let shown = plan.to_string();
    assert!(shown.contains("r2 (dense, clock 1, slots of 8 bytes)"), "{shown}");
    assert!(shown.contains("r1 (dense, slots of 8 bytes)"), "{shown}");
}
