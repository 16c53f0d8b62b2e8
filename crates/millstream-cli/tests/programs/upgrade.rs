//! `upgrade --check`.

use crate::scene::{Input, Scene};

fn plan(args: &str) -> String {
    Scene::new().millstream(&format!("plan {args} --json"), Input::Nothing).text()
}

fn scene() -> Scene {
    let scene = Scene::new().file("wc.json", plan("wc")).file("two.json", plan("wc --shards 2"));
    scene.file("up.json", plan("uppercase")).file("up2.json", plan("uppercase --shards 2 --ring 64"))
}

#[test]
fn a_change_that_fits_is_allowed() {
    for (args, input, text) in [
        ("up.json up2.json", Input::Nothing, "kept     uppercase\n1 kept, 0 migrated, 0 new, 0 dropped, 0 refused\n"),
        ("- up2.json", Input::File("up.json"), "kept     uppercase\n1 kept, 0 migrated, 0 new, 0 dropped, 0 refused\n"),
        (
            "wc.json two.json",
            Input::Nothing,
            "new      parts (map)\nkept     lines, with its state\nkept     words, with its state\nkept     bytes, with its state\n\
             kept     counts\n4 kept, 0 migrated, 1 new, 0 dropped, 0 refused\n",
        ),
    ] {
        let seen = scene().millstream(&format!("upgrade --check {args}"), input);
        assert_eq!((&*seen.text(), &*seen.stderr, seen.code), (text, "", Some(0)), "{args}");
    }
}

#[test]
fn a_change_that_loses_a_state_is_refused_with_4() {
    let seen = scene().millstream("upgrade --check wc.json up.json", Input::Nothing);
    assert_eq!((&*seen.stderr, seen.code), ("", Some(4)), "{}", seen.text());
    assert!(seen.text().contains("refused  words: it keeps a "), "{}", seen.text());
    let seen = scene().millstream("upgrade --json --check wc.json up.json", Input::Nothing);
    assert_eq!(seen.code, Some(4));
    let json: serde_json::Value = serde_json::from_str(&seen.text()).expect("JSON");
    let stages = json["stages"].as_array().expect("a list");
    let words = stages.iter().find(|stage| stage["name"] == "words").expect("the stage");
    assert_eq!(words["verdict"]["verdict"], "refused", "{json}");
}

#[test]
fn states_are_migrated_and_dropped_if_the_flags_say_so() {
    let drops = "upgrade --check wc.json up.json --drop lines --drop words --drop bytes";
    let seen = scene().millstream(drops, Input::Nothing);
    let text = "new      uppercase (map_text)\ndropped  lines (fold), with its state\ndropped  words (fold), with its state\n\
                dropped  bytes (fold), with its state\ndropped  counts (map)\n0 kept, 0 migrated, 1 new, 4 dropped, 0 refused\n";
    assert_eq!((&*seen.text(), &*seen.stderr, seen.code), (text, "", Some(0)));
    let seen = scene().millstream("upgrade --check wc.json up.json --drop line", Input::Nothing);
    let message = "millstream upgrade: neither plan has a stage \"line\"; \
                   the stages are bytes, counts, lines, uppercase, words\n";
    assert_eq!((&*seen.text(), &*seen.stderr, seen.code), ("", message, Some(2)));
    let old = plan("wc").replace("millstream_io::text::words::Words", "WordsV1");
    let scene = scene().file("old.json", old);
    let seen = scene.millstream("upgrade --check old.json wc.json", Input::Nothing);
    assert_eq!(seen.code, Some(4), "{}", seen.text());
    let seen = scene.millstream("upgrade --check old.json wc.json --migrate words", Input::Nothing);
    let migrated = "migrated words: WordsV1 version 1 -> millstream_io::text::words::Words version 1\n";
    assert!(seen.text().contains(migrated) && seen.code == Some(0), "{}", seen.text());
}

#[test]
fn a_missing_plan_and_a_missing_check_are_reported() {
    for (args, code, why) in [
        ("upgrade --check nosuch up.json", 1, "millstream upgrade: nosuch: No such file or directory\n"),
        ("upgrade --check - -", 2, "millstream upgrade: only one of the two plans can be standard input\n"),
        ("upgrade up.json up2.json", 2, "--check"),
        ("upgrade --check up.json", 2, "NEW.json"),
    ] {
        let seen = scene().millstream(args, Input::Nothing);
        assert_eq!((&*seen.text(), seen.code), ("", Some(code)), "{args}");
        assert!(seen.stderr.contains(why), "{args}: {}", seen.stderr);
    }
}

/// Plans of texts are judged as a run judges the texts: by their parameters, too.
#[cfg(feature = "run")]
#[test]
fn texts_are_judged_by_their_parameters() {
    let scene = Scene::new();
    let text = |by: &str| format!("let rows = jsonl(\"log\"); rows | count(by: {by}) | jsonl(\"n\")");
    let mut scene = scene.file("one.mill", text(".kind")).file("two.mill", text("{kind, user}"));
    for name in ["one", "two"] {
        let planned = scene.millstream(&format!("plan {name}.mill --json"), Input::Nothing);
        assert_eq!(planned.code, Some(0), "{}", planned.stderr);
        scene = scene.file(&format!("{name}.json"), planned.text());
    }
    let checked = |args: &str| scene.millstream(&format!("upgrade --check one.json {args}"), Input::Nothing);
    let same = checked("one.json");
    assert_eq!((&*same.stderr, same.code), ("", Some(0)), "{}", same.text());
    let seen = checked("two.json");
    let why = "refused  count: its parameter `by` was `.kind` and is now `{kind, user}`: `keep count` keeps its state \
               nevertheless\n";
    assert!(seen.text().contains(why) && seen.code == Some(4), "{}{}", seen.text(), seen.stderr);
    let kept = checked("two.json --keep count");
    assert!(kept.text().contains("kept     count, with its state\n") && kept.code == Some(0), "{}", kept.text());
    let lost = checked("two.json --drop count");
    assert!(lost.text().contains("dropped  count") && lost.code == Some(0), "{}{}", lost.text(), lost.stderr);
    let wrong = checked("two.json --migrate count");
    assert!(wrong.stderr.contains("a text has no migrations") && wrong.code == Some(2), "{}", wrong.stderr);
    // A plan without its text, as an earlier version wrote it.
    let mut old: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(scene.path("one.json")).expect("the plan")).expect("JSON");
    old.as_object_mut().expect("an object").remove("program").expect("the text");
    let scene = scene.file("old.json", old.to_string());
    let seen = scene.millstream("upgrade --check old.json two.json", Input::Nothing);
    assert!(seen.stderr.contains("the parameters of the stages are not judged") && seen.code == Some(0), "{seen:?}");
}
