//! The description in a job's manifests of the program that wrote them.

use crate::xxh64::xxh64;
use millstream_core::Plan;
use serde_json::{Value, json};

/// The job and its plan.
pub(super) struct Described {
    pub(super) plan: Value,
    /// The fingerprint of the plan alone.
    pub(super) fingerprint: String,
}

impl Described {
    pub(super) fn new(plan: &Plan, job: Value) -> Self {
        let written = serde_json::to_vec(plan).expect("a plan is written to memory");
        Described { plan: json!({ "plan": plan, "job": job }), fingerprint: format!("{:016x}", xxh64(&written)) }
    }
}
