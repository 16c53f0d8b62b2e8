//! The thread that takes snapshots by time, and those that make room in journals.

use super::offers::{Offers, Order};
use super::unstored::Unstored;
use crate::room::{Room, Wake};
use millstream_exec::Snapshotter;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

/// The time between two attempts to make room, if one has failed.
const AGAIN: Duration = Duration::from_millis(100);

/// A thread that takes a snapshot at intervals, and for each journal without room. It ends when this is dropped.
pub(super) struct Timer {
    room: Arc<Room>,
    thread: Option<JoinHandle<()>>,
}

impl Timer {
    pub(super) fn start(
        period: Option<Duration>,
        snapshotter: Snapshotter,
        offers: Offers,
        room: Arc<Room>,
    ) -> io::Result<Self> {
        let asked = room.clone();
        let take = move || take_every(period, &snapshotter, &offers, &asked);
        let thread = Builder::new().name("snapshot timer".to_owned()).spawn(take)?;
        Ok(Timer { room, thread: Some(thread) })
    }
}

fn take_every(period: Option<Duration>, snapshotter: &Snapshotter, offers: &Offers, room: &Room) {
    let mut has_made_room = false;
    loop {
        match room.wait(period) {
            Wake::Rests => return,
            Wake::Due if !offers.stores.are_stored() => {}
            Wake::Due => {
                let Some(snapshot) = snapshotter.snapshot() else { return };
                // Counted there if it fails. The next period begins when it is stored.
                let _ = offers.store(snapshot);
            }
            Wake::Asked => {
                let Some(all) = make_room(snapshotter, offers, has_made_room) else { return };
                has_made_room = true;
                room.made(all);
                if !all {
                    sleep(AGAIN);
                }
            }
        }
    }
}

/// Makes all the room that there is. Returns whether that was possible; none if the run has ended.
fn make_room(snapshotter: &Snapshotter, offers: &Offers, again: bool) -> Option<bool> {
    // A stage that waits for room lets no snapshot pass.
    offers.tell(Order::MakeRoom);
    if offers.stores.wait_for_request() {
        if !again {
            return Some(true);
        }
        // Older snapshots are gone, and it was not enough. What the journal has since the newest one can go only with a
        // snapshot of this process: otherwise no start would ever find room for a request.
        offers.stores.begin_storing();
    }
    // The first is of all values so far. The second finds that the sink still holds what it claimed then.
    for _ in 0..2 {
        match offers.store(snapshotter.snapshot()?) {
            // There is no room to be made before the next value.
            Ok(_) | Err(Unstored::NotWhole(_)) => {}
            Err(Unstored::Failed(_)) => return Some(false),
        }
    }
    Some(true)
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.room.end();
        // The run is over: a snapshot that is waited for is answered.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
