//! The integration tests of this crate, in one binary.

mod aged;
mod crashes;
mod damage;
mod dead_letters;
mod directories;
mod edited;
mod effects;
mod followed;
mod following;
mod increments;
mod jobs;
mod journal;
mod journal_crashes;
mod journal_damage;
mod journal_model;
mod retention;
mod simulated;
mod stores;
