use crate::scene::{Input, Scene};

/// The output for this many ways and numbers.
fn expected(ways: u64, items: u64) -> String {
    let mixed = (0..items).map(|x| ways * x).map(|total| total ^ (total >> 7));
    format!("{}\n", mixed.sum::<u64>())
}

#[test]
fn all_halves_are_read_wherever_it_runs() {
    for ways in [2, 5, 10, 20] {
        for deploy in ["model", "inline", "queues", "rings"] {
            let args = format!("copying --fanout {ways} --items 3000 --deploy {deploy}");
            let seen = Scene::new().millstream(&args, Input::Nothing);
            assert_eq!((seen.text(), seen.stderr.as_str(), seen.code), (expected(ways, 3000), "", Some(0)), "{args}");
        }
    }
}

#[test]
fn other_fan_outs_are_refused() {
    let seen = Scene::new().millstream("copying --fanout 3", Input::Nothing);
    assert_eq!(seen.code, Some(2));
    assert!(seen.stderr.contains("2, 5, 10, 20"), "{}", seen.stderr);
}
