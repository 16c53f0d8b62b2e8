//! The implementation of `pipeline!` and `wires!` of `millstream-core`, where they are documented. Use them from there.

mod expand;
mod operator;
mod parse;
mod wires;

use proc_macro2::TokenStream;

/// Takes the path of `millstream-core` in brackets, and then the notation.
#[doc(hidden)]
#[proc_macro]
pub fn notation(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let (root, tokens) = parse::root(input.into());
    parse::pipeline(tokens).and_then(|term| expand::pipeline(&root, &term)).unwrap_or_else(Error::into_tokens).into()
}

/// Takes the path of `millstream-core` in brackets, and then a block of wires.
#[doc(hidden)]
#[proc_macro]
pub fn wires(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let (root, tokens) = parse::root(input.into());
    wires::wires(&root, tokens).unwrap_or_else(Error::into_tokens).into()
}

/// The path of a crate. The compiler reports errors of the path at `at`.
fn located(root: &TokenStream, at: proc_macro2::Span) -> TokenStream {
    let locate = |mut token: proc_macro2::TokenTree| {
        token.set_span(token.span().located_at(at));
        token
    };
    root.clone().into_iter().map(locate).collect()
}

/// An error, with the user's tokens that cause it.
#[derive(Debug)]
struct Error {
    message: String,
    tokens: TokenStream,
}

impl Error {
    fn new(message: impl Into<String>, tokens: TokenStream) -> Self {
        Error { message: message.into(), tokens }
    }

    /// An expression that does not compile. The compiler reports the error at the tokens, from the first to the last of
    /// them.
    fn into_tokens(self) -> TokenStream {
        let spans = |first: Option<proc_macro2::TokenTree>| first.map(|token| token.span());
        let call = proc_macro2::Span::call_site;
        let start = spans(self.tokens.clone().into_iter().next()).unwrap_or_else(call);
        let end = spans(self.tokens.into_iter().last()).unwrap_or_else(call);
        let message = self.message;
        let path = quote::quote_spanned!(start=> ::core::compile_error!);
        let arguments = quote::quote_spanned!(end=> { #message });
        quote::quote!(#path #arguments)
    }
}
