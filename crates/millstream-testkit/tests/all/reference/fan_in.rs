//! The merged values of many producers, by counting and by looking at heads: nothing is sorted.

use millstream_testkit::random::Value;
use proptest::prelude::Rng;

/// Choices that take every list to its end, in some order.
pub(crate) fn some_choices(lists: &[Vec<Value>], mut rng: impl Rng) -> Vec<(u32, u64)> {
    let mut left: Vec<u64> = lists.iter().map(|list| list.len() as u64).collect();
    let mut choices = Vec::new();
    while left.iter().any(|left| *left > 0) {
        let p = rng.next_u64() as usize % left.len();
        let count = (1 + rng.next_u64() % 4).min(left[p]);
        left[p] -= count;
        choices.push((p as u32, count));
    }
    choices
}

/// Value n belongs to the producer of the run with n. Its index is the number of that producer's values before n.
pub(crate) fn as_chosen(lists: &[Vec<Value>], choices: &[(u32, u64)]) -> Vec<Value> {
    let owners: Vec<u32> = choices.iter().flat_map(|(p, count)| vec![*p; *count as usize]).collect();
    let before = |n: usize| owners[..n].iter().filter(|p| **p == owners[n]).count();
    (0..owners.len()).map(|n| lists[owners[n] as usize][before(n)].clone()).collect()
}

/// Round by round, one value of each producer that has any left.
pub(crate) fn in_turn(lists: &[Vec<Value>]) -> Vec<Value> {
    let rounds = lists.iter().map(Vec::len).max().unwrap_or(0);
    let mut all = Vec::new();
    for round in 0..rounds {
        all.extend(lists.iter().filter_map(|list| list.get(round).cloned()));
    }
    all
}

/// Repeatedly the least head; of equal ones the first.
pub(crate) fn by_time(lists: &[Vec<Value>], time: fn(&Value) -> u64) -> Vec<Value> {
    let (mut taken, mut all) = (vec![0; lists.len()], Vec::new());
    loop {
        let head = |p: &usize| lists[*p].get(taken[*p]).map(time);
        let Some(least) = (0..lists.len()).filter_map(|p| head(&p)).min() else { return all };
        let p = (0..lists.len()).find(|p| head(p) == Some(least)).expect("one list has it");
        all.push(lists[p][taken[p]].clone());
        taken[p] += 1;
    }
}
