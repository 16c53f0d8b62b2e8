//! How strangers become master and worker: both say which version they speak, and show that they know the secret, each by
//! a code over what the other one made up.

use crate::Violation;
use crate::wire::{Body, Frame};
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fmt;

const MAGIC: &str = "millstream evolve";

/// Changes whenever a message does.
pub(crate) const VERSION: u32 = 3;

/// A stranger's message is no longer than this.
pub(crate) const LONGEST: usize = 256;

/// What a master and its workers know and nobody else. It is never sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// These bytes; the more of them nobody can guess, the better.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Secret(bytes.into())
    }

    /// 32 bytes of the system's random numbers, as text.
    ///
    /// # Errors
    ///
    /// Where the system has none.
    pub fn random() -> std::io::Result<(Self, String)> {
        let text: String = nonce()?.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((Secret::new(text.as_bytes()), text))
    }

    fn code(&self, who: &str, asked: &Nonce, made_up: &Nonce) -> Hmac<Sha256> {
        let mut code = Hmac::new_from_slice(&self.0).expect("a key of any length will do");
        code.update(who.as_bytes());
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
    /// The master's code, and what the worker is to work on.
    Welcome {
        code: Code,
        program: &'a [u8],
    },
    Refused {
        why: &'a str,
    },
}

/// The first words of a master, and, with a code behind them, of a worker.
pub(crate) fn greet(out: &mut Vec<u8>, nonce: Nonce) {
    Frame::begin(out).put(&Opening { magic: MAGIC, version: VERSION, nonce }).end();
}

fn opening<'a>(body: &mut Body<'a>, who: &str) -> Result<Nonce, Violation> {
    let Opening { magic, version, nonce } = body.get::<Opening<'a>>()?;
    if magic != MAGIC {
        return Err(Violation::new(format!("this is no {who} of an evolving population")));
    }
    if version != VERSION {
        return Err(Violation::new(format!("the {who} speaks version {version}, and this program version {VERSION}")));
    }
    Ok(nonce)
}

/// A worker's answer to the greeting. Gives what it made up itself.
pub(crate) fn answer(greeting: &[u8], secret: &Secret, nonce: Nonce, out: &mut Vec<u8>) -> Result<Nonce, Violation> {
    let mut body = Body::new(greeting);
    let asked = opening(&mut body, "master")?;
    body.end()?;
    let code: Code = secret.code("worker", &asked, &nonce).finalize().into_bytes().into();
    Frame::begin(out).put(&Opening { magic: MAGIC, version: VERSION, nonce }).put(&code).end();
    Ok(asked)
}

/// A master's verdict on a worker's answer; after an error it has written why.
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
        let told = secret.code("worker", asked, &nonce).verify_slice(&code);
        told.map_err(|_| Violation::new("the worker does not know the secret"))?;
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

/// What a worker makes of the verdict: what it is to work on.
pub(crate) fn accept(verdict: &[u8], secret: &Secret, asked: &Nonce, nonce: &Nonce) -> Result<Vec<u8>, Violation> {
    let mut body = Body::new(verdict);
    let verdict = body.get()?;
    body.end()?;
    match verdict {
        Verdict::Refused { why } => Err(Violation::new(format!("the master refuses: {why}"))),
        Verdict::Welcome { code, program } => {
            let told = secret.code("master", nonce, asked).verify_slice(&code);
            told.map_err(|_| Violation::new("the master does not know the secret"))?;
            Ok(program.to_vec())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::LENGTH;

    /// What either side makes of the other.
    fn meet(master: &str, worker: &str) -> (Result<(), Violation>, Result<Vec<u8>, Violation>) {
        let (master, worker) = (Secret::new(master), Secret::new(worker));
        let (asked, nonce) = ([1; 32], [2; 32]);
        let [mut greeting, mut answered, mut verdict] = [const { Vec::new() }; 3];
        greet(&mut greeting, asked);
        let heard = answer(&greeting[LENGTH..], &worker, nonce, &mut answered).unwrap();
        assert_eq!(heard, asked);
        let judged = judge(&answered[LENGTH..], &master, &asked, b"program", &mut verdict);
        (judged, accept(&verdict[LENGTH..], &worker, &asked, &nonce))
    }

    #[test]
    fn who_knows_the_secret_is_welcome() {
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
    fn another_version_says_so() {
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
