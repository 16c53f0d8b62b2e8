//! Programs as text: what they mean, and that it is the same everywhere.

mod bounds;
mod change;
mod deep;
mod each;
mod goes_on;
mod habits;
mod keys;
mod meaning;
mod next_files;
mod places;
mod random;
mod running;
mod tables;
