use crate::scene::{Input, Scene, Seen, prose};

/// The ways to run a pipeline that the flags offer, with a few sizes.
fn ways() -> Vec<String> {
    let mut ways: Vec<String> =
        ["--deploy model", "--deploy inline", "--deploy inline --ring 1 --batch 1", "--quiet"].map(Into::into).into();
    for wait in ["phased", "busy-spin", "yielding", "sleeping", "blocking"] {
        ways.push(format!("--quiet --wait {wait}"));
        ways.push(format!("--quiet --wait {wait} --workers 3 --shards 2"));
    }
    for shards in 1..=4 {
        ways.push(format!("--deploy model --shards {shards}"));
        ways.push(format!("--deploy inline --ring 2 --shards {shards}"));
        ways.push(format!("--deploy queues --shards {shards}"));
        ways.push(format!("--deploy queues --ring 1 --shards {shards}"));
        for workers in 1..=3 {
            for sizes in ["", "--ring 1", "--batch 1", "--ring 64 --batch 3"] {
                ways.push(format!("--deploy rings --workers {workers} --shards {shards} {sizes}"));
            }
        }
    }
    ways
}

#[track_caller]
fn check(scene: &Scene, program: &str) {
    let plain: Seen = scene.millstream(&format!("{program} --hash"), Input::Nothing);
    assert_eq!(plain.code, Some(0));
    let hash =
        plain.stderr.strip_prefix("hash ").and_then(|rest| rest.strip_suffix('\n')).expect("a line with the hash");
    let (hex, count) = hash.split_once(" count ").expect("a count after the hash");
    assert_eq!(hex.len(), 16);
    assert!(hex.chars().all(|c| c.is_ascii_hexdigit()));
    assert!(count.parse::<u64>().is_ok());
    for way in ways() {
        let seen = scene.millstream(&format!("{program} --hash {way}"), Input::Nothing);
        assert!(seen == plain, "{program} {way}: {} {:?}, not {}", seen.stderr, seen.code, plain.stderr);
    }
}

#[test]
fn wc_is_the_same_wherever_it_runs() {
    check(&Scene::new().file("text", prose(1_500_000)).file("short", "a b\n").file("empty", ""), "wc text short empty");
}

/// One fold for the chosen counts, or parts that the fold adds up.
#[test]
fn chosen_counts_are_the_same_wherever_they_are_made() {
    let scene = Scene::new().file("text", prose(1_000_000)).file("utf-8", "été\t言葉\r\n😀\n".repeat(20_000));
    check(&scene, "wc -lmL text utf-8");
}

#[test]
fn uppercase_is_the_same_wherever_it_runs() {
    check(
        &Scene::new().file("text", prose(1_500_000)).file("short", "a b\n").file("empty", ""),
        "uppercase text short empty",
    );
}

#[test]
fn the_hash_sees_the_output() {
    let scene = Scene::new().file("one", "one\n").file("two", "two\n");
    let hash = |args| scene.millstream(args, Input::Nothing).stderr;
    assert_ne!(hash("uppercase --hash one"), hash("uppercase --hash two"));
    assert_ne!(hash("uppercase --hash one two"), hash("uppercase --hash one"));
    assert_ne!(hash("wc --hash one"), hash("wc --hash one one"));
    assert!(hash("wc --hash one one").ends_with(" count 2\n"));
    assert!(hash("uppercase --hash").ends_with(" count 0\n"));
}

#[test]
fn the_hash_is_the_last_line() {
    let scene = Scene::new().file("one", "one\n");
    let seen = scene.millstream("wc --hash --stats - one nosuch", Input::Nothing);
    assert!(seen.stderr.lines().last().unwrap().starts_with("hash "));
    assert_eq!(seen.code, Some(1));
}
