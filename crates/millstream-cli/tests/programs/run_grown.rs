//! Runs with `--state` whose input ends within a line, and has grown when they are started again.

use crate::run_changed::text_of;
use crate::scene::{Scene, Seen};
use std::fs::{self, File};
use std::process::Stdio;

/// The output of two runs, between which the rest of the file comes.
fn twice(args: &[&str], [before, after]: [&str; 2]) -> String {
    let scene = Scene::new();
    for text in [before.to_owned(), format!("{before}{after}")] {
        fs::write(scene.path("file"), text).expect("a file");
        let out = File::options().append(true).create(true).open(scene.path("out")).expect("a file");
        let mut command = scene.command("millstream", "");
        command.args(args).args(["--quiet", "--state", "state"]).stdin(Stdio::null()).stdout(out);
        let seen = Seen::of(command.stderr(Stdio::piped()).output().expect("it ends"));
        assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)), "{args:?}");
    }
    text_of(&scene, "out")
}

#[test]
fn a_line_that_was_not_complete_is_read_again_as_a_whole() {
    for every in ["1", "2", "3"] {
        let run = |text, file| twice(&["run", "-e", text, "--snapshot-every", every], file);
        assert_eq!(run("lines(\"file\")", ["a\nb", "c\nd\n"]), "a\nbc\nd\n", "{every}");
        assert_eq!(run("lines(\"file\")", ["b", "c\nd\n"]), "bc\nd\n", "{every}");
        assert_eq!(run("csv(\"file\") | map((keys))", ["a,b", ",c\n1,2,3\n"]), "[\"a\",\"b\",\"c\"]\n", "{every}");
        let spaces = twice(&["spaces", "file", "--snapshot-every", every], ["b", "c d\n"]);
        assert_eq!(spaces, "[spaces: 1]bc d\n", "{every}");
    }
}

/// Its line ends, and its quotes do not. Until then it is a dead letter.
#[test]
fn a_row_whose_quotes_were_open_is_read_again_as_a_whole() {
    for every in ["1", "2", "3"] {
        let args = ["run", "-e", "csv(\"file\", dead: \"bad\") | map(.b | length)", "--snapshot-every", every];
        let out = twice(&args, ["a,b\n1,\"u\nv\"\n2,\"x\n", "yz\"\n3,w\n"]);
        assert_eq!(out, "3\n4\n1\n", "{every}");
    }
}
