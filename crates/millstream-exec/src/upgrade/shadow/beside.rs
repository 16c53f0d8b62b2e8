//! A shadow is put beside the run.

use super::common::Common;
use super::compare::Comparer;
use super::place::Beside;
use crate::pool::Pool;
use crate::watched::Role;
use crate::wiring::Named;
use millstream_core::Item;
use millstream_ring::{Reader, RingLayout};
use std::sync::{Arc, PoisonError};

/// The outputs of two versions, at one number.
pub(super) struct Edges<A: RingLayout> {
    pub(super) running: Reader<A>,
    pub(super) shadow: Reader<A>,
}

/// Puts a shadow's tasklets, and one that compares, beside those of the run. The order is that of the comparer.
pub(super) fn put_beside<T: Item, A: RingLayout>(
    common: &Common<T, A>,
    pool: &Arc<Pool>,
    (mut tasklets, order): (Vec<Named>, usize),
    beside: Beside,
    Edges { running, shadow }: Edges<A>,
) {
    let Common { site, agrees, state, left, place, .. } = common;
    let plan = beside.plan.clone();
    let last = plan.output.first().and_then(|ring| plan.rings[*ring].writer);
    let comparer = Comparer {
        number: running.position(),
        running: running.stops_at_marks(),
        shadow: Some(shadow.stops_at_marks()),
        agrees: agrees.clone(),
        state: state.clone(),
        shared: pool.shared.clone(),
        stage: last.map_or_else(|| "source".to_owned(), |stage| plan.stages[stage].name.clone()),
        left: left.clone(),
        batch: beside.batch,
    };
    tasklets.push(Named::apart("compare".to_owned(), Role::Sink, order, Box::new(comparer)));
    let budgets = (!site.inline).then(|| site.rings.budgets());
    let tasks = pool.add_beside(tasklets, budgets, &plan, state);
    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(Beside { tasks, ..beside });
    site.present().shadow = Some(state.clone());
}
