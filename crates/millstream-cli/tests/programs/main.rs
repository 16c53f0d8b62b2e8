//! The built programs, each test in a directory of its own.

mod book;
#[cfg(feature = "cluster")]
#[path = "../../../millstream-cluster/tests/all/certificates.rs"]
mod certificates;
#[cfg(feature = "serve")]
mod client;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(all(feature = "cluster", target_os = "linux"))]
mod cluster_clock;
#[cfg(feature = "cluster")]
mod cluster_encrypted;
#[cfg(feature = "cluster")]
mod cluster_feed;
#[cfg(feature = "cluster")]
mod cluster_logins;
#[cfg(feature = "cluster")]
mod cluster_read;
#[cfg(feature = "cluster")]
mod cluster_removed;
#[cfg(feature = "cluster")]
mod cluster_slow;
mod copying;
mod decompress;
mod deployments;
#[cfg(feature = "cluster")]
#[path = "../../../millstream-cluster/tests/all/documented.rs"]
mod documented;
mod evolve;
#[cfg(feature = "page")]
mod evolve_page;
mod failures;
mod full;
mod full_disk;
mod graph;
mod help;
#[cfg(feature = "jq")]
mod jq;
#[cfg(feature = "completions")]
mod manual;
#[cfg(not(feature = "jq"))]
mod no_jq;
mod picture;
mod pipe;
mod pipe_commands;
mod pipe_failures;
mod pipe_late;
mod pipe_processes;
mod pipe_signals;
mod pipe_tries;
mod plan;
mod progress;
#[cfg(feature = "run")]
mod run;
#[cfg(feature = "run")]
mod run_changed;
#[cfg(all(feature = "run", feature = "serve"))]
mod run_ended;
#[cfg(all(feature = "run", feature = "serve"))]
mod run_failed_sinks;
#[cfg(feature = "run")]
mod run_followed;
#[cfg(feature = "run")]
mod run_grown;
#[cfg(feature = "run")]
mod run_headers;
#[cfg(feature = "serve")]
mod run_network;
#[cfg(feature = "run")]
mod run_outputs;
#[cfg(all(feature = "run", feature = "serve"))]
mod run_posted;
#[cfg(all(feature = "run", feature = "serve"))]
mod run_posted_taken_over;
#[cfg(all(feature = "run", feature = "serve"))]
mod run_posts;
#[cfg(feature = "run")]
mod run_replayed;
#[cfg(feature = "run")]
mod run_rotated;
#[cfg(all(feature = "page", feature = "sqlite"))]
mod run_sqlite;
#[cfg(all(feature = "page", feature = "sqlite"))]
mod run_sqlite_state;
mod run_state;
#[cfg(feature = "run")]
mod run_unstored;
mod scene;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "cluster")]
#[path = "../../../millstream-cluster/tests/all/server.rs"]
mod server;
mod signals;
mod signals_inputs;
mod sleep;
mod snapshots;
mod spaces;
mod state;
mod state_taken_over;
mod stats;
mod streams;
#[cfg(all(feature = "page", feature = "top"))]
mod top;
mod upgrade;
#[cfg(all(feature = "page", feature = "run"))]
mod upgrade_files;
#[cfg(all(feature = "page", feature = "run"))]
mod upgrade_kept;
#[cfg(all(feature = "page", feature = "run", feature = "serve"))]
mod upgrade_posts;
#[cfg(all(feature = "page", feature = "run"))]
mod upgrade_run;
#[cfg(all(feature = "page", feature = "run"))]
mod upgrade_said;
#[cfg(all(feature = "page", feature = "run"))]
mod upgrade_tables;
mod uppercase;
mod verify;
mod wc;
mod wc_kinds;
mod wrong_use;
