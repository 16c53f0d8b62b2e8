//! Runs whose state is on a disk that gets full: a small one in memory, which the test mounts for its processes alone.

use crate::scene::{Input, Scene, Seen};
use millstream_testkit::programs::skipped;
use std::fs;

/// Runs a script in which `disk` is a disk of this size, and `mounted SIZE` gives it another one. None if this user may
/// not mount a disk: then the test did not run.
fn with_disk(name: &str, scene: &Scene, size: &str, script: &str) -> Option<Seen> {
    let begin = format!(
        "mkdir -p disk && mount -t tmpfs -o size={size} tmpfs disk || exit 99\n\
         mounted() {{ mount -o remount,size=$1 disk || exit 99; }}\n\
         M={}\n",
        env!("CARGO_BIN_EXE_millstream")
    );
    fs::write(scene.path("script"), begin + script).expect("a script");
    let seen = scene.run(scene.command("unshare", "-Urm sh script"), Input::Nothing);
    if seen.code == Some(99) || seen.stderr.starts_with("unshare: ") {
        skipped(name, &format!("a disk in memory cannot be mounted: {}", seen.stderr));
        return None;
    }
    assert_eq!(seen.code, Some(0), "{size}: {}", seen.stderr);
    Some(seen)
}

fn whole(scene: &Scene, size: &str) {
    let (out, expected) = (fs::read(scene.path("out")), fs::read(scene.path("expected")));
    assert!(out.expect("an output") == expected.expect("an output"), "a disk of {size}: other bytes");
}

#[test]
fn a_run_whose_disk_gets_full_keeps_its_older_snapshots_and_goes_on_when_there_is_room() {
    let text: String = (0..200_000).map(|n| format!("{n}\n")).collect();
    let scene = Scene::new().file("text", text);
    let expected = scene.millstream("spaces text", Input::Nothing);
    fs::write(scene.path("expected"), expected.stdout).expect("an output");
    let (mut refused, mut without) = (0, 0);
    for size in ["4k", "8k", "12k", "16k", "20k", "24k", "64k"] {
        fs::write(scene.path("out"), "").expect("an output");
        let script = "run() { $M spaces --state disk/state --snapshot-every 1 text >> out; }\n\
                      run; echo $?; cp out then; mounted 4m; run || exit 1; cmp out expected || exit 1\n\
                      $M snapshots disk/state --verify || exit 1";
        let name = "a_run_whose_disk_gets_full_keeps_its_older_snapshots_and_goes_on_when_there_is_room";
        let Some(seen) = with_disk(name, &scene, size, script) else { return };
        let (text, full) = (seen.text(), seen.stderr.contains("No space left on device"));
        if text.starts_with("1\n") {
            // It could not even begin.
            assert!(full && fs::read(scene.path("then")).is_ok_and(|then| then.is_empty()), "{size}: {}", seen.stderr);
            refused += 1;
        } else {
            assert!(text.starts_with("0\n"), "{size}: {text} {}", seen.stderr);
            assert_eq!(seen.stderr.contains("could not be stored"), full, "{size}: {}", seen.stderr);
            without += i32::from(full);
        }
        assert!(text.lines().skip(1).all(|line| !line.contains("damaged")), "{size}: {text}");
        whole(&scene, size);
    }
    assert!(refused > 0 && without > 0, "{refused} refused, {without} without a snapshot");
}

#[cfg(feature = "run")]
#[test]
fn standard_input_waits_while_the_disk_of_its_journal_is_full() {
    let rows: String = (0..40_000).map(|n| format!("{{\"n\":{n},\"text\":\"0123456789 0123456789\"}}\n")).collect();
    for (program, expected) in [("run text", rows.clone()), ("uppercase", rows.to_ascii_uppercase())] {
        for killed in [false, true] {
            let scene = Scene::new().file("rows", &rows).file("expected", &expected);
            let script = format!(
                "echo 'jsonl(\"-\") | where(.n >= 0)' > text; touch said; mkfifo in; cat rows > in &\n\
                 $M {program} --state disk/state --snapshot-every 5 < in >> out 2> said & run=$!\n\
                 for i in $(seq 600); do grep -q 'waits for room' said && test -s out && break; sleep 0.1; done\n"
            );
            let then = match killed {
                false => "grep 'waits for room' said; mounted 64m; wait $run || exit 1".to_owned(),
                true => format!(
                    "grep 'waits for room' said; cp out then; kill -9 $run; wait $run; mounted 64m\n\
                     $M {program} --state disk/state < /dev/null >> out || exit 1"
                ),
            };
            let name = "standard_input_waits_while_the_disk_of_its_journal_is_full";
            let Some(seen) = with_disk(name, &scene, "256k", &format!("{script}{then}")) else { return };
            let said = seen.text();
            assert!(said.contains("No space left on device") && said.contains(": the input waits for room"), "{said}");
            if killed {
                let of = |name: &str| fs::read(scene.path(name)).expect("an output");
                let (then, out) = (of("then"), of("out"));
                assert!(!then.is_empty(), "{program} has no output");
                assert!(out.starts_with(&then) && expected.as_bytes().starts_with(&out), "{program}");
            } else {
                whole(&scene, "256k");
            }
        }
    }
}
