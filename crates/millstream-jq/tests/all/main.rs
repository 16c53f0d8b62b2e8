//! Compares filters with jaq, and with themselves on all deployments.

mod as_in_jq;
mod cases;
mod deep;
mod generator;
mod hostile;
mod jaq;
mod same;
