//! The handshake of master and worker. Each side states its version, and shows that it knows the secret by a code over
//! the nonces of both.

use crate::Violation;
use crate::wire::{Body, Frame};
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fmt;

const MAGIC: &str = "millstream evolve";

/// Raise it with every change of a message.
pub(crate) const VERSION: u32 = 3;

/// The longest message of a peer that has not shown that it knows the secret, in bytes.
pub(crate) const LONGEST: usize = 256;

/// A secret that a master shares with its workers. It is never sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// A secret of these bytes. They should be long, and hard to guess.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Secret(bytes.into())
    }

    /// A random secret, and its text of 64 hexadecimal digits. The text's bytes are the secret.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn random() -> std::io::Result<(Self, String)> {
        let text: String = nonce()?.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((Secret::new(text.as_bytes()), text))
    }

    fn code(&self, role: &str, asked: &Nonce, made_up: &Nonce) -> Hmac<Sha256> {
        let mut code = Hmac::new_from_slice(&self.0).expect("a key of any length will do");
        code.update(role.as_bytes());
        code.update(asked);
        code.update(made_up);
        code
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

pub(crate) type Nonce = [u8; 32];
type Code = [u8; 32];

pub(crate) fn nonce() -> std::io::Result<Nonce> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce).map_err(std::io::Error::from)?;
    Ok(nonce)
}

#[derive(Serialize, Deserialize)]
struct Opening<'a> {
    magic: &'a str,
    version: u32,
    nonce: Nonce,
}

#[derive(Serialize, Deserialize)]
enum Verdict<'a> {
    /// The master's code, and the program's bytes for the worker.
    Welcome {
        code: Code,
        program: &'a [u8],
    },
    Refused {
        why: &'a str,
    },
}

/// The opening of a master. A worker's opening has a code after it.
pub(crate) fn greet(out: &mut Vec<u8>, nonce: Nonce) {
    Frame::begin(out).put(&Opening { magic: MAGIC, version: VERSION, nonce }).end();
}

fn opening<'a>(body: &mut Body<'a>, role: &str) -> Result<Nonce, Violation> {
    let Opening { magic, version, nonce } = body.get::<Opening<'a>>()?;
    if magic != MAGIC {
        return Err(Violation::new(format!("this is not a {role} of an evolving population")));
    }
    if version != VERSION {
        return Err(Violation::new(format!("the {role} speaks version {version}, and this program version {VERSION}")));
    }
    Ok(nonce)
}

/// A worker's answer to the greeting. Returns the master's nonce.
pub(crate) fn answer(greeting: &[u8], secret: &Secret, nonce: Nonce, out: &mut Vec<u8>) -> Result<Nonce, Violation> {
    let mut body = Body::new(greeting);
    let asked = opening(&mut body, "master")?;
    body.end()?;
    let code: Code = secret.code("worker", &asked, &nonce).finalize().into_bytes().into();
    Frame::begin(out).put(&Opening { magic: MAGIC, version: VERSION, nonce }).put(&code).end();
    Ok(asked)
}

/// The master's verdict on a worker's answer. After an error, the verdict in `out` says why.
pub(crate) fn judge(
    answer: &[u8],
    secret: &Secret,
    asked: &Nonce,
    program: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Violation> {
    let judged: Result<Nonce, Violation> = (|| {
        let mut body = Body::new(answer);
        let nonce = opening(&mut body, "worker")?;
        let code: Code = body.get()?;
        body.end()?;
        let known = secret.code("worker", asked, &nonce).verify_slice(&code);
        known.map_err(|_| Violation::new("the worker does not know the secret"))?;
        Ok(nonce)
    })();
    let mut frame = Frame::begin(out);
    match judged {
        Ok(nonce) => {
            let code = secret.code("master", &nonce, asked).finalize().into_bytes().into();
            frame.put(&Verdict::Welcome { code, program }).end();
            Ok(())
        }
        Err(violation) => {
            frame.put(&Verdict::Refused { why: &violation.0 }).end();
            Err(violation)
        }
    }
}

/// Reads the verdict on the worker's side. Returns the program's bytes.
pub(crate) fn accept(verdict: &[u8], secret: &Secret, asked: &Nonce, nonce: &Nonce) -> Result<Vec<u8>, Violation> {
    let mut body = Body::new(verdict);
    let verdict = body.get()?;
    body.end()?;
    match verdict {
        Verdict::Refused { why } => {
            // Any program may be at this address, so its text is not shown as it is.
            let why: String = why.escape_debug().take(LONGEST).collect();
            Err(Violation::new(format!("the master refuses: {why}")))
        }
        Verdict::Welcome { code, program } => {
            let known = secret.code("master", nonce, asked).verify_slice(&code);
            known.map_err(|_| Violation::new("the master does not know the secret"))?;
            Ok(program.to_vec())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::LENGTH;

    /// The results of a handshake on either side.
    fn meet(master: &str, worker: &str) -> (Result<(), Violation>, Result<Vec<u8>, Violation>) {
        let (master, worker) = (Secret::new(master), Secret::new(worker));
        let (asked, nonce) = ([1; 32], [2; 32]);
        let [mut greeting, mut answered, mut verdict] = [const { Vec::new() }; 3];
        greet(&mut greeting, asked);
        let asked_back = answer(&greeting[LENGTH..], &worker, nonce, &mut answered).unwrap();
        assert_eq!(asked_back, asked);
        let judged = judge(&answered[LENGTH..], &master, &asked, b"program", &mut verdict);
        (judged, accept(&verdict[LENGTH..], &worker, &asked, &nonce))
    }

    #[test]
    fn a_worker_that_knows_the_secret_is_accepted() {
        assert_eq!(meet("s", "s"), (Ok(()), Ok(b"program".to_vec())));
        let (judged, accepted) = meet("s", "t");
        assert_eq!(judged.unwrap_err().0, "the worker does not know the secret");
        assert_eq!(accepted.unwrap_err().0, "the master refuses: the worker does not know the secret");
    }

    #[test]
    fn a_master_that_does_not_know_the_secret_is_refused() {
        let mut verdict = Vec::new();
        Frame::begin(&mut verdict).put(&Verdict::Welcome { code: [0; 32], program: b"" }).end();
        let accepted = accept(&verdict[LENGTH..], &Secret::new("s"), &[1; 32], &[2; 32]);
        assert_eq!(accepted.unwrap_err().0, "the master does not know the secret");
    }

    #[test]
    fn a_refusal_is_one_short_line_without_control_characters() {
        let mut verdict = Vec::new();
        let why = format!("\u{1b}[31mno\nreally{}", "!".repeat(1000));
        Frame::begin(&mut verdict).put(&Verdict::Refused { why: &why }).end();
        let said = accept(&verdict[LENGTH..], &Secret::new("s"), &[1; 32], &[2; 32]).unwrap_err().0;
        assert!(said.starts_with("the master refuses: \\u{1b}[31mno\\nreally!!"), "{said}");
        assert!(said.len() < 300, "{said}");
    }

    #[test]
    fn another_version_is_named() {
        let mut greeting = Vec::new();
        Frame::begin(&mut greeting).put(&Opening { magic: MAGIC, version: 77, nonce: [0; 32] }).end();
        let refused = answer(&greeting[LENGTH..], &Secret::new("s"), [0; 32], &mut Vec::new()).unwrap_err();
        assert_eq!(refused.0, format!("the master speaks version 77, and this program version {VERSION}"));
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Secret::new("abc")), "Secret(..)");
        assert_ne!(Secret::random().unwrap().1, Secret::random().unwrap().1);
    }
}
