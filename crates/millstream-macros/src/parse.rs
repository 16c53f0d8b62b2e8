//! Parses tokens to a tree.

use crate::Error;
use crate::operator::Operator;
use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// A pipeline, or an operation on an edge.
#[derive(Debug)]
pub(crate) enum Term {
    /// An expression whose value is a pipeline.
    Value(TokenStream),
    /// `.map(f).filter(g)`: methods of the incoming edge.
    Steps(TokenStream),
    /// A closure: a function of the incoming edge.
    Body(TokenStream),
    /// A term in parentheses, followed by methods.
    Group(Box<Term>, TokenStream),
    /// Two terms.
    Joined(Box<Term>, Operator, Box<Term>),
}

/// Returns the path in brackets at the beginning, and the tokens after it.
pub(crate) fn root(input: TokenStream) -> (TokenStream, TokenStream) {
    let mut tokens = input.into_iter();
    match tokens.next() {
        Some(TokenTree::Group(path)) => (path.stream(), tokens.collect()),
        _ => unreachable!("only `pipeline!` and `wires!` call this, with a path in brackets"),
    }
}

pub(crate) fn pipeline(tokens: TokenStream) -> Result<Term, Error> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut parser = Parser { tokens: &tokens, before: None };
    if tokens.is_empty() {
        return Err(Error::new("a pipeline is missing: there is nothing in the parentheses", TokenStream::new()));
    }
    parser.term(1)
}

struct Parser<'a> {
    /// The tokens that the parser has not read.
    tokens: &'a [TokenTree],
    /// The operator before them.
    before: Option<Operator>,
}

impl Parser<'_> {
    /// A term whose operators have at least this precedence.
    fn term(&mut self, least: u8) -> Result<Term, Error> {
        let mut left = self.operand()?;
        while let Some(operator) = Operator::at(self.tokens).filter(|found| found.kind.precedence() >= least) {
            self.tokens = &self.tokens[3..];
            self.before = Some(operator.clone());
            // All operators are right associative: the right side may begin with the same precedence.
            let right = self.term(operator.kind.precedence())?;
            left = Term::Joined(Box::new(left), operator, Box::new(right));
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Term, Error> {
        let length = operand_length(self.tokens);
        let (operand, rest) = self.tokens.split_at(length);
        if operand.is_empty() {
            return Err(match (&self.before, Operator::at(rest)) {
                (Some(before), Some(next)) => {
                    let message =
                        format!("a pipeline is missing between `{}` and this `{}`", before.text(), next.text());
                    Error::new(message, next.to_token_stream())
                }
                (Some(before), None) => {
                    let message = format!("a pipeline is missing on the right of `{}`", before.text());
                    Error::new(message, before.to_token_stream())
                }
                (None, Some(next)) => {
                    let message = format!("a pipeline is missing on the left of `{}`", next.text());
                    Error::new(message, next.to_token_stream())
                }
                (None, None) => unreachable!("the caller has checked that there are tokens"),
            });
        }
        let separates = |rest: &[TokenTree]| is_any(&rest[0], &[',', ';']);
        if let Some(token) = operand.get(length_before(operand, separates)) {
            let message = format!("`{token}` in a pipeline: two pipelines are joined by an operator");
            return Err(Error::new(message, token.to_token_stream()));
        }
        self.tokens = rest;
        classified(operand)
    }
}

fn classified(operand: &[TokenTree]) -> Result<Term, Error> {
    let stream = || operand.iter().cloned().collect();
    Ok(match &operand[0] {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
            if group.stream().is_empty() {
                return Err(Error::new("a pipeline is missing: there is nothing in the parentheses", stream()));
            }
            let inner = pipeline(group.stream())?;
            Term::Group(Box::new(inner), operand[1..].iter().cloned().collect())
        }
        // The output of another macro is one token here.
        TokenTree::Group(group) if group.delimiter() == Delimiter::None && operand.len() == 1 => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            if begins_closure(&inner) { Term::Body(stream()) } else { Term::Value(stream()) }
        }
        // Users write blocks to hold operators. Parentheses keep the compiler from calling the braces unnecessary.
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && operand.len() == 1 => {
            Term::Value(TokenTree::Group(Group::new(Delimiter::Parenthesis, stream())).into())
        }
        TokenTree::Punct(dot) if dot.as_char() == '.' => Term::Steps(stream()),
        _ if begins_closure(operand) => Term::Body(stream()),
        _ => Term::Value(stream()),
    })
}

/// The number of tokens before the next operator.
fn operand_length(tokens: &[TokenTree]) -> usize {
    length_before(tokens, |rest| Operator::at(rest).is_some())
}

/// The number of tokens before the first ones of which `ends` is true, outside of a closure's parameters and of angle
/// brackets.
fn length_before(tokens: &[TokenTree], ends: impl Fn(&[TokenTree]) -> bool) -> usize {
    let mut at = parameters_length(tokens);
    let mut angles = 0_usize;
    while at < tokens.len() {
        if angles == 0 && ends(&tokens[at..]) {
            break;
        }
        if is_any(&tokens[at], &['<']) {
            angles += 1;
        } else if is_any(&tokens[at], &['>']) && !(at > 0 && ends_arrow(&tokens[at - 1])) {
            angles = angles.saturating_sub(1);
        }
        at += 1;
    }
    at
}

/// The number of tokens of `move |a, b|`; 0 if no closure begins here.
pub(crate) fn parameters_length(tokens: &[TokenTree]) -> usize {
    if !begins_closure(tokens) {
        return 0;
    }
    let mut bars = tokens.iter().enumerate().filter(|(_, token)| is_any(token, &['|'])).map(|(at, _)| at);
    bars.nth(1).map_or(tokens.len(), |closing| closing + 1)
}

pub(crate) fn begins_closure(tokens: &[TokenTree]) -> bool {
    let moves = matches!(tokens.first(), Some(TokenTree::Ident(word)) if *word == "move");
    let tokens = &tokens[usize::from(moves)..];
    tokens.first().is_some_and(|token| is_any(token, &['|'])) && Operator::at(tokens).is_none()
}

pub(crate) fn is_any(token: &TokenTree, characters: &[char]) -> bool {
    matches!(token, TokenTree::Punct(punct) if characters.contains(&punct.as_char()))
}

/// Whether a `>` after this token belongs to `->` or `=>`.
pub(crate) fn ends_arrow(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if "-=".contains(punct.as_char()) && punct.spacing() == Spacing::Joint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The term with all its parentheses.
    fn shown(term: &Term) -> String {
        match term {
            Term::Value(tokens) | Term::Body(tokens) | Term::Steps(tokens) => tokens.to_string().replace(' ', ""),
            Term::Group(inner, steps) => format!("[{}]{steps}", shown(inner)),
            Term::Joined(left, operator, right) => {
                format!("({} {} {})", shown(left), operator.text(), shown(right))
            }
        }
    }

    fn parsed(text: &str) -> String {
        match pipeline(text.parse().expect("tokens")) {
            Ok(term) => shown(&term),
            Err(error) => format!("{}: {}", error.tokens.to_string().replace(' ', ""), error.message),
        }
    }

    #[test]
    fn precedences_are_haskells() {
        assert_eq!(parsed("a &&& b >>> c"), "((a &&& b) >>> c)");
        assert_eq!(parsed("a >>> b &&& c"), "(a >>> (b &&& c))");
        assert_eq!(parsed("a *** b >>> c *** d"), "((a *** b) >>> (c *** d))");
        assert_eq!(parsed("a +++ b &&& c ||| d >>> e"), "((a +++ ((b &&& c) ||| d)) >>> e)");
        assert_eq!(parsed("a ||| b >>> c +++ d"), "((a ||| b) >>> (c +++ d))");
    }

    #[test]
    fn every_operator_is_right_associative() {
        assert_eq!(parsed("a >>> b >>> c"), "(a >>> (b >>> c))");
        assert_eq!(parsed("a &&& b *** c &&& d"), "(a &&& (b *** (c &&& d)))");
        assert_eq!(parsed("a +++ b ||| c"), "(a +++ (b ||| c))");
    }

    #[test]
    fn parentheses_group_and_take_methods() {
        assert_eq!(parsed("a &&& (b >>> c)"), "(a &&& [(b >>> c)])");
        assert_eq!(parsed("(a &&& b) &&& c"), "([(a &&& b)] &&& c)");
        assert_eq!(parsed("(a >>> b).named(\"both\") >>> c"), "([(a >>> b)]. named (\"both\") >>> c)");
    }

    #[test]
    fn operands_are_expressions() {
        assert_eq!(parsed("|p| p.map(f) &&& move |q| q"), "(|p|p.map(f) &&& move|q|q)");
        assert_eq!(parsed("a ||| |p| p ||| .map(|x| x >>> 1)"), "(a ||| (|p|p ||| .map(|x|x>>>1)))");
        assert_eq!(parsed("f::<Vec<Vec<Vec<u8>>>>() >>> g"), "(f::<Vec<Vec<Vec<u8>>>>() >>> g)");
        assert_eq!(parsed("f::<A<B<C>>>>>> g"), "(f::<A<B<C>>> >>> g)");
        assert_eq!(parsed("|p: A<B<C<D>>>| p >>> g"), "(|p:A<B<C<D>>>|p >>> g)");
        assert_eq!(parsed("f::<A, B>() >>> .h::<_, C<D, E>>()"), "(f::<A,B>() >>> .h::<_,C<D,E>>())");
        assert_eq!(parsed("|p: Id<A, B>| p >>> g"), "(|p:Id<A,B>|p >>> g)");
        assert_eq!(parsed("f::<fn() -> u8>() >>> g"), "(f::<fn()->u8>() >>> g)");
        assert_eq!(parsed("if a { b } else { c } >>> x?"), "(ifa{b}else{c} >>> x?)");
        assert_eq!(parsed("a >> b"), "a>>b");
    }

    #[test]
    fn errors_are_where_something_is_missing() {
        assert_eq!(parsed("a >>>"), ">>>: a pipeline is missing on the right of `>>>`");
        assert_eq!(parsed("&&& a"), "&&&: a pipeline is missing on the left of `&&&`");
        assert_eq!(parsed("a >>> ||| b"), "|||: a pipeline is missing between `>>>` and this `|||`");
        assert_eq!(parsed("a >>> () +++ b"), "(): a pipeline is missing: there is nothing in the parentheses");
        let two = ": two pipelines are joined by an operator";
        assert_eq!(parsed("f::<A>(), b"), format!(",: `,` in a pipeline{two}"));
        assert_eq!(parsed("a, b"), ",: `,` in a pipeline: two pipelines are joined by an operator");
        assert_eq!(parsed(""), ": a pipeline is missing: there is nothing in the parentheses");
    }
}
