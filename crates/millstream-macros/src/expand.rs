//! Converts a tree to method calls.

use crate::operator::{Kind, Operator};
use crate::parse::Term;
use crate::{Error, located};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

/// The expression whose value is the pipeline.
pub(crate) fn pipeline(root: &TokenStream, term: &Term) -> Result<TokenStream, Error> {
    let value = Expand { root }.value(term)?;
    // A closure is not redundant if the function's name alone would be taken for a pipeline.
    Ok(quote!({
        #[allow(clippy::redundant_closure)]
        let pipeline = #value;
        pipeline
    }))
}

struct Expand<'a> {
    /// The path of the core crate.
    root: &'a TokenStream,
}

impl Expand<'_> {
    /// A term without an edge before it.
    fn value(&self, term: &Term) -> Result<TokenStream, Error> {
        match term {
            Term::Value(tokens) => Ok(tokens.clone()),
            Term::Steps(tokens) => Err(without_edge(tokens)),
            Term::Group(inner, steps) => {
                let inner = self.value(inner)?;
                Ok(if steps.is_empty() { inner } else { quote!((#inner) #steps) })
            }
            Term::Joined(left, operator, right) if operator.kind == Kind::Then => {
                self.on(self.value(left)?, operator.span(), right)
            }
            Term::Body(_) | Term::Joined(..) => {
                if let Term::Steps(tokens) = first(term) {
                    return Err(without_edge(tokens));
                }
                let at = Span::call_site();
                let id = self.path(at, quote!(id));
                self.on(quote!(#id()), at, term)
            }
        }
    }

    /// A term after an edge. Errors of the call, and not of its operands, are reported at `at`.
    fn on(&self, edge: TokenStream, at: Span, term: &Term) -> Result<TokenStream, Error> {
        let call = |at, method, bodies: TokenStream| {
            let method = self.path(at, method);
            quote!(#method(#edge, #bodies))
        };
        let after = || quote_spanned!(at=> notation::followed_by);
        Ok(match term {
            Term::Value(tokens) => call(at, quote_spanned!(at=> Arrow::then), tokens.clone()),
            Term::Steps(tokens) => quote!((#edge) #tokens),
            Term::Body(tokens) => call(at, after(), tokens.clone()),
            Term::Group(inner, steps) if steps.is_empty() => self.on(edge, at, inner)?,
            Term::Group(inner, steps) => {
                let inside = body(|edge| {
                    let inner = self.on(edge, at, inner)?;
                    Ok(quote!((#inner) #steps))
                })?;
                call(at, after(), inside)
            }
            Term::Joined(left, operator, right) if operator.kind == Kind::Then => {
                self.on(self.on(edge, at, left)?, operator.span(), right)?
            }
            Term::Joined(left, operator, right) => {
                let at = operator.span();
                let (left, right) = (body(|edge| self.on(edge, at, left))?, body(|edge| self.on(edge, at, right))?);
                call(at, method(operator), quote!(#left, #right))
            }
        })
    }

    /// A path in the core crate, with the span `at`.
    fn path(&self, at: Span, path: TokenStream) -> TokenStream {
        let root = located(self.root, at);
        let colons = quote_spanned!(at=> ::);
        quote!(#root #colons #path)
    }
}

fn method(operator: &Operator) -> TokenStream {
    let at = operator.span();
    match operator.kind {
        Kind::Then => quote_spanned!(at=> Arrow::then),
        Kind::Merge => quote_spanned!(at=> ChoiceExt::merge),
        Kind::Choose => quote_spanned!(at=> ChoiceExt::choose),
        Kind::Fanout => quote_spanned!(at=> Arrow::fanout),
        Kind::Both => quote_spanned!(at=> Arrow::both),
    }
}

/// A closure that takes an edge.
fn body(inside: impl FnOnce(TokenStream) -> Result<TokenStream, Error>) -> Result<TokenStream, Error> {
    // `mixed_site` keeps this name apart from the user's names.
    let edge = Ident::new("edge", Span::mixed_site());
    let inside = inside(quote!(#edge))?;
    Ok(quote!(|#edge| #inside))
}

/// The first operand of a term.
fn first(term: &Term) -> &Term {
    match term {
        Term::Joined(left, _, _) | Term::Group(left, _) => first(left),
        Term::Value(_) | Term::Steps(_) | Term::Body(_) => term,
    }
}

fn without_edge(steps: &TokenStream) -> Error {
    let message = "these methods have no edge: a pipeline begins with one, such as `pipeline::<T>()`";
    Error::new(message, steps.clone())
}
