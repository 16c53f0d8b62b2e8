//! Filters, against jaq itself, and on all deployments.

mod cases;
mod generator;
mod jaq;
mod same;
