use proc_macro2::{Punct, Span, TokenStream, TokenTree};
use quote::ToTokens;

/// The kind of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Then,
    Merge,
    Choose,
    Fanout,
    Both,
}

impl Kind {
    /// The precedence, as Haskell's `infixr`: a greater one binds tighter.
    pub(crate) const fn precedence(self) -> u8 {
        match self {
            Kind::Then => 1,
            Kind::Merge | Kind::Choose => 2,
            Kind::Fanout | Kind::Both => 3,
        }
    }

    fn of(character: char) -> Option<Self> {
        Some(match character {
            '>' => Kind::Then,
            '|' => Kind::Merge,
            '+' => Kind::Choose,
            '&' => Kind::Fanout,
            '*' => Kind::Both,
            _ => return None,
        })
    }
}

/// An operator in the notation: one character, three times.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    pub(crate) kind: Kind,
    characters: [Punct; 3],
}

impl Operator {
    /// The operator that these tokens begin with, if there is one. Space between the characters is not checked, since
    /// tokens from a `macro_rules!` do not report it.
    pub(crate) fn at(tokens: &[TokenTree]) -> Option<Self> {
        let [TokenTree::Punct(a), TokenTree::Punct(b), TokenTree::Punct(c), ..] = tokens else { return None };
        let same = a.as_char() == b.as_char() && b.as_char() == c.as_char();
        let kind = Kind::of(a.as_char()).filter(|_| same)?;
        Some(Operator { kind, characters: [a.clone(), b.clone(), c.clone()] })
    }

    pub(crate) fn text(&self) -> String {
        self.characters.iter().map(Punct::as_char).collect()
    }

    pub(crate) fn span(&self) -> Span {
        self.characters[0].span()
    }
}

impl ToTokens for Operator {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.characters.iter().cloned().map(TokenTree::Punct));
    }
}
