//! Text as pipelines, and what is said of text that is none.

mod calls;
mod meaning;
mod mistakes;
mod random;
