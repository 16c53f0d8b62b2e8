//! What `Plan::check_upgrade` says of two plans is what a run does.

use super::number;
use millstream_core::pipe::Id;
use millstream_core::{Arrow, AsyncExt, ClockExt, KeysExt, StreamsExt, Val, pipeline};
use millstream_exec::{BoxExt, BoxPipeline, FreePipe, JobExt, Rings, RunError, Runner, UpgradeError, source};

type Version = BoxPipeline<u64, u64, FreePipe>;

fn sum(sum: &mut u64, x: &u64) -> u64 {
    *sum += x;
    *sum
}

fn keys_in_keys(outer: usize, inner: usize) -> Version {
    let sums = move |p: Id<Val<u64>>| p.shard_by(|x| x % 2, inner, |p| p.scan(0, sum).named("sum")).named("inner");
    pipeline::<u64>().shard_by(|x| x % 3, outer, sums).named("keys").boxed_as()
}

fn versions() -> Vec<(&'static str, Version)> {
    let p = pipeline::<u64>;
    vec![
        ("map", p().map(|x| x + 1).boxed_as()),
        ("two maps", p().map(|x| x + 1).map(|x| x * 2).named("twice").boxed_as()),
        ("filter", p().filter(|x| x % 2 == 0).boxed_as()),
        ("blocking", p().map_blocking(|x| x + 1).boxed_as()),
        ("asynchronous", p().map_async(2, |x: &u64| std::future::ready(*x)).boxed_as()),
        ("shard", p().shard(2, |p| p.map(|x| x + 1)).boxed_as()),
        ("sum", p().scan(0, sum).named("sum").boxed_as()),
        ("sum without a name", p().scan(0, sum).boxed_as()),
        ("sum behind a map", p().map(|x| x + 1).scan(0, sum).named("sum").boxed_as()),
        ("sum in version 2", p().scan(0, sum).named("sum").state_version(2).boxed_as()),
        (
            "sum of another type",
            p().scan(0_u32, |n, x| {
                *n += *x as u32;
                u64::from(*n)
            })
            .named("sum")
            .boxed_as(),
        ),
        ("sum that is no state", p().map(|x| *x).named("sum").boxed_as()),
        ("fold", p().fold(0, |sum, x| *sum += x, |sum| sum).named("sum").boxed_as()),
        ("take", p().take(50).named("sum").boxed_as()),
        ("take and map", p().take(50).named("sum").map(|x| x + 1).named("behind").boxed_as()),
        ("take while", p().take_while(|x| *x < 50).named("sum").boxed_as()),
        ("skip", p().skip(5).named("sum").boxed_as()),
        ("of each key", p().shard_by(|x| x % 3, 1, |p| p.scan(0, sum).named("sum")).named("keys").boxed_as()),
        ("in two lanes", p().shard_by(|x| x % 3, 2, |p| p.scan(0, sum).named("sum")).named("keys").boxed_as()),
        ("keys alone", p().shard_by(|x| x % 3, 1, |p| p.map(|x| *x)).named("keys").boxed_as()),
        ("keys alone in two lanes", p().shard_by(|x| x % 3, 2, |p| p.map(|x| *x)).named("keys").boxed_as()),
        ("keys in keys", keys_in_keys(1, 1)),
        ("keys in keys in 2 x 3 lanes", keys_in_keys(2, 3)),
        ("keys in keys in 3 x 2 lanes", keys_in_keys(3, 2)),
        ("flat map", p().flat_map(|x: &u64| vec![*x; 2]).named("flat").boxed_as()),
        (
            "flat map of sums",
            p().flat_scan(0, |n, x: &u64| {
                *n += *x;
                vec![*n; 2]
            })
            .named("sum")
            .boxed_as(),
        ),
        ("compact", p().compact().named("flat").boxed_as()),
        ("nothing", p().boxed_as()),
    ]
}

#[test]
fn the_check_of_two_plans_is_what_a_run_does() {
    let (mut allowed, mut refused, mut wrong) = (0, 0, Vec::new());
    for (old_name, old) in versions() {
        for (new_name, new) in versions() {
            let check = old.plan().check_upgrade(&new.plan());
            let run = Rings::new().upgrade_at(number(5), new.clone()).collect(old.clone().from(source::ready(0..10)));
            let taken = match run {
                Ok(_) => true,
                Err(RunError::Upgrade(UpgradeError::Check(_))) => false,
                Err(error) => panic!("{old_name} to {new_name}: {error}"),
            };
            if check.is_allowed() != taken {
                wrong.push(format!("{old_name} to {new_name}: {run:?}\n{check}"));
            }
            *(if taken { &mut allowed } else { &mut refused }) += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(allowed > 60 && refused > 200, "{allowed} allowed, {refused} refused");
}
