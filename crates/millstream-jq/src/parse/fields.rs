//! Finds some fields of an object, without building values.

use super::{Parsed, Parser};

/// The fields to look for, by the keys on the way to them.
#[derive(Debug, Default)]
pub(crate) struct FieldTree {
    children: Vec<(Vec<u8>, FieldTree)>,
    /// The number of the path that ends here.
    path: Option<usize>,
}

/// The field at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No such field, or `null` on the way.
    Nothing,
    /// The first byte of a value, and the byte after it.
    At(usize, usize),
    /// A value on the way has no fields, or only a full parse can tell.
    Unknown,
}

impl FieldTree {
    pub(crate) fn of(paths: &[Vec<Vec<u8>>]) -> Self {
        let mut root = FieldTree::default();
        for (n, path) in paths.iter().enumerate() {
            let mut at = &mut root;
            for key in path {
                let known = at.children.iter().position(|(there, _)| there == key);
                let child = known.unwrap_or_else(|| {
                    at.children.push((key.clone(), FieldTree::default()));
                    at.children.len() - 1
                });
                at = &mut at.children[child].1;
            }
            at.path = Some(n);
        }
        root
    }

    fn set(&self, found: &mut [Found], to: Found) {
        self.children.iter().for_each(|(_, child)| {
            if let Some(path) = child.path {
                found[path] = to;
            }
            child.set(found, to);
        });
    }
}

impl Parser<'_> {
    /// Skips the next value, and finds fields in it. `found` starts with [`Found::Nothing`] for each path. If two
    /// fields have the same name, the second counts.
    pub(crate) fn find(&mut self, tree: &FieldTree, found: &mut [Found]) -> Parsed<()> {
        match self.peek() {
            Some(b'{') if !tree.children.is_empty() => self.nested(|parser| {
                parser.sequence(b'}', |parser| {
                    let Some(key) = parser.plain_key() else {
                        // With its escape sequences resolved, it may be one of the keys.
                        tree.set(found, Found::Unknown);
                        parser.pass_key()?;
                        parser.colon()?;
                        return parser.pass();
                    };
                    let child = tree.children.iter().find(|(there, _)| there == key);
                    parser.pass()?;
                    parser.colon()?;
                    let Some((_, child)) = child else { return parser.pass() };
                    child.set(found, Found::Nothing);
                    let from = parser.at;
                    parser.find(child, found)?;
                    if let Some(path) = child.path
                        && found[path] != Found::Unknown
                    {
                        found[path] = Found::At(from, parser.at);
                    }
                    Ok(())
                })
            }),
            Some(b'n') => {
                tree.set(found, Found::Nothing);
                self.pass()
            }
            _ => {
                tree.set(found, Found::Unknown);
                self.pass()
            }
        }
    }
}

/// Resolves the escape sequences of a skipped string, which includes its quotes.
pub(crate) fn unescaped(quoted: &[u8]) -> Vec<u8> {
    let mut parser = Parser::new(quoted);
    parser.at = 1;
    parser.text().unwrap_or_default()
}
