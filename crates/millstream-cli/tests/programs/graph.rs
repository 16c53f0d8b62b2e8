use crate::scene::{Input, Scene};

fn graph(args: &str) -> String {
    let seen = Scene::new().millstream(&format!("graph {args}"), Input::Nothing);
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
    seen.text()
}

#[test]
fn every_program_is_drawn_in_every_format() {
    for program in ["wc", "uppercase", "spaces", "sleep", "panic", "idle", "copying", "pipe", "hidden-clock"] {
        let svg = graph(program);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(graph(&format!("{program} --format dot --shards 3")).starts_with("digraph pipeline {"));
        let json: serde_json::Value = serde_json::from_str(&graph(&format!("{program} --format json"))).expect("JSON");
        let nodes = json["graph"]["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), json["layout"]["spots"].as_array().unwrap().len());
        assert!(
            nodes.iter().all(|node| svg.contains(&format!("<title>{}: ", node["name"].as_str().unwrap()))),
            "{svg}"
        );
    }
    assert!(graph("wc --format dot --ring 64").contains("64 x "));
}
