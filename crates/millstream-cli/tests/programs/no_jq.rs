//! `millstream jq` in a build without it.

use crate::scene::{Input, Scene};

#[test]
fn a_build_without_jq_says_how_to_get_it() {
    let scene = Scene::new();
    for args in [&["jq", ".", "file"][..], &["jq", "-c", "--arg", "x", "1", ".", "--workers", "2"], &["jq"]] {
        let mut command = scene.command("millstream", args[0]);
        command.args(&args[1..]);
        let seen = scene.run(command, Input::Nothing);
        assert!(seen.stderr.contains("cargo run --release -- jq"), "{}", seen.stderr);
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)));
    }
}
