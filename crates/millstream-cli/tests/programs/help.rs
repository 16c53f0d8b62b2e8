//! The help of the command.

use crate::scene::{Input, Scene};

/// Every subcommand.
pub(crate) fn subcommands() -> Vec<String> {
    let help = Scene::new().millstream("--help", Input::Nothing).text();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Further lines of an entry are indented more.
    let begun = listed.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names = begun.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// `-h` has only a command's own flags, `--help` has all.
#[test]
fn short_help_leaves_out_how_pipelines_are_run() {
    for command in ["wc", "uppercase", "spaces", "pipe", "copying"] {
        let help = |flag: &str| Scene::new().millstream(&format!("{command} {flag}"), Input::Nothing).text();
        let (short, long) = (help("-h"), help("--help"));
        assert!(short.lines().next() == long.lines().next() && short.contains("\n\nUsage: "), "{command}: {short}");
        for flag in ["--deploy", "--workers", "--ring", "--batch", "--wait", "--stats", "--hash", "--color"] {
            assert!(!short.contains(&format!("{flag} ")), "{command} -h has {flag}: {short}");
            assert!(long.contains(&format!("{flag} ")) || long.contains(&format!("{flag}\n")), "{command}: {long}");
        }
        assert!(short.contains("see more with '--help'"), "{short}");
        assert!(short.lines().count() < 40, "{command}: {short}");
    }
}

/// They are refused with the reason.
#[test]
fn flags_that_a_command_always_refuses_are_not_offered() {
    let scene = Scene::new();
    let refuses = |command: &str, flags: &[&str], typed: &str, why: &str| {
        let help = scene.millstream(&format!("{command} --help"), Input::Nothing).text();
        assert!(help.contains("--stats"), "{command}: {help}");
        for flag in flags {
            assert!(!help.contains(flag), "{command} --help has {flag}: {help}");
        }
        let seen = scene.millstream(&format!("{command} {typed}"), Input::Nothing);
        assert!(seen.stderr.starts_with(&format!("millstream {command}: {why}")), "{command}: {}", seen.stderr);
        assert_eq!(seen.code, Some(2), "{command}");
    };
    let state = ["--state", "--take-over", "--snapshot", "--fsync", "--skip-corrupt"];
    let jq = cfg!(feature = "jq").then_some(("jq", "."));
    for (command, args) in
        [("sleep", ""), ("panic", "--at 1"), ("idle", ""), ("copying", ""), ("pipe", "cat")].into_iter().chain(jq)
    {
        let typed = format!("--state kept {args}");
        refuses(command, &state, &typed, &format!("--state: `{command}` keeps no state; `run`, "));
    }
    if cfg!(feature = "serve") {
        refuses("serve", &["--hash", "--deploy <"], "--hash", "--hash: requests come in a different order");
        refuses("serve", &["--hash", "--deploy <"], "--deploy inline", "a service runs on rings");
    }
}

#[test]
fn every_command_has_examples() {
    let commands = subcommands();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        let long = Scene::new().millstream(&format!("{command} --help"), Input::Nothing).text();
        let (_, examples) = long.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{command}: {long}"));
        assert!(examples.contains(&format!("millstream {command}")), "{command}: {examples}");
    }
}

/// `-h` has a command's summary, `--help` has the details as well.
#[test]
fn long_help_has_the_details() {
    for (command, short, more) in [
        ("wc", "Count lines", "those of UTF-8"),
        ("pipe", "Send standard input", "waits in a temporary file"),
        ("evolve", "Track something", "even if some of them fail"),
        ("evolve-worker", "Join a population", "when the master is gone"),
        ("verify", "Run one input", "exits with 4"),
    ] {
        let help = |flag: &str| Scene::new().millstream(&format!("{command} {flag}"), Input::Nothing).text();
        assert!(help("-h").starts_with(short) && help("--help").starts_with(short), "{command}");
        let about = |help: String| help.split("Usage:").next().expect("a part").replace('\n', " ");
        assert!(!about(help("-h")).contains(more), "{command}");
        assert!(about(help("--help")).contains(more), "{command}: {}", about(help("--help")));
    }
}

/// Lines are broken between words.
#[test]
fn help_is_as_wide_as_the_terminal() {
    for (columns, widest) in [("60", 60), ("300", 100)] {
        let scene = Scene::new();
        let mut command = scene.command("millstream", "wc --help");
        command.env("COLUMNS", columns);
        let help = scene.run(command, Input::Nothing).text();
        let (flags, _) = help.split_once("\nExamples:\n").expect("examples");
        assert!(flags.lines().all(|line| line.chars().count() <= widest), "{flags}");
        assert!(flags.lines().any(|line| line.chars().count() > widest - 20), "{flags}");
    }
}

#[test]
fn colours_follow_the_flag_and_the_environment() {
    for args in ["wc --nosuch", "wc --help"] {
        for (more, variable, coloured) in [
            ("--color always", "", true),
            ("--color=always", "NO_COLOR", true),
            ("--color auto", "", false),
            ("", "", false),
            ("--color never", "CLICOLOR_FORCE", false),
        ] {
            let scene = Scene::new();
            let mut command = scene.command("millstream", &format!("{more} {args}"));
            command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
            if !variable.is_empty() {
                command.env(variable, "1");
            }
            let seen = scene.run(command, Input::Nothing);
            let said = seen.text() + &seen.stderr;
            assert_eq!(said.contains('\u{1b}'), coloured, "{more} {args}, {variable}: {said}");
            assert!(said.contains("millstream wc"), "{said}");
        }
    }
}

/// An alias may therefore have flags.
#[test]
fn the_last_of_a_flag_counts() {
    let scene = Scene::new().file("text", "a b\n");
    for args in [
        "wc --quiet --quiet text",
        "wc --ring 1 --ring 2 text",
        "wc --total=only --total never text",
        "wc -l -lwc text",
    ] {
        let seen = scene.millstream(args, Input::Nothing);
        assert_eq!((seen.text().as_str(), seen.stderr.as_str(), seen.code), ("1 2 4 text\n", "", Some(0)), "{args}");
    }
    let seen = scene.millstream("wc --ring 1 --ring 3 text", Input::Nothing);
    assert_eq!(seen.code, Some(2));
}
