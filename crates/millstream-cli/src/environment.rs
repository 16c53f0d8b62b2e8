//! Secrets in environment variables.

use std::env::var_os;

/// The variable with the token that requests must have.
#[cfg(any(feature = "run", feature = "serve"))]
pub(crate) const TOKEN: &str = "MILLSTREAM_TOKEN";

/// A shorter token could be guessed.
#[cfg(any(feature = "run", feature = "serve"))]
pub(crate) const SHORTEST_TOKEN: usize = 16;

/// The secret in a variable, if that is set. It must have at least this many characters.
pub(crate) fn secret(variable: &str, shortest: usize) -> Result<Option<String>, String> {
    let Some(secret) = var_os(variable) else { return Ok(None) };
    let secret = secret.into_string().map_err(|_| format!("{variable} is not UTF-8"))?;
    match secret.chars().count() {
        short if short < shortest => {
            let make = format!("`export {variable}=$(openssl rand -hex 16)` makes one");
            Err(format!("{variable} has {short} characters and needs at least {shortest}; {make}"))
        }
        _ => Ok(Some(secret)),
    }
}
