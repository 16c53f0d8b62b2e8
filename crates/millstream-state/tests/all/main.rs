//! The integration tests of this crate, in one binary.

mod aged;
mod aged_records;
mod crashes;
mod damage;
mod databases;
mod dead_letters;
mod directories;
mod edited;
mod effects;
mod elsewhere;
mod ends;
mod exact_numbers;
mod fan_in_jobs;
mod followed;
mod following;
mod following_changes;
mod following_effects;
mod following_pruned;
mod following_run;
mod full_disks;
mod increments;
mod job_crashes;
mod jobs;
mod journal;
mod journal_crashes;
mod journal_damage;
mod journal_model;
#[path = "../../../millstream-testkit/tests/all/lasting.rs"]
mod lasting;
mod machine;
mod postgres;
mod postgres_server;
mod proxy;
mod random_jobs;
mod retention;
#[cfg(feature = "object-store")]
mod s3;
mod side_sinks;
mod simulated;
mod stores;
mod sums;
mod timed;
mod traffic;
mod trimmed;
mod unsynced;
mod upgraded;
