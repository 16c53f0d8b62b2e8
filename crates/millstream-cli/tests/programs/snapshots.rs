//! `snapshots`: what a state directory has, and its removal.

use crate::scene::{Input, Scene, Seen, prose};
use std::fs;

fn listed(scene: &Scene, args: &str) -> (Seen, Vec<u64>) {
    let seen = scene.millstream(&format!("snapshots state {args}"), Input::Nothing);
    let text = seen.text();
    let numbers = text.lines().skip(1).map(|line| line.split_whitespace().nth(1).expect("a number").parse());
    let numbers = numbers.map(|number| number.expect("a number")).collect();
    (seen, numbers)
}

#[test]
fn a_prune_leaves_the_newest_snapshots_and_the_run_goes_on_there() {
    let scene = Scene::new().file("text", prose(400_000));
    let count = || scene.millstream("wc --state state --snapshot-every 1 --snapshots 10 text", Input::Nothing);
    // A fast run may store one snapshot only, so there are several.
    for blocks in 1..5 {
        fs::write(scene.path("text"), prose(400_000 * blocks)).expect("a file");
        assert_eq!(count().code, Some(0));
    }
    let (seen, before) = listed(&scene, "");
    assert!(seen.code == Some(0) && before.len() > 3, "{before:?} {}", seen.stderr);
    let (seen, left) = listed(&scene, "--prune 2 --verify");
    assert_eq!((seen.code, &left[..]), (Some(0), &before[before.len() - 2..]), "{}", seen.stderr);
    assert!(seen.text().lines().skip(1).all(|line| line.ends_with(" whole")), "{}", seen.text());
    let removed = seen.stderr.lines().filter(|line| line.starts_with("millstream snapshots: removed snapshot "));
    assert_eq!(removed.count(), before.len() - 2, "{}", seen.stderr);
    assert_eq!(listed(&scene, "").1, left);
    fs::write(scene.path("text"), prose(2_000_000)).expect("a file");
    let went_on = count();
    let at = format!("goes on at number {}", left[1]);
    assert!(went_on.stderr.contains(&at), "{at}: {}", went_on.stderr);
    assert_eq!(went_on.stdout, scene.millstream("wc text", Input::Nothing).stdout);
}
