//! Replicas of segments on logs, against what the pipeline means.

mod replicas;
mod rings;
mod schedules;
mod sums;
