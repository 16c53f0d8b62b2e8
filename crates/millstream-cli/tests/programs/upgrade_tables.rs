//! `upgrade ADDR FILE.mill` to a text with a table that an earlier text has written.

use crate::scene::Scene;
use crate::upgrade_run::Shown;

#[test]
fn a_table_that_comes_back_has_one_header() {
    let without = "let row = jsonl(\"log\", follow: true); row | jsonl(\"all\")";
    let with = |map: &str| format!("{without}; row | where(.n > 2) | map({map}) | csv(\"t.csv\")");
    let row = |n: u8| format!("{{\"n\":{n}}}\n");
    for state in ["", "--state state"] {
        let scene = Scene::new().file("log", row(3)).file("p.mill", with("{n}"));
        let shown = Shown::run(scene, &format!("{state} --accept-upgrades p.mill"));
        shown.shows("t.csv", "n\n3\n");
        let texts = [
            (without.to_owned(), [4, 5], "n\n3\n"),
            (with("{n}"), [6, 7], "n\n3\n6\n7\n"),
            (without.to_owned(), [8, 9], "n\n3\n6\n7\n"),
            // Rows of other columns are those of another table.
            (with("{m: .n}"), [8, 9], "n\n3\n6\n7\nm\n8\n9\n"),
        ];
        for (text, rows, table) in texts {
            let seen = shown.upgrade(&text, "");
            assert_eq!((&*seen.stderr, seen.code), ("", Some(0)), "{state}: {seen:?}");
            shown.append("log", &rows.map(row).concat());
            shown.shows("all", &shown.text_of("log"));
            shown.shows("t.csv", table);
        }
        assert_eq!(shown.end().1, Some(143), "{state}");
    }
}
