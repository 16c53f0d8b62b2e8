//! `upgrade` with a text that writes other files than the present one.

use crate::scene::Scene;
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

#[test]
fn a_text_whose_output_cannot_be_written_is_refused_and_the_run_goes_on() {
    let none = [
        ("jsonl(\"no/such\")", "no/such: No such file or directory"),
        ("jsonl(\".\")", "Is a directory"),
        #[cfg(feature = "sqlite")]
        ("sqlite(\"other\", table: \"t\")", "other: it is not a SQLite database"),
    ];
    let kept = [("jsonl(\"/dev/full\")", "/dev/full: only a regular file can say what it holds after a crash")];
    for args in RUNS {
        let shown = started(args);
        std::fs::write(shown.scene.path("other"), "no database, but a text of some length\n".repeat(100))
            .expect("a file");
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
