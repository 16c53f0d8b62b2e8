//! `upgrade` with a text that writes other files than the present one.

use crate::scene::{Input, Scene, Seen};
use crate::upgrade_run::Shown;

const RUNS: [&str; 2] = ["", "--state state "];

fn text(sink: &str) -> String {
    format!("jsonl(\"log\", follow: true) | map({{n}}) | {sink}")
}

fn started(args: &str) -> Shown {
    let scene = Scene::new().file("log", "{\"n\":1}\n").file("p.mill", text("jsonl(\"n\")"));
    let shown = Shown::run(scene, &format!("{args}--accept-upgrades p.mill"));
    shown.shows("n", "{\"n\":1}\n");
    shown
}

#[track_caller]
fn refuses(seen: &Seen, code: i32, why: &str) {
    assert!(seen.code == Some(code) && seen.stderr.contains(why), "{:?}: {}", seen.code, seen.stderr);
}

#[test]
fn a_text_whose_output_cannot_be_written_is_refused_and_the_run_goes_on() {
    let none = [
        ("jsonl(\"no/such\")", "no/such: No such file or directory"),
        ("jsonl(\".\")", "Is a directory"),
        ("jsonl(\"lost\")", "lost: No such file or directory"),
        ("jsonl(\"round\")", "round: Too many levels of symbolic links"),
        #[cfg(feature = "sqlite")]
        ("sqlite(\"other\", table: \"t\")", "other: it is not a SQLite database"),
    ];
    let kept = [("jsonl(\"/dev/full\")", "/dev/full: only a regular file can say what it holds after a crash")];
    for args in RUNS {
        let shown = started(args);
        std::fs::write(shown.scene.path("other"), "no database, but a text of some length\n".repeat(100))
            .expect("a file");
        for (link, target) in [("lost", "no/such"), ("round", "round")] {
            std::os::unix::fs::symlink(target, shown.scene.path(link)).expect("a link");
        }
        for (sink, why) in none.iter().chain(kept.iter().filter(|_| !args.is_empty())) {
            for check in ["--check", ""] {
                let seen = shown.upgrade(&text(sink), check);
                // That needs the file to be opened, which a check of a run without a state does not do.
                if !(seen.code == Some(0) && check == "--check" && args.is_empty()) {
                    assert!(
                        seen.code.is_some_and(|code| code > 0) && seen.stderr.contains(why),
                        "{args}{sink}: {seen:?}"
                    );
                }
            }
        }
        shown.append("log", "{\"n\":2}\n");
        shown.shows("n", "{\"n\":1}\n{\"n\":2}\n");
        assert_eq!(shown.end().1, Some(143), "{args}");
    }
}

/// It would be emptied.
#[test]
fn a_file_that_an_earlier_text_wrote_is_refused_under_another_name() {
    for args in RUNS {
        let shown = started(args);
        let seen = shown.upgrade(&text("jsonl(\"m\")"), "");
        assert_eq!(seen.code, Some(0), "{args}: {}", seen.stderr);
        shown.append("log", "{\"n\":2}\n");
        shown.shows("m", "{\"n\":2}\n");
        for check in ["--check", ""] {
            let why = "./n is the file n, which the run has written: name it n in the new text, too";
            refuses(&shown.upgrade(&text("jsonl(\"./n\")"), check), 2, why);
        }
        assert_eq!(shown.text_of("n"), "{\"n\":1}\n");
        let seen = shown.upgrade(&text("jsonl(\"n\")"), "");
        assert_eq!(seen.code, Some(0), "{args}: {}", seen.stderr);
        shown.append("log", "{\"n\":3}\n");
        shown.shows("n", "{\"n\":1}\n{\"n\":3}\n");
        assert_eq!(shown.end().1, Some(143), "{args}");
    }
}

#[test]
fn a_text_that_writes_the_file_of_a_report_is_refused() {
    for args in RUNS {
        let shown = started(&format!("{args}--stats report "));
        let why = "--stats: report is the file of a sink: each output needs its own";
        refuses(&shown.upgrade(&text("jsonl(\"report\")"), ""), 2, why);
        assert_eq!(shown.end().1, Some(143), "{args}");
    }
}

/// It is read in a thread of the run.
#[test]
fn a_text_that_is_too_deep_is_refused_and_the_run_goes_on() {
    for args in RUNS {
        let shown = started(args);
        for (before, behind) in [("{a:", "}"), (".|", ""), ("[", "]"), ("(try ", ")")] {
            for n in [800, 60_000 / (before.len() + behind.len())] {
                let deep = format!("{}.id{}", before.repeat(n), behind.repeat(n));
                let text = format!("jsonl(\"log\", follow: true) | map({deep}) | jsonl(\"n\")");
                for check in ["--check", ""] {
                    refuses(&shown.upgrade(&text, check), 2, "this is more than 200 levels deep");
                }
            }
        }
        shown.append("log", "{\"n\":2}\n");
        shown.shows("n", "{\"n\":1}\n{\"n\":2}\n");
        let (scene, code, said) = shown.end();
        assert_eq!((code, said.matches(": version ").count()), (Some(143), 0), "{args}: {said}");
        refuses(&scene.millstream("check p.mill", Input::Nothing), 2, "this is more than 200 levels deep");
    }
}
