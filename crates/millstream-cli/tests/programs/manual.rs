//! Completions for shells, and manual pages.

use crate::help::subcommands;
use crate::scene::{Input, Scene};
use millstream_testkit::programs::is_here;
use std::process::Command;

#[test]
fn completions_are_there_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let seen = Scene::new().millstream(&format!("completions {shell}"), Input::Nothing);
        assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)), "{shell}");
        for word in ["uppercase", "evolve-worker", "files0-from", "max-line-length"] {
            assert!(seen.text().contains(word), "{shell} does not know {word}");
        }
    }
    assert_eq!(Scene::new().millstream("completions", Input::Nothing).code, Some(2));
}

/// bash accepts the script, and completes words by it.
#[test]
fn bash_completes() {
    if !is_here("bash", "bash_completes") {
        return;
    }
    let script = Scene::new().millstream("completions bash", Input::Nothing).stdout;
    let scene = Scene::new().file("millstream.bash", script);
    let checked = scene.run(scene.command("bash", "-n millstream.bash"), Input::Nothing);
    assert_eq!((checked.stderr.as_str(), checked.code), ("", Some(0)));
    let complete = |words: &str| {
        let line = format!(
            "source millstream.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _millstream millstream \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut bash = scene.command("bash", "--norc -c");
        bash.arg(line);
        let seen = scene.run(bash, Input::Nothing);
        assert_eq!(seen.stderr, "", "{words}");
        seen.text()
    };
    assert_eq!(complete("millstream upper"), "uppercase\n");
    assert_eq!(complete("millstream wc --files"), "--files0-from\n");
    assert_eq!(complete("millstream wc --total onl"), "only\n");
    assert_eq!(complete("millstream wc --take"), "--take-over\n");
    assert_eq!(complete("millstream pipe --take"), "\n", "it is always refused");
    assert_eq!(complete("millstream pipe --keep"), "--keep-going\n", "what is hidden is not offered");
}

#[test]
fn manual_pages_can_be_read() {
    let page = Scene::new().millstream("man", Input::Nothing);
    assert_eq!((page.stderr.as_str(), page.code), ("", Some(0)));
    for part in [".TH", ".SH NAME", ".SH SYNOPSIS", ".SH SUBCOMMANDS"] {
        assert!(page.text().contains(part), "{part} in {}", page.text());
    }
    let scene = Scene::new();
    std::fs::create_dir(scene.path("man1")).expect("a directory");
    let written = scene.millstream("man man1", Input::Nothing);
    assert_eq!((written.text().as_str(), written.stderr.as_str(), written.code), ("", "", Some(0)));
    assert_eq!(std::fs::read(scene.path("man1/millstream.1")).expect("a page"), page.stdout);
    for command in subcommands() {
        assert!(scene.path(&format!("man1/millstream-{command}.1")).exists(), "{command}");
    }
    let has_state = |command: &str| {
        let page = std::fs::read_to_string(scene.path(&format!("man1/millstream-{command}.1"))).expect("a page");
        page.replace('\\', "").contains("--take-over")
    };
    assert!(has_state("wc") && !has_state("pipe"));
    let nowhere = scene.millstream("man nosuch", Input::Nothing);
    assert_eq!(
        (nowhere.stderr.as_str(), nowhere.code),
        ("millstream man: nosuch: No such file or directory\n", Some(1))
    );
    if is_here("groff", "manual_pages_can_be_read") {
        let mut groff = Command::new("groff");
        groff.args(["-man", "-Tascii", "-ww", "-P-cbou"]).arg(scene.path("man1/millstream-wc.1"));
        let seen = scene.run(groff, Input::Nothing);
        assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
        // groff fills lines with further spaces.
        let text = seen.text().split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["millstream-wc", "--max-line-length", "Count line feeds", "Slots of each ring", "find . -name"] {
            assert!(text.contains(part), "{part} in {}", seen.text());
        }
    }
}
