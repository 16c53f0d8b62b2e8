//! A pipeline that fails says where and why, in one line, and nothing else.

use crate::scene::{Input, Scene};

#[test]
fn a_panic_is_told_with_its_stage_and_number() {
    for at in [0, 1, 15, 16, 5_000] {
        for way in
            ["", "--deploy inline", "--workers 3", "--shards 3 --workers 2", "--ring 1", "--wait blocking --batch 1"]
        {
            let seen = Scene::new().millstream(&format!("panic --at {at} {way}"), Input::Nothing);
            assert_eq!(seen.stderr, format!("millstream: stage \"third\", number {at}: panicked: boom\n"), "{way}");
            assert_eq!((seen.text().as_str(), seen.code), ("", Some(3)), "{way}");
        }
    }
}

#[test]
fn the_model_tells_what_it_knows() {
    let seen = Scene::new().millstream("panic --at 1000 --deploy model", Input::Nothing);
    assert_eq!(seen.stderr, "millstream: model, which knows neither stage nor number: panicked: boom\n");
    assert_eq!((seen.text().as_str(), seen.code), ("", Some(3)));
}
