//! Crashes at every operation, failed syncs and full disks, on the simulated disk.

use crate::directories::{save, whole};
use crate::simulated::{Faults, Simulated, World};
use millstream_state::{Retention, Saved, StateDir, StateError};

const PATH: &str = "/data/jobs/orders";

fn open(disk: &Simulated) -> Result<StateDir, StateError> {
    let dir = StateDir::open_on(disk.disk(), PATH, "orders")?;
    disk.note("epoch", dir.epoch());
    Ok(dir)
}

/// Two processes, one after the other: they save, remove, and save again.
fn two_processes(disk: &Simulated) {
    let dir = open(disk).unwrap();
    for at in [100, 200] {
        save(&dir, at);
        disk.note("saved", at);
    }
    drop(dir);
    let dir = open(disk).unwrap();
    dir.save(&Saved { at: 300, ..Saved::default() }).unwrap();
    disk.note("saved", 300);
    disk.note("may be removed", 100);
    dir.prune(Retention { count: Some(2), age: None, confirmed_from: Some(2) }).unwrap();
    save(&dir, 400);
    disk.note("saved", 400);
}

fn noted(world: &World, what: &str) -> Vec<u64> {
    world.notes.iter().filter(|(of, _)| *of == what).map(|(_, number)| *number).collect()
}

/// A process starts after a crash: it finds whole snapshots alone, and all whose `save` had returned; and it goes on.
fn starts_again(world: World) -> Simulated {
    let (after, removable) = (world.last.clone(), noted(&world, "may be removed"));
    let (saved, epochs) = (noted(&world, "saved"), noted(&world, "epoch"));
    let disk = Simulated::of(world);
    let dir = open(&disk).unwrap_or_else(|error| panic!("after {after}: {error}"));
    let found = whole(&dir);
    assert!(epochs.iter().all(|earlier| *earlier < dir.epoch()), "after {after}: epoch {}", dir.epoch());
    for at in saved.iter().filter(|at| !removable.contains(at)) {
        assert!(found.contains(at), "after {after}: {at} is lost, and there are {found:?}");
    }
    assert!(found.iter().all(|at| [100, 200, 300, 400].contains(at)), "{found:?}");
    assert!(found.is_sorted(), "{found:?}");
    save(&dir, 900);
    assert_eq!(whole(&dir), [&found[..], &[900]].concat());
    disk.note("saved", 900);
    disk
}

#[test]
fn rename_and_create_are_durable_with_their_directory_or_the_snapshot_is_not_there() {
    let disk = Simulated::recording();
    two_processes(&disk);
    let mut states = 0;
    for world in disk.history() {
        for crashed in world.crashes() {
            states += 1;
            starts_again(crashed);
        }
    }
    assert!(states > 500, "{states}");
}

#[test]
fn a_crash_right_after_a_start_loses_nothing_either() {
    let disk = Simulated::recording();
    two_processes(&disk);
    // Killed after each operation, so the page cache stays; started again; and then the machine crashes.
    for world in disk.history() {
        let disk = Simulated::of(world);
        let found = whole(&open(&disk).unwrap());
        for crashed in disk.world().crashes() {
            let again = Simulated::of(crashed);
            assert_eq!(whole(&open(&again).unwrap()), found, "after {}", disk.world().last);
        }
    }
}

#[test]
fn a_failed_sync_is_not_retried_and_what_it_was_for_is_not_there() {
    for (text, poisons) in [("sync /data/jobs/orders/snapshots", false), ("sync_dir /data/jobs/orders/snapshots", true)]
    {
        for failing in 0..3 {
            let disk = Simulated::recording();
            let dir = open(&disk).unwrap();
            disk.set_faults(Faults { fail: Some((text, failing)), forgets_names: true, ..Faults::default() });
            for at in [100, 200, 300, 400] {
                let saved = dir.save(&Saved { at, ..Saved::default() });
                match saved {
                    Ok(_) => disk.note("saved", at),
                    Err(error) => {
                        let said = error.to_string();
                        let poisoned = matches!(error, StateError::Poisoned { .. });
                        assert!(said.contains("cannot sync /data/jobs/orders/snapshots"), "{said}");
                        assert_eq!(poisoned, poisons && at > (failing as u64 + 1) * 100, "{said}");
                    }
                }
            }
            let expected = if poisons { failing } else { 3 };
            drop(dir);
            // A new process, and then a crash: what the new process saw is there.
            let found = whole(&open(&disk).unwrap());
            assert_eq!(found.len(), expected, "{text} {failing}: {found:?}");
            disk.world().crashes().into_iter().for_each(|crashed| drop(starts_again(crashed)));
            for crashed in disk.world().crashes() {
                assert_eq!(whole(&open(&Simulated::of(crashed)).unwrap()), found, "{text} {failing}");
            }
        }
    }
}

#[test]
fn a_full_disk_leaves_the_older_snapshots_and_takes_later_ones() {
    let disk = Simulated::recording();
    let dir = open(&disk).unwrap();
    save(&dir, 100);
    for more in (0..12_000).step_by(501) {
        let used: usize = 11_000;
        disk.set_faults(Faults { room: Some(used + more), ..Faults::default() });
        let large = vec![7; 13_000];
        let said =
            dir.save(&Saved { at: 200, parts: &[("large", &large)], ..Saved::default() }).unwrap_err().to_string();
        assert!(said.contains("cannot write /data/jobs/orders/snapshots/0000000002-1.snapshot.unfinished"), "{said}");
        assert_eq!(whole(&dir), [100]);
        let names = disk.disk().list(&dir.path().join("snapshots")).unwrap();
        assert_eq!(names, ["0000000001-1.snapshot"], "what is unfinished gives its room back");
    }
    disk.set_faults(Faults::default());
    save(&dir, 300);
    assert_eq!(whole(&dir), [100, 300]);
    assert_eq!(whole(&StateDir::read_on(disk.disk(), PATH).unwrap()), [100, 300]);
}

#[test]
fn a_start_that_fails_at_any_operation_can_be_repeated() {
    // Names of directories that a failed sync has lost for good are not among these: no name of them can be made again.
    for failing in 0.. {
        let disk = Simulated::recording();
        disk.set_faults(Faults { fail: Some(("/data", failing)), ..Faults::default() });
        let Err(error) = open(&disk) else {
            assert!(failing > 8, "{failing} operations");
            break;
        };
        assert!(error.to_string().contains("/data"), "{error}");
        let dir = open(&disk).unwrap();
        save(&dir, 100);
        disk.note("saved", 100);
        drop(dir);
        for crashed in disk.world().crashes() {
            starts_again(crashed);
        }
    }
}

#[test]
fn a_directory_above_that_may_not_be_opened_is_no_error() {
    let disk = Simulated::recording();
    disk.set_faults(Faults { closed: Some("/"), ..Faults::default() });
    save(&open(&disk).unwrap(), 100);
    let disk = Simulated::recording();
    disk.set_faults(Faults { closed: Some("/data/jobs/orders"), ..Faults::default() });
    let refused = open(&disk).unwrap_err();
    assert!(refused.to_string().starts_with("cannot sync /data/jobs/orders: permission denied"), "{refused}");
}
