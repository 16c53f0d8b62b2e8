//! A panic anywhere in a random pipeline ends the run with an error, in every deployment, and no run hangs.

use crate::random_cases;
use crate::silence::silence;
use millstream_exec::RunError;
use millstream_testkit::random::{Built, Value, streams, values};
use millstream_testkit::{Deployment, Difference, Feeding, deployments, within};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The fault of a run of a pipeline that may fail, if there is one. If the stream may have ended before the failure, a
/// run that does not fail is also right.
fn wrong(pipeline: &Built, ends: bool, inputs: &[Value], deployment: Deployment) -> Option<String> {
    let model = catch_unwind(AssertUnwindSafe(|| pipeline.model_slots(inputs.to_vec())));
    if model.is_ok() {
        return pipeline.check(inputs, deployment).err().map(|difference| difference.to_string());
    }
    let (running, values) = (pipeline.clone(), inputs.to_vec());
    match within(Duration::from_secs(60), move || running.collect_slots(values, deployment)) {
        Err(hung) => Some(Difference::Hung(hung).to_string()),
        Ok(Ok(_)) if ends => None,
        Ok(Ok(_)) => Some("the model fails, and this does not".to_owned()),
        Ok(Err(RunError::Stage { stage, number, cause })) => {
            let known = pipeline.plan().stages.iter().any(|planned| planned.name == stage);
            // A number of the stage's own clock.
            let one_clock = pipeline.plan().rings.iter().all(|ring| ring.clock == 0);
            let numbered = number.is_some_and(|number| number.0 <= inputs.len() as u64 || !one_clock);
            let caused = cause.starts_with("panicked: fails at");
            (!known || !numbered || !caused).then(|| format!("it says {stage:?}, {number:?}, {cause}"))
        }
        Ok(Err(error)) => Some(error.to_string()),
    }
}

proptest! {
    #![proptest_config(random_cases())]

    #[test]
    fn a_panic_in_a_random_stage_ends_the_run(
        tree in streams(12),
        place in any::<usize>(),
        modulus in 1..60_i64,
        inputs in values(100),
        deployment in deployments(),
        seed in any::<u64>(),
    ) {
        silence();
        let tree = tree.failing(place, modulus);
        let pipeline = tree.build();
        for feeding in Feeding::each(seed) {
            let deployment = Deployment { feeding, ..deployment };
            let wrong = wrong(&pipeline, tree.ends(), &inputs, deployment);
            prop_assert_eq!(wrong, None, "{} on {:?}", tree, deployment);
        }
    }
}
