//! Parts of a list of tokens: statements, elements, and closures.

use crate::Error;
use crate::parse::{begins_closure, ends_arrow, is_any, parameters_length};
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;

/// A closure whose parameters name wires.
pub(super) struct Closure<'a> {
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: &'a [TokenTree],
}

/// A parameter: the name of a wire, perhaps after a `&`, and perhaps a type.
pub(super) struct Parameter {
    pub(super) pattern: TokenStream,
    name: Option<Ident>,
    pub(super) shape: Option<TokenStream>,
}

impl Parameter {
    fn of(tokens: &[TokenTree]) -> Self {
        let colon = tokens.iter().position(|token| is(token, ':'));
        let (pattern, shape) = tokens.split_at(colon.unwrap_or(tokens.len()));
        let name = match pattern {
            [TokenTree::Ident(name)] => Some(name.clone()),
            [and, TokenTree::Ident(name)] if is(and, '&') => Some(name.clone()),
            _ => None,
        };
        let shape = colon.map(|_| shape[1..].iter().cloned().collect());
        Parameter { pattern: pattern.iter().cloned().collect(), name, shape }
    }

    /// The wire that it names.
    pub(super) fn name(&self) -> Result<&Ident, Error> {
        let message = "a parameter is the name of a wire: `|order, price|`";
        self.name.as_ref().ok_or_else(|| Error::new(message, self.pattern.clone()))
    }
}

/// The closure that these tokens are, if they are one.
pub(super) fn closure(tokens: &[TokenTree]) -> Option<Closure<'_>> {
    if !begins_closure(tokens) {
        return None;
    }
    let end = parameters_length(tokens);
    let begin = usize::from(is_word(tokens.first(), "move")) + 1;
    let parameters = separated(tokens.get(begin..end - 1)?, true);
    let parameters = parameters.into_iter().map(|tokens| Parameter::of(&tokens)).collect();
    Some(Closure { parameters, body: &tokens[end..] })
}

/// The statements of a block, and the result after its last `;`.
pub(super) fn statements(tokens: &[TokenTree]) -> Vec<&[TokenTree]> {
    tokens.split(|token| is(token, ';')).collect()
}

/// The tokens between the commas. A comma in a closure's parameters or in angle brackets does not separate.
pub(super) fn elements(tokens: &[TokenTree]) -> Vec<Vec<TokenTree>> {
    separated(tokens, false)
}

/// The number of tokens before the next comma.
pub(super) fn element(tokens: &[TokenTree]) -> usize {
    length(tokens, false)
}

/// As [`elements`]. In `types` every `<` is a bracket; in an expression only one behind a `:`, or in other brackets.
fn separated(tokens: &[TokenTree], types: bool) -> Vec<Vec<TokenTree>> {
    let mut elements = Vec::new();
    let mut rest = tokens;
    while !rest.is_empty() {
        let end = length(rest, types);
        elements.push(rest[..end].to_vec());
        rest = &rest[(end + 1).min(rest.len())..];
    }
    elements
}

fn length(tokens: &[TokenTree], types: bool) -> usize {
    let mut at = parameters_length(tokens);
    let mut angles = 0_usize;
    while at < tokens.len() {
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        if angles == 0 && is(&tokens[at], ',') {
            break;
        }
        if is(&tokens[at], '<') && (types || angles > 0 || before.is_some_and(|before| is(before, ':'))) {
            angles += 1;
        } else if is(&tokens[at], '>') && !before.is_some_and(ends_arrow) {
            angles = angles.saturating_sub(1);
        }
        at += 1;
    }
    at
}

/// The elements of the tuple that these tokens are, if they are one.
pub(super) fn tuple(tokens: &[TokenTree]) -> Option<Vec<Vec<TokenTree>>> {
    let [TokenTree::Group(group)] = tokens else { return None };
    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
    let is_tuple = group.delimiter() == Delimiter::Parenthesis && element(&inside) < inside.len();
    is_tuple.then(|| elements(&inside))
}

pub(super) fn is(token: &TokenTree, character: char) -> bool {
    is_any(token, &[character])
}

pub(super) fn is_word(token: Option<&TokenTree>, text: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(word)) if *word == text)
}

/// The first of these tokens, for an error at it.
pub(super) fn first(tokens: &[TokenTree]) -> TokenStream {
    tokens.first().map(ToTokens::to_token_stream).unwrap_or_default()
}

/// Whether Rust in these tokens may bind names, or name fields.
pub(super) fn binds(tokens: TokenStream) -> bool {
    const WORDS: [&str; 4] = ["let", "match", "for", "fn"];
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens.iter().any(|token| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace || binds(group.stream()),
        TokenTree::Ident(word) => WORDS.contains(&word.to_string().as_str()),
        TokenTree::Punct(punct) => "|!".contains(punct.as_char()),
        TokenTree::Literal(_) => false,
    })
}

/// The names that `let`s and parameters in these tokens may bind.
pub(super) fn bound(tokens: TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    let mut binding = false;
    for token in tokens {
        match &token {
            TokenTree::Ident(word) if *word == "let" => binding = true,
            TokenTree::Ident(name) if binding => names.push(name.to_string()),
            TokenTree::Group(group) if binding && group.delimiter() == Delimiter::Parenthesis => {
                names.extend(group.stream().into_iter().map(|name| name.to_string()));
            }
            TokenTree::Group(group) => names.extend(bound(group.stream())),
            TokenTree::Punct(punct) => match punct.as_char() {
                '|' => binding = !binding,
                '=' | ';' | ':' => binding = false,
                _ => {}
            },
            _ => {}
        }
    }
    names
}

/// Whether these tokens contain this name. A string literal counts too: a format string can name a variable.
pub(super) fn mentions(tokens: &[TokenTree], name: &Ident) -> bool {
    tokens.iter().any(|token| match token {
        TokenTree::Ident(word) => word == name,
        TokenTree::Literal(literal) => literal.to_string().contains(&name.to_string()),
        TokenTree::Group(group) => mentions(&group.stream().into_iter().collect::<Vec<_>>(), name),
        TokenTree::Punct(_) => false,
    })
}
