//! Pipelines from text, and the messages about text that is not a pipeline.

mod calls;
mod meaning;
mod mistakes;
mod random;
