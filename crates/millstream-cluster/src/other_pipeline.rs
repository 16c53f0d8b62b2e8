//! Why a pipeline is not that of an application.

/// Another pipeline has an application's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the application runs a different pipeline: {0}")]
pub struct OtherPipeline(pub String);
