//! A pipeline is a value. Alone in its test binary, since it counts the process's threads.

use millstream_core::{Arrow, AsyncExt, ClockExt, PartsExt, pipeline};

/// The number of the process's threads; `None` if the system does not report it.
fn threads() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}

#[test]
fn building_a_pipeline_runs_nothing_and_starts_no_thread() {
    let before = threads();
    let ran = |_: &u64| -> u64 { panic!("it ran") };
    let build = move || {
        pipeline::<u64>()
            .map(ran)
            .named("first")
            .fanout(
                |p| p.shard(4, move |p| p.map_blocking(ran).named("second")),
                |p| p.map_async(8, |_| async { panic!("it ran") }).named("third"),
            )
            .map(|(x, y): (&u64, &u64)| x + y)
            .named("fourth")
            .tee(|p| p.filter(|_| panic!("it ran")).named("fifth"))
            .compact()
            .named("sixth")
    };
    let (p, other) = (build(), build());
    // The plan has the stages in the order in which they were written. A deployment makes the rings, so they have no
    // slots yet.
    let plan = p.plan();
    let names: Vec<_> = plan.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["first", "second", "third", "fourth", "fifth", "sixth"]);
    assert_eq!((plan.rings.len(), plan.bytes()), (7, None));
    assert!(names.iter().all(|name| plan.to_string().contains(name)), "{plan}");
    assert_eq!(plan, other.plan());
    assert_eq!(threads(), before, "threads after building");
    drop(p);
    assert_eq!(threads(), before);
}
