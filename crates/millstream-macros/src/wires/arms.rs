//! The arms of a `match` of a wire.

use super::split::{element, is, is_word};
use crate::Error;
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;

/// `pattern if guard => { block }`.
pub(super) struct Arm {
    pub(super) pattern: TokenStream,
    /// The guard with its `if`.
    pub(super) guard: TokenStream,
    pub(super) body: Group,
    /// The names that the pattern binds.
    pub(super) bound: Vec<Ident>,
    /// The name of its lane.
    name: String,
}

impl Arm {
    /// The name of the lane of this arm, which is number `n` of these.
    pub(super) fn name(&self, n: usize, arms: &[Arm]) -> String {
        let earlier = arms[..n].iter().filter(|arm| arm.name == self.name).count();
        if earlier == 0 { self.name.clone() } else { format!("{}-{}", self.name, earlier + 1) }
    }
}

pub(super) fn arms(body: &Group) -> Result<Vec<Arm>, Error> {
    let tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let mut rest = &tokens[..];
    let mut arms = Vec::new();
    while !rest.is_empty() {
        let Some(arrow) = rest.windows(2).position(|pair| is(&pair[0], '=') && is(&pair[1], '>')) else {
            return Err(Error::new("an arm is `pattern => { .. }`", rest.iter().cloned().collect()));
        };
        let (head, behind) = (&rest[..arrow], &rest[arrow + 2..]);
        let guard = head.iter().position(|token| is_word(Some(token), "if")).unwrap_or(head.len());
        let (pattern, guard) = head.split_at(guard);
        let (block, length) = match behind.first() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => (group.clone(), 1),
            _ => {
                let length = element(behind);
                (Group::new(Delimiter::Brace, behind[..length].iter().cloned().collect()), length)
            }
        };
        if block.stream().is_empty() {
            let message = "this arm yields nothing: every arm needs a wire, a closure of wires or a block";
            return Err(Error::new(message, pattern.iter().cloned().collect()));
        }
        let comma = usize::from(behind.get(length).is_some_and(|token| is(token, ',')));
        rest = &behind[length + comma..];
        let (mut bound, mut name) = (Vec::new(), None);
        binds(pattern, &mut bound);
        head_of(pattern, &mut name);
        let name = name.unwrap_or_else(|| if is_word(pattern.first(), "_") { "else" } else { "arm" }.to_owned());
        let (pattern, guard) = (pattern.iter().cloned().collect(), guard.iter().cloned().collect());
        arms.push(Arm { pattern, guard, body: block, bound, name });
    }
    if arms.is_empty() {
        return Err(Error::new("a `match` of a wire needs arms", body.to_token_stream()));
    }
    Ok(arms)
}

/// The last name of the path at the head of a pattern, in lower case: the variant.
fn head_of(pattern: &[TokenTree], name: &mut Option<String>) {
    let path = pattern.iter().take_while(|token| matches!(token, TokenTree::Ident(_)) || is(token, ':'));
    for token in path {
        if let TokenTree::Ident(ident) = token {
            let text = ident.to_string();
            *name = text.starts_with(char::is_uppercase).then(|| text.to_lowercase());
        }
    }
}

/// The names that a pattern binds: those in lower case, without names of fields, parts of paths and macros.
fn binds(pattern: &[TokenTree], bound: &mut Vec<Ident>) {
    const WORDS: [&str; 6] = ["_", "ref", "mut", "true", "false", "box"];
    for (at, token) in pattern.iter().enumerate() {
        let next = pattern.get(at + 1);
        match token {
            TokenTree::Ident(name) => {
                let text = name.to_string();
                let binds = text.starts_with(|first: char| first.is_lowercase() || first == '_')
                    && !WORDS.contains(&text.as_str())
                    // A field's name, a path, a macro, a function-like pattern.
                    && !next.is_some_and(|next| is(next, ':') || is(next, '!'))
                    && !matches!(next, Some(TokenTree::Group(_)))
                    && !bound.iter().any(|other| other == name);
                if binds {
                    bound.push(name.clone());
                }
            }
            TokenTree::Group(group) => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                binds(&inside, bound);
            }
            _ => {}
        }
    }
}
