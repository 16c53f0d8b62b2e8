use millstream_core::model::{Extent, Model};
use millstream_core::plan::{Describe, Port};
use millstream_core::wires::{DeployStatements, Edges, Statements};
use millstream_core::{Determinate, KeepsClock};
use millstream_exec::{ErasedStatements, RingBackend, Wiring};
use std::sync::Arc;

/// The statements of a text.
pub(crate) struct TextStatements(pub(crate) Vec<Arc<dyn ErasedStatements>>);

impl KeepsClock for TextStatements {}
impl Determinate for TextStatements {}

impl Statements for TextStatements {
    fn describe(&self, scope: &Port, plan: &mut Describe) {
        self.0.iter().for_each(|statement| statement.describe_erased(scope, plan));
    }
}

impl DeployStatements<Model> for TextStatements {
    fn deploy(&self, scope: &Edges<Model>, extent: &mut Extent) {
        self.0.iter().for_each(|statement| statement.model_erased(scope, extent));
    }
}

impl DeployStatements<RingBackend> for TextStatements {
    fn deploy(&self, scope: &Edges<RingBackend>, wiring: &mut Wiring) {
        self.0.iter().for_each(|statement| statement.rings_erased(scope, wiring));
    }
}
