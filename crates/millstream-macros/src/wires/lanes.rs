//! Choices between the lanes of a block: `if` and `match`.

use super::arms::{Arm, arms};
use super::split::{closure, is_word, tuple};
use super::{Write, Written, mixed, span};
use crate::Error;
use crate::parse::is_any;
use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};

impl Write<'_> {
    /// `if condition { yes } else { no }`.
    pub(super) fn choice(&mut self, tokens: &[TokenTree]) -> Result<TokenStream, Error> {
        let else_of = |at: usize| {
            matches!(&tokens[at], TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
                && is_word(tokens.get(at + 1), "else")
        };
        let Some(lane) = (1..tokens.len()).find(|at| else_of(*at)) else {
            let message = "an `if` between wires needs an `else`: each number takes one of two lanes; \
                           `.filter(..)` is for values that take none";
            return Err(Error::new(message, tokens[0].to_token_stream()));
        };
        let at = tokens[0].span();
        let condition = self.condition(&tokens[1..lane])?;
        let TokenTree::Group(yes) = &tokens[lane] else { unreachable!("it was found as a group") };
        let no = match &tokens[lane + 2..] {
            [TokenTree::Group(no)] if no.delimiter() == Delimiter::Brace => no.clone(),
            rest if is_word(rest.first(), "if") => Group::new(Delimiter::Brace, rest.iter().cloned().collect()),
            rest => {
                let tokens = rest.iter().chain(&tokens[lane + 1..lane + 2]).cloned().collect();
                return Err(Error::new("an `else` needs a block, and nothing may follow it", tokens));
            }
        };
        let (yes, no) = (self.lane(yes, at)?, self.lane(&no, at)?);
        let root = self.root_at(at);
        Ok(quote_spanned!(at=> #root::wires::choose_in(#condition, #yes, #no)))
    }

    fn condition(&self, tokens: &[TokenTree]) -> Result<TokenStream, Error> {
        match closure(tokens) {
            Some(closure) => self.mapped(tokens, &closure),
            None => {
                let operator = |token: &TokenTree| is_any(token, &['*', '!', '&']);
                if is_word(tokens.first(), "let") {
                    let message = "an `if` takes no pattern: `match wire { pattern => { .. }, _ => { .. } }` does";
                    return Err(Error::new(message, tokens[0].to_token_stream()));
                }
                if tokens.first().is_some_and(operator) {
                    let message = "a condition is a closure that names wires, `|x| *x > 3`, or a wire of `bool`s";
                    return Err(Error::new(message, tokens.iter().cloned().collect()));
                }
                Ok(tokens.iter().cloned().collect())
            }
        }
    }

    /// The function of a lane and its block that writes `block`. It sees the wires that the block mentions.
    fn lane(&mut self, block: &Group, at: Span) -> Result<TokenStream, Error> {
        self.lane_of(&[], &quote!(_), block.stream(), at, |write| write.block(block))
    }

    /// As [`lane`](Write::lane), for the wires that `mentions` mentions, and `more`, through a lens of this type.
    fn lane_of(
        &mut self,
        more: &[Ident],
        lens: &TokenStream,
        mentions: TokenStream,
        at: Span,
        inside: impl FnOnce(&mut Self) -> Result<Written, Error>,
    ) -> Result<TokenStream, Error> {
        let (w, lane, scope) = (mixed("w"), mixed("lane"), mixed("LaneOfWires"));
        let outside = self.names.len();
        let mut seen = self.mentioned(mentions);
        seen.extend(more.iter().cloned());
        let written = inside(self);
        self.names.truncate(outside);
        let (statements, result) = written?;
        let end = quote_spanned!(span(&result, at)=> #w.lane(#result));
        let root = self.root_at(at);
        Ok(quote_spanned!(at=> {
            #[allow(dead_code)]
            enum #scope {}
            |#lane: #root::wires::ChoiceLane<_, #scope, _, #lens>, #w: #root::wires::LaneBuilder<#scope>| {
                #(
                    #[allow(unused_variables)]
                    let (#w, #seen) = #w.wire("", #lane.see(#seen));
                )*
                #statements
                #end
            }
        }))
    }

    /// `match wire { pattern => block, .. }`.
    pub(super) fn match_of(&mut self, tokens: &[TokenTree]) -> Result<Written, Error> {
        let at = tokens[0].span();
        let (wire, body) = match tokens {
            [_, wire @ .., TokenTree::Group(body)] if body.delimiter() == Delimiter::Brace => (wire, body),
            _ => {
                let message = "a `match` of a wire ends with its arms: `match wire { .. }`";
                return Err(Error::new(message, tokens[0].to_token_stream()));
            }
        };
        if tuple(wire).is_some() {
            let message = "a `match` looks at one value: `match |a, b| (*a, *b) { .. }` makes one of several wires";
            return Err(Error::new(message, wire.iter().cloned().collect()));
        }
        let arms = arms(body)?;
        // A tuple has the statements of all its parts before the first one.
        self.matches += 1;
        let whole = mixed(&format!("whole{}", self.matches));
        // The compiler reports a value without an arm at the wire.
        let of = wire.first().map_or(at, TokenTree::span);
        let (root, value) = (self.root_at(of), Ident::new("value", Span::mixed_site().located_at(of)));
        let (mut before, wire) = self.expression(wire)?;
        before.extend(self.bound(&whole.to_token_stream(), "", &wire, at));
        let numbers = (0..).map(Literal::u16_unsuffixed);
        let answers = arms.iter().zip(numbers).map(|(Arm { pattern, guard, .. }, n)| quote!(#pattern #guard => #n,));
        let tag = quote_spanned!(of=> #root::Arrow::map(#whole, |#value| -> u16 { match #value { #(#answers)* } }));
        let allow = quote_spanned!(of=> #[allow(unused_variables, unreachable_patterns)]);
        if let [only] = &arms[..] {
            // Nothing is chosen. The compiler still looks for values that the pattern leaves out.
            before.extend(quote_spanned!(of=> #allow let _ = #tag;));
            let (statements, value) = self.only_arm(only, &whole, at)?;
            before.extend(statements);
            return Ok((before, value));
        }
        let mut chosen = quote_spanned!(at=> #root::wires::matching(#allow #tag));
        let mut methods = ["last_arm"].into_iter().chain(std::iter::repeat("arm_before"));
        for (n, arm) in arms.iter().enumerate().rev() {
            // Merges the last two arms first, then each earlier arm with the arms after it.
            let merges =
                (0..(n + 1).min(arms.len() - 1)).fold(quote!(()), |inner, _| quote!(#root::wires::OneMerge<#inner>));
            let number = Literal::usize_unsuffixed(n);
            let lens = quote_spanned!(at=> #root::wires::Arm<#number, #merges>);
            let (name, lane) = (arm.name(n, &arms), self.arm(arm, &whole, &lens, at)?);
            let method = Ident::new(methods.next().unwrap_or_default(), at);
            chosen = quote_spanned!(at=> #chosen.#method(#name, #lane));
        }
        Ok((before, chosen))
    }

    /// The lane of one arm.
    fn arm(&mut self, arm: &Arm, whole: &Ident, lens: &TokenStream, at: Span) -> Result<TokenStream, Error> {
        let mentions = arm.body.stream();
        self.lane_of(std::slice::from_ref(whole), lens, mentions, at, |write| write.arm_body(arm, whole, at))
    }

    /// The only arm: a part of the block around it, whose names are its own.
    fn only_arm(&mut self, arm: &Arm, whole: &Ident, at: Span) -> Result<Written, Error> {
        let (w, value) = (mixed("w"), mixed(&format!("value{}", self.matches)));
        let outside = self.names.len();
        let written = self.arm_body(arm, whole, at);
        self.names.truncate(outside);
        let (statements, result) = written?;
        Ok((quote!(let (#w, #value) = { #statements (#w, #result) };), value.to_token_stream()))
    }

    /// The block of an arm: the names that its pattern binds are wires there, parts of the value by reference.
    fn arm_body(&mut self, Arm { pattern, body, bound, .. }: &Arm, whole: &Ident, at: Span) -> Result<Written, Error> {
        let root = self.root_at(at);
        let mut statements = TokenStream::new();
        for name in bound {
            let part = quote_spanned!(name.span()=> #root::ViewExt::part(#whole, |value| {
                #[allow(unused_variables, unreachable_patterns)]
                match value { #pattern => #name, _ => #root::wires::not_this_arm() }
            }));
            let statement = self.bound(&name.to_token_stream(), "", &part, name.span());
            statements.extend(quote!(#[allow(unused_variables)] #statement));
            self.names.push(name.to_string());
        }
        let (more, result) = self.block(body)?;
        statements.extend(more);
        Ok((statements, result))
    }
}
