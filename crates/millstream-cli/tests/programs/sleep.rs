use crate::scene::{Input, Scene};

#[test]
fn what_is_slept_over_comes_out_in_order() {
    for args in [
        "sleep",
        "sleep --sharded",
        "sleep --shards 5 --workers 2",
        "sleep --ring 1",
        "sleep --deploy model",
        "sleep --deploy inline",
        "sleep --deploy queues",
        "sleep --sharded --deploy queues --ring 1",
    ] {
        let seen = Scene::new().millstream(args, Input::Nothing);
        assert_eq!(
            (seen.text().as_str(), seen.stderr.as_str(), seen.code),
            ("2\n6\n12\n20\n30\n", "", Some(0)),
            "{args}"
        );
    }
}
