use crate::scene::{Input, Scene};
use std::thread;

#[test]
fn sleeping_stages_keep_the_order() {
    let ways = [
        "sleep",
        "sleep --sharded",
        "sleep --shards 5 --workers 2",
        "sleep --ring 1",
        "sleep --deploy model",
        "sleep --deploy inline",
        "sleep --deploy queues",
        "sleep --sharded --deploy queues --ring 1",
    ];
    // All at the same time, since they do nothing but sleep.
    thread::scope(|scope| {
        for args in ways {
            scope.spawn(move || {
                let seen = Scene::new().millstream(args, Input::Nothing);
                let result = (seen.text(), seen.stderr.as_str(), seen.code);
                assert_eq!(result, ("2\n6\n12\n20\n30\n".to_owned(), "", Some(0)), "{args}");
            });
        }
    });
}
