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
        ("wc --step-budget abc", "whole number"),
        ("pipe --patience x --shard line -- cat", "whole number"),
        ("wc --memory-limit 99999999999G", "is too large"),
        ("panic", "--at"),
        ("panic --at -1", "whole number"),
        ("wc --ring -1", "whole number"),
        ("wc --ring 99999999999999999999", "too large"),
        ("evolve --model linear --rounds x", "whole number"),
        ("evolve --model linear --rounds 1000000000000", "must be at most 1000000"),
        ("evolve --model linear --states 0", "at least 1"),
        ("serve --accounts 0", "at least 1"),
        ("evolve-worker --connect x --pin -1", "whole number"),
        ("pipe --accept 256 -- cat", "at most 255"),
        ("pipe -j 0 cat", "at least 1"),
        ("pipe -j 50%% cat", "whole number"),
        ("pipe", "COMMAND"),
        ("pipe --nosuch cat", "--nosuch"),
        ("pipe --shell cat cat", "cannot be used with"),
        ("pipe --timeout 1w cat", "must be a time"),
        ("pipe --timeout 0 cat", "more than 0"),
        ("pipe --block 1.5X cat", "number of bytes"),
        ("pipe --shard line --timeout 1 cat", "--timeout works only with"),
        ("pipe --shard line --retries 1 cat", "--retries works only with"),
        ("pipe --shard line --header 1 cat", "--header works only with"),
        ("pipe --shard line --joblog x cat", "--joblog works only with"),
        ("wc --color sometimes", "sometimes"),
        ("completions csh", "csh"),
        ("sleep --sharded --shards 3", "cannot be used with"),
        ("plan", "PROGRAM"),
        ("plan nosuch", "hidden-clock, FILE.mill]"),
    ];
    for (args, reason) in cases {
        let seen = Scene::new().millstream(args, Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)), "millstream {args}");
        assert!(seen.stderr.contains(reason), "millstream {args}: {}", seen.stderr);
    }
}

/// Rings that do not fit into memory are refused before anything runs, with a size that fits.
#[test]
fn rings_that_do_not_fit_are_refused() {
    let scene = Scene::new().file("text", "a b\n");
    for deploy in ["rings", "inline"] {
        let seen = scene
            .millstream(&format!("uppercase text --ring 64 --memory-limit 1000 --deploy {deploy}"), Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)));
        let expected = "millstream uppercase: rings of 64 slots take 1056 bytes together, \
                        and the options allow 1000 bytes: rings of at most 32 slots fit\n";
        assert_eq!(seen.stderr, expected);
    }
    for limit in ["1056", "2K"] {
        let seen = scene.millstream(&format!("uppercase text --ring 64 --memory-limit {limit}"), Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("A B\n", Some(0)));
    }
}

/// The model keeps everything, up to its limit.
#[test]
fn a_model_that_does_not_fit_fails() {
    let seen =
        Scene::new().millstream("panic --at 18446744073709551615 --deploy model --memory-limit 1M", Input::Nothing);
    let expected = "millstream: the model failed, which knows neither stage nor number: panicked: the model keeps all \
                    values in \
                    memory, and they take more than 1048576 bytes (--memory-limit)\n";
    assert_eq!((seen.stderr.as_str(), seen.code), (expected, Some(3)));
    // The bytes of the input count, though a slot is small.
    let text = "a line of text\n".repeat(10_000);
    let seen = Scene::new().millstream("wc --deploy model --memory-limit 100K", Input::Pipe(text.as_bytes(), 1000));
    assert_eq!((seen.text().as_str(), seen.code), ("", Some(3)), "{}", seen.stderr);
    let seen = Scene::new().millstream("wc --deploy model --memory-limit 1M", Input::Pipe(text.as_bytes(), 1000));
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
}

/// An alias with flags can therefore be overridden.
#[test]
fn of_a_flag_given_twice_the_last_counts() {
    let scene = Scene::new().file("text", "a b\n");
    let args =
        "wc --quiet --ring 8 --quiet --wait blocking --ring 16 --wait phased text --deploy inline --deploy model";
    let seen = scene.millstream(args, Input::Nothing);
    assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), ("1 2 4 text\n", "", Some(0)));
    let seen = scene.millstream("wc --ring 16 --ring 3 text", Input::Nothing);
    assert_eq!(seen.code, Some(2), "{}", seen.stderr);
}

#[test]
fn help_and_version_are_results() {
    for args in ["--help", "--version", "help wc", "wc --help"] {
        let seen = Scene::new().millstream(args, Input::Nothing);
        assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)), "millstream {args}");
        assert!(seen.text().contains("millstream") || seen.text().contains("Usage"), "millstream {args}");
    }
}

/// A program refuses wrong use in its own name, with its own usage.
#[test]
fn wrong_use_is_refused_in_one_style() {
    for (args, begin, usage) in [
        ("nosuch", "millstream: unrecognized subcommand 'nosuch'\n", "Usage: millstream [OPTIONS] <COMMAND>"),
        ("wc --nosuch", "millstream wc: unexpected argument '--nosuch' found\n", "Usage: millstream wc "),
        ("wc --ring 3", "millstream wc: invalid value '3' for '--ring <N>': must be a power of two\n", ""),
        ("wc --observe --deploy inline", "millstream wc: only runs on rings can be observed", "Usage: millstream wc "),
        (
            "pipe --patience 10 -- cat",
            "millstream pipe: --patience works only with `--shard line`\n",
            "Usage: millstream pipe ",
        ),
        ("verify sleep x", "millstream verify: this program reads no files", "Usage: millstream verify "),
    ] {
        let seen = Scene::new().millstream(args, Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.code), ("", Some(2)), "{args}");
        assert!(seen.stderr.starts_with(begin) && seen.stderr.contains(usage), "{args}: {}", seen.stderr);
    }
}

/// Help is a result: if it cannot be written, that is a failed output.
#[test]
fn help_that_cannot_be_written_is_a_failed_output() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        return millstream_testkit::programs::skipped("help_that_cannot_be_written_is_a_failed_output", "no /dev/full");
    };
    for args in ["--help", "wc --help", "--version"] {
        let mut command = Scene::new().command("millstream", args);
        let output = command.current_dir("/").stdout(full.try_clone().unwrap()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (&*stderr, output.status.code()),
            ("millstream: write error: No space left on device\n", Some(1)),
            "{args}"
        );
    }
}
