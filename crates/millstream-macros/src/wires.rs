//! Converts a block of named wires to calls of `millstream_core::wires`.

mod arms;
mod lanes;
mod split;

use crate::{Error, located};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use split::{Closure, Parameter, closure, elements, first, is, is_word, statements, tuple};

/// A closure can name as many wires as a tuple can have.
const MOST_WIRES: usize = 8;

/// The statements of a group: the compiler's limit on nested types holds for them together.
const GROUP: usize = 12;

/// A pipeline; or a function of an edge if the block does not name its input.
pub(crate) fn wires(root: &TokenStream, tokens: TokenStream) -> Result<TokenStream, Error> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let begins = "a block of wires begins with its input: `|line: Val<String>| { .. }`";
    let Some(Closure { parameters, body }) = closure(&tokens) else {
        return Err(Error::new(begins, first(&tokens)));
    };
    let [input] = &parameters[..] else {
        let message = "one edge comes in: `|pair: ..|`, which `let (a, b) = pair;` takes apart";
        return Err(Error::new(message, first(&tokens)));
    };
    let block = match body {
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::Brace => group.clone(),
        [] => return Err(Error::new(begins, first(&tokens))),
        _ => Group::new(Delimiter::Brace, body.iter().cloned().collect()),
    };
    let (here, w, edge, name) = (mixed("BlockOfWires"), mixed("w"), mixed("edge"), input.name()?);
    let at = name.span();
    let mut write = Write { root, names: vec![name.to_string()], statements: 0, matches: 0 };
    let (statements, result) = write.block(&block)?;
    let emit = quote_spanned!(span(&result, at)=> #w.emit(#result));
    let inside = |begin: TokenStream| {
        quote!(
            #[allow(dead_code)]
            enum #here {}
            let (#w, #name) = #begin;
            #statements
        )
    };
    let root = write.root_at(at);
    Ok(match &input.shape {
        Some(shape) => {
            let inside = inside(quote_spanned!(at=> #root::wires::block::<#shape, #here>()));
            quote!({ #inside #emit })
        }
        None => {
            let inside = inside(quote_spanned!(at=> #root::wires::wires_of::<_, #here>(&#edge)));
            quote!(|#edge| { #inside #root::Arrow::then(#edge, #emit) })
        }
    })
}

/// Writes the statements of a block.
struct Write<'a> {
    /// The path of the core crate.
    root: &'a TokenStream,
    /// The wires bound so far.
    names: Vec<String>,
    /// How many statements were written since the last group.
    statements: usize,
    /// How many `match`es were written: each has names of its own.
    matches: usize,
}

/// The translation of an expression: statements before it, and the expression.
type Written = (TokenStream, TokenStream);

impl Write<'_> {
    /// The path of the core crate, for errors at `at`.
    fn root_at(&self, at: Span) -> TokenStream {
        located(self.root, at)
    }

    /// The statements of a block, and its result.
    fn block(&mut self, block: &Group) -> Result<Written, Error> {
        let tokens: Vec<TokenTree> = block.stream().into_iter().collect();
        let mut parts = statements(&tokens);
        let result = parts.pop().unwrap_or_default();
        let mut written = TokenStream::new();
        for part in parts {
            written.extend(self.statement(part)?);
        }
        if result.is_empty() || is_word(result.first(), "let") {
            let message = "this block yields nothing: its last line, without a `;`, must be a wire or a tuple of wires";
            let last = tokens.last().map_or_else(|| block.to_token_stream(), ToTokens::to_token_stream);
            return Err(Error::new(message, last));
        }
        let (before, value) = self.expression(result)?;
        written.extend(before);
        Ok((written, value))
    }

    fn statement(&mut self, tokens: &[TokenTree]) -> Result<TokenStream, Error> {
        let Some(start) = tokens.first() else { return Ok(TokenStream::new()) };
        if let [TokenTree::Ident(name), equals, next, ..] = tokens
            && is(equals, '=')
            && !is(next, '=')
        {
            let message = format!("a wire is bound once: `let {name} = ..;` binds another one of this name");
            return Err(Error::new(message, equals.to_token_stream()));
        }
        if !is_word(Some(start), "let") {
            let (before, value) = self.expression(tokens)?;
            let bound = self.bound(&quote!(_), "", &value, start.span());
            return Ok(self.grouped(quote!(#before #bound)));
        }
        let no_value = || Error::new("a wire has a value: `let name = ..;`", tokens.iter().cloned().collect());
        let equals = tokens.iter().position(|token| is(token, '=')).ok_or_else(no_value)?;
        let (pattern, value) = (&tokens[1..equals], &tokens[equals + 1..]);
        if value.is_empty() {
            return Err(no_value());
        }
        let statement = match pattern {
            [TokenTree::Ident(name)] => {
                let (before, value) = self.expression(value)?;
                let bound = self.bound(&name.to_token_stream(), &wire_name(name), &value, name.span());
                self.named(std::slice::from_ref(name));
                Ok(quote!(#before #bound))
            }
            [TokenTree::Group(pair)] if pair.delimiter() == Delimiter::Parenthesis => {
                let names = self.pattern(pair)?;
                self.take_apart(&names, value, pair.span())
            }
            _ => {
                let message = if is_word(pattern.first(), "mut") {
                    "a wire does not change: write `let name = ..;`; `.scan(..)` keeps a state"
                } else if pattern.get(1).is_some_and(|token| is(token, ':')) {
                    "a wire has the type of its value: `let name = ..;`"
                } else {
                    "a wire has a name: `let name = ..;`, or `let (a, b) = ..;` for the parts of a tuple; \
                     `match` takes patterns"
                };
                Err(Error::new(message, pattern.iter().cloned().collect()))
            }
        };
        Ok(self.grouped(statement?))
    }

    /// A statement, after which a group ends if it is large enough.
    fn grouped(&mut self, statement: TokenStream) -> TokenStream {
        if self.statements < GROUP {
            return statement;
        }
        self.statements = 0;
        let w = mixed("w");
        quote!(#statement let #w = #w.grouped();)
    }

    /// The names in `(a, b)`.
    fn pattern(&self, tuple: &Group) -> Result<Vec<Ident>, Error> {
        let tokens: Vec<TokenTree> = tuple.stream().into_iter().collect();
        let name = |element: &[TokenTree]| match element {
            [TokenTree::Ident(name)] => Ok(name.clone()),
            _ => Err(Error::new("names of wires: `let (a, b) = ..;`", tuple.to_token_stream())),
        };
        elements(&tokens).iter().map(|element| name(element)).collect()
    }

    /// `let (a, b) = value;`.
    fn take_apart(&mut self, names: &[Ident], value: &[TokenTree], at: Span) -> Result<TokenStream, Error> {
        let root = self.root_at(at);
        let parts = tuple(value).filter(|parts| parts.len() == names.len());
        let mut statements = TokenStream::new();
        if let Some(parts) = parts {
            // `let (a, b) = (b, a);` swaps: all values are read before the first name is bound.
            let held: Vec<Ident> = (0..names.len()).map(|n| mixed(&format!("part{n}"))).collect();
            for ((name, held), part) in names.iter().zip(&held).zip(&parts) {
                let (before, value) = self.expression(part)?;
                let bound = self.bound(&held.to_token_stream(), &wire_name(name), &value, name.span());
                statements.extend(quote!(#before #bound));
            }
            statements.extend(quote!(let (#(#names,)*) = (#(#held,)*);));
        } else {
            let [a, b] = names else {
                let message = "take a tuple of more than two apart where it is written, \
                               `let (a, b, c) = (x, y, z);`, or by `.part(|t| &t.0)`";
                return Err(Error::new(message, names.iter().map(ToTokens::to_token_stream).collect()));
            };
            let whole = mixed("whole");
            let (before, value) = self.expression(value)?;
            statements.extend(before);
            statements.extend(self.bound(&whole.to_token_stream(), "", &value, at));
            for (name, half) in [(a, quote_spanned!(at=> firsts)), (b, quote_spanned!(at=> seconds))] {
                let value = quote_spanned!(at=> #root::PartsExt::#half(#whole));
                statements.extend(self.bound(&name.to_token_stream(), "", &value, name.span()));
            }
        }
        self.named(names);
        Ok(statements)
    }

    /// Adds these names to the wires.
    fn named(&mut self, names: &[Ident]) {
        self.names.extend(names.iter().filter(|name| *name != "_").map(ToString::to_string));
    }

    /// `let name = value;`, as a call.
    fn bound(&mut self, pattern: &TokenStream, name: &str, value: &TokenStream, at: Span) -> TokenStream {
        self.statements += 1;
        let w = mixed("w");
        // The braces keep the compiler from advising to leave out the last method.
        quote_spanned!(at=> let (#w, #pattern) = #w.wire(#name, { #value });)
    }

    /// The value of a wire: closures of wires, choices, tuples, and plain Rust.
    fn expression(&mut self, tokens: &[TokenTree]) -> Result<Written, Error> {
        let plain = |value| Ok((TokenStream::new(), value));
        if let Some(wire) = self.in_inner_block(tokens) {
            let message = format!(
                "`{wire}` is a wire of the block around this one: \
                 a body reads its own edge, which can carry both, as in `(a, {wire}).shard(2, wires!(|both| ..))`"
            );
            return Err(Error::new(message, wire.to_token_stream()));
        }
        if is_word(tokens.first(), "if") {
            return plain(self.choice(tokens)?);
        }
        if is_word(tokens.first(), "match") {
            return self.match_of(tokens);
        }
        if let Some(closure) = closure(tokens) {
            return plain(self.mapped(tokens, &closure)?);
        }
        if let Some(parts) = tuple(tokens) {
            if parts.len() > MOST_WIRES {
                let message =
                    "a tuple has at most eight wires: a tuple in it holds more, or a closure makes one of some";
                return Err(Error::new(message, tokens.iter().cloned().collect()));
            }
            let mut before = TokenStream::new();
            let mut values = Vec::new();
            for part in parts {
                let (statements, value) = self.expression(&part)?;
                before.extend(statements);
                values.push(value);
            }
            return Ok((before, quote!((#(#values),*))));
        }
        // `(|a, b| ..).filter(..)`
        if let [TokenTree::Group(group), rest @ ..] = tokens
            && group.delimiter() == Delimiter::Parenthesis
            && !rest.is_empty()
        {
            let inside: Vec<TokenTree> = group.stream().into_iter().collect();
            let (is_tuple, choices) = (tuple(&tokens[..1]).is_some(), ["if", "match"]);
            let of = if is_tuple { &tokens[..1] } else { &inside };
            if is_tuple || closure(of).is_some() || choices.iter().any(|word| is_word(of.first(), word)) {
                let (before, value) = self.expression(of)?;
                return Ok((before, quote!(#value #(#rest)*)));
            }
        }
        plain(tokens.iter().cloned().collect())
    }

    /// `|a, b| body`: a function of the wires `a` and `b`.
    fn mapped(&self, tokens: &[TokenTree], closure: &Closure<'_>) -> Result<TokenStream, Error> {
        let Closure { parameters, body } = closure;
        if parameters.is_empty() {
            let message = "this closure reads no wire: its parameters are the names of those that it reads";
            return Err(Error::new(message, tokens.iter().take(2).cloned().collect()));
        }
        if parameters.len() > MOST_WIRES {
            let message = "a closure names at most eight wires: another closure can make one of some of them";
            return Err(Error::new(message, tokens.iter().take(1).cloned().collect()));
        }
        let mut names = Vec::new();
        for parameter in parameters {
            let name = parameter.name()?;
            if !self.names.contains(&name.to_string()) {
                return Err(self.no_wire(name));
            }
            names.push(name.clone());
        }
        let at = names[0].span();
        // The closure may read a wire only for its sequence numbers.
        let pattern = |parameter: &Parameter| match parameter.name() {
            Ok(name) if !split::mentions(body, name) => quote!(_),
            _ => parameter.pattern.clone(),
        };
        let patterns = parameters.iter().map(pattern);
        let types = parameters.iter().map(|parameter| parameter.shape.clone().unwrap_or_else(|| quote!(_)));
        let typed = parameters.iter().any(|parameter| parameter.shape.is_some());
        let moves = is_word(tokens.first(), "move").then(|| tokens[0].clone());
        let (wires, argument) = match &names[..] {
            [one] => {
                let shape = parameters[0].shape.iter();
                (quote!(#one), quote!(#(#patterns)* #(: #shape)*))
            }
            _ if typed => (quote!((#(#names),*)), quote!((#(#patterns),*): (#(#types),*))),
            _ => (quote!((#(#names),*)), quote!((#(#patterns),*))),
        };
        if let Some(wire) = self.unnamed(&names, body) {
            let message = format!("`{wire}` is a wire: this closure reads it if it is among its parameters");
            return Err(Error::new(message, wire.to_token_stream()));
        }
        let root = self.root_at(at);
        let body: TokenStream = body.iter().cloned().collect();
        Ok(quote_spanned!(at=> #root::Arrow::map(#wires, #moves |#argument| #body)))
    }

    /// A wire in the body of a closure that does not name it as a parameter. The compiler checks a body that may bind
    /// names of its own.
    fn unnamed(&self, names: &[Ident], body: &[TokenTree]) -> Option<Ident> {
        let body: TokenStream = body.iter().cloned().collect();
        let mentioned = self.mentioned(body.clone());
        let other = mentioned.into_iter().find(|wire| !names.contains(wire))?;
        (!split::binds(body)).then_some(other)
    }

    /// A wire of this block that a block inside these tokens mentions, and does not bind.
    fn in_inner_block(&self, tokens: &[TokenTree]) -> Option<Ident> {
        let inner = |window: &[TokenTree]| match window {
            [name, mark, TokenTree::Group(block)] if is_word(Some(name), "wires") && is(mark, '!') => {
                let bound = split::bound(block.stream());
                self.mentioned(block.stream()).into_iter().find(|wire| !bound.contains(&wire.to_string()))
            }
            _ => None,
        };
        let inside = |token: &TokenTree| match token {
            TokenTree::Group(group) => self.in_inner_block(&group.stream().into_iter().collect::<Vec<_>>()),
            _ => None,
        };
        tokens.windows(3).find_map(inner).or_else(|| tokens.iter().find_map(inside))
    }

    fn no_wire(&self, name: &Ident) -> Error {
        let mut known: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        known.dedup();
        let message = format!("`{name}` is not a wire of this block; its wires are {}", known.join(", "));
        Error::new(message, name.to_token_stream())
    }

    /// The wires that these tokens name.
    fn mentioned(&self, tokens: TokenStream) -> Vec<Ident> {
        let mut found = Vec::new();
        self.mention(tokens, &mut found);
        found
    }

    fn mention(&self, tokens: TokenStream, found: &mut Vec<Ident>) {
        // A field, a method, or a further segment of a path.
        let (mut behind, mut colon) = (false, false);
        for token in tokens {
            match &token {
                TokenTree::Ident(name) => {
                    let known = !behind && self.names.contains(&name.to_string());
                    let new = !found.iter().any(|other| other == name);
                    found.extend((known && new).then(|| name.clone()));
                }
                TokenTree::Group(group) => self.mention(group.stream(), found),
                _ => {}
            }
            behind = is(&token, '.') || colon && is(&token, ':');
            colon = is(&token, ':');
        }
    }
}

/// The name of a wire's stage; `_` names none.
fn wire_name(name: &Ident) -> String {
    if *name == "_" { String::new() } else { name.to_string() }
}

fn mixed(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

fn span(tokens: &TokenStream, otherwise: Span) -> Span {
    tokens.clone().into_iter().next().map_or(otherwise, |token| token.span())
}
