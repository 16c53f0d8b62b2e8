use crate::parse::Stages;
use crate::{Literal, Registry};
use millstream_exec::BoxKind;

/// A registry, as the parser sees it.
pub(super) struct Asked<'a, K: BoxKind> {
    pub(super) registry: &'a Registry<K>,
    pub(super) begins: String,
}

impl<K: BoxKind> Stages for Asked<'_, K> {
    fn begins(&self) -> &str {
        &self.begins
    }

    fn is_stage(&self, name: &str) -> bool {
        self.registry.stages.keys().any(|(stage, _)| *stage == name)
    }

    fn has_help(&self, name: &str) -> bool {
        self.registry.others.contains_key(name)
    }

    fn takes_expressions(&self, stage: &str) -> bool {
        let Some(all) = self.registry.stages.get(&(stage, 1)) else { return false };
        let code = Literal::Code(".".to_owned());
        let takes = |parameters: &[crate::stage::ParameterOf]| parameters.iter().any(|one| (one.accepts)(&code));
        all.iter().all(|entry| entry.reads.len() == 1 && takes(&entry.parameters))
    }

    fn of_expression(&self, code: &str) -> Option<&'static str> {
        let stage = self.registry.by_expression?;
        let parameter = self.registry.stages.get(&(stage, 1))?.first()?.parameters.first()?;
        (parameter.accepts)(&Literal::Code(code.to_owned())).then_some(stage)
    }
}
