//! Secrets in environment variables.

use std::env::var_os;

/// The secret in a variable, if that is set; of at least this many characters.
pub(crate) fn secret(variable: &str, shortest: usize) -> Result<Option<String>, String> {
    let Some(secret) = var_os(variable) else { return Ok(None) };
    let secret = secret.into_string().map_err(|_| format!("{variable} is not UTF-8"))?;
    match secret.chars().count() {
        short if short < shortest => {
            let make = format!("`export {variable}=$(openssl rand -hex 16)` makes one");
            Err(format!("{variable} is too short: {short} of at least {shortest} characters; {make}"))
        }
        _ => Ok(Some(secret)),
    }
}
