//! Compiles the text of a filter to a native one, if it uses only the few forms.

use super::{Expr, Native, Output, Scalar};
use crate::demand::plain;
use crate::write::json;
use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::path::{Opt, Part, Path};
use std::borrow::Cow;

pub(super) fn native(filter: &str) -> Option<Native> {
    let (term, _) = crate::syntax::parse(filter)?;
    let mut paths = Paths::default();
    let (mut conditions, mut rest) = (Vec::new(), &term);
    let output = loop {
        match rest {
            Term::BinOp(left, BinaryOp::Pipe(None), right) if selected(left).is_some() => {
                conditions.push(paths.expr(selected(left)?)?);
                rest = right;
            }
            term if selected(term).is_some() => {
                conditions.push(paths.expr(selected(term)?)?);
                break None;
            }
            Term::Id => break None,
            Term::Obj(fields) => break Some(paths.object(fields)?),
            term => break Some(Output::Value(paths.expr(term)?)),
        }
    };
    Some(Native { conditions, output, paths: paths.0 })
}

/// The condition of `select`.
fn selected<'a, 's>(term: &'a Term<&'s str>) -> Option<&'a Term<&'s str>> {
    match term {
        Term::Call("select", arguments) if arguments.len() == 1 => arguments.first(),
        _ => None,
    }
}

/// The paths of the fields that are read, each once.
#[derive(Default)]
struct Paths(Vec<Vec<Vec<u8>>>);

impl Paths {
    fn field(&mut self, path: Vec<Vec<u8>>) -> Expr {
        let known = self.0.iter().position(|there| *there == path);
        Expr::Field(known.unwrap_or_else(|| {
            self.0.push(path);
            self.0.len() - 1
        }))
    }

    fn expr(&mut self, term: &Term<&str>) -> Option<Expr> {
        let mut both = |left, right| Some((Box::new(self.expr(left)?), Box::new(self.expr(right)?)));
        Some(match term {
            Term::Path(inner, path) if matches!(**inner, Term::Id) => self.field(keys(path)?),
            Term::Num(digits) => Expr::Constant(Scalar::number(digits.as_bytes())?.into_owned()),
            Term::Str(None, parts) => Expr::Constant(Scalar::Text(Cow::Owned(plain(parts)?.into_bytes()))),
            Term::Call("true", none) if none.is_empty() => Expr::Constant(Scalar::Bool(true)),
            Term::Call("false", none) if none.is_empty() => Expr::Constant(Scalar::Bool(false)),
            Term::Call("null", none) if none.is_empty() => Expr::Constant(Scalar::Null),
            Term::BinOp(left, BinaryOp::Math(op), right) => {
                let (left, right) = both(left, right)?;
                Expr::Math(*op, left, right)
            }
            Term::BinOp(left, BinaryOp::Cmp(op), right) => {
                let (left, right) = both(left, right)?;
                Expr::Cmp(*op, left, right)
            }
            Term::BinOp(left, BinaryOp::And, right) => {
                let (left, right) = both(left, right)?;
                Expr::And(left, right)
            }
            Term::BinOp(left, BinaryOp::Or, right) => {
                let (left, right) = both(left, right)?;
                Expr::Or(left, right)
            }
            Term::BinOp(value, BinaryOp::Pipe(None), not) if matches!(&**not, Term::Call("not", none) if none.is_empty()) => {
                Expr::Not(Box::new(self.expr(value)?))
            }
            _ => return None,
        })
    }

    fn object(&mut self, fields: &[(Term<&str>, Option<Term<&str>>)]) -> Option<Output> {
        let mut all: Vec<(Vec<u8>, Expr)> = Vec::new();
        for (key, value) in fields {
            let Term::Str(None, parts) = key else { return None };
            let name = plain(parts)?;
            let value = match value {
                Some(value) => self.expr(value)?,
                None => self.field(vec![name.as_bytes().to_vec()]),
            };
            let mut key = json(&name);
            key.push(b':');
            // jq keeps the second value of two with the same key.
            if all.iter().any(|(there, _)| *there == key) {
                return None;
            }
            all.push((key, value));
        }
        Some(Output::Object(all))
    }
}

/// The keys of a path such as `.item.name`.
fn keys(path: &Path<Term<&str>>) -> Option<Vec<Vec<u8>>> {
    let key = |(part, opt): &(Part<Term<&str>>, Opt)| match (part, opt) {
        (Part::Index(Term::Str(None, parts)), Opt::Essential) => plain(parts).map(String::into_bytes),
        _ => None,
    };
    path.0.iter().map(key).collect()
}
