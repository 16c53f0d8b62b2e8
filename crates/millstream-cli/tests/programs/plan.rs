use crate::scene::{Input, Scene};

fn plan(args: &str) -> String {
    let seen = Scene::new().millstream(&format!("plan {args}"), Input::Nothing);
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
    seen.text()
}

#[test]
fn every_stage_has_its_name() {
    let wc = plan("wc");
    for name in ["source", "lines", "words", "bytes", "counts", "sink"] {
        assert!(wc.lines().any(|line| line.starts_with(name)), "{name} in {wc}");
    }
    assert!(!wc.contains("warning"), "{wc}");
    assert!(plan("uppercase --shards 3").contains("uppercase x3"));
    assert!(plan("wc --shards 2").contains("parts x2"));
    assert!(plan("wc --ring 64").contains("64 slots"));
}

#[test]
fn json_is_the_same_plan() {
    let plan: serde_json::Value = serde_json::from_str(&plan("wc --json")).expect("JSON");
    let names: Vec<_> =
        plan["stages"].as_array().unwrap().iter().map(|stage| stage["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["lines", "words", "bytes", "counts"]);
    assert_eq!(plan["rings"].as_array().unwrap().len(), 5);
    assert_eq!(plan["warnings"].as_array().unwrap().len(), 0);
}
