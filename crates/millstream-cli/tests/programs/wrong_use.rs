use crate::scene::{Input, Scene};

#[test]
fn wrong_use_is_refused_with_a_reason() {
    let cases = [
        ("", "Usage"),
        ("nosuch", "nosuch"),
        ("wc --nosuch", "--nosuch"),
        ("wc --ring 3", "power of two"),
        ("wc --ring 0", "at least 1"),
        ("wc --ring x", "whole number"),
        ("wc --ring 2097152", "at most"),
        ("wc --workers 0", "at least 1"),
        ("wc --workers 1025", "at most"),
        ("wc --shards 1025", "at most"),
        ("uppercase --batch 0", "at least 1"),
        ("uppercase --shards 0", "at least 1"),
        ("uppercase --deploy nowhere", "nowhere"),
        ("wc --wait nosuch", "nosuch"),
        ("panic", "--at"),
        ("panic --at -1", "-1"),
        ("sleep --sharded --shards 3", "cannot be used with"),
        ("plan", "PROGRAM"),
        ("plan nosuch", "nosuch"),
    ];
    for (args, reason) in cases {
        let seen = Scene::new().millstream(args, Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)), "millstream {args}");
        assert!(seen.stderr.contains(reason), "millstream {args}: {}", seen.stderr);
    }
}

/// What does not fit into memory is refused before anything runs, with what would fit.
#[test]
fn rings_that_do_not_fit_are_refused() {
    let scene = Scene::new().file("text", "a b\n");
    for deploy in ["rings", "inline"] {
        let seen =
            scene.millstream(&format!("wc text --ring 64 --memory-limit 5000 --deploy {deploy}"), Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)));
        let expected = "millstream: rings of 64 slots take 5152 bytes together, and the options allow 5000 bytes: rings of \
                        at most 32 slots fit\n";
        assert_eq!(seen.stderr, expected);
    }
    let seen = scene.millstream("wc text --ring 64 --memory-limit 5152", Input::Nothing);
    assert_eq!((seen.text().as_str(), seen.code), ("1 2 4 text\n", Some(0)));
}

#[test]
fn help_and_version_are_results() {
    for args in ["--help", "--version", "help wc", "wc --help"] {
        let seen = Scene::new().millstream(args, Input::Nothing);
        assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)), "millstream {args}");
        assert!(seen.text().contains("millstream") || seen.text().contains("Usage"), "millstream {args}");
    }
}
