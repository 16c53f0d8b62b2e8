//! Files of a crate that import each other in a circle: none of them can be understood, moved or tested by itself.
//!
//! An import is a `use`, or a path that begins with `crate::`. It counts for the file that defines the name, wherever
//! it is exported again; to export a name again is no import. Tests inside a file do not count.

use std::collections::{BTreeMap, BTreeSet};

/// The most files of a circle.
const LONGEST: usize = 3;

/// Crates with longer ones, which may not grow.
const LONGER: [(&str, usize); 5] = [
    ("millstream-bench", 7),
    ("millstream-cli", 5),
    ("millstream-core", 24),
    ("millstream-ring", 26),
    ("millstream-testkit", 4),
];

/// A module, or a name in one, from the root of its crate.
type Path = Vec<String>;

/// The offences of a crate: `files` are its sources, each by its path in `src`, as code without comments.
pub(super) fn in_crate(name: &str, files: &[(String, String)]) -> Vec<String> {
    let most = LONGER.iter().find(|(longer, _)| *longer == name).map_or(LONGEST, |(_, most)| *most);
    let modules = Modules::of(files);
    let long = modules.circles().into_iter().filter(|circle| circle.len() > most);
    long.map(|circle| {
        let files: Vec<String> = circle.iter().map(|module| file_of(module)).collect();
        let (first, count) = (&files[0], files.len());
        format!("crates/{name}/src/{first}:1: {count} files import each other; at most {most}: {}", files.join(" "))
    })
    .collect()
}

fn file_of(module: &[String]) -> String {
    if module.is_empty() { "lib.rs".to_owned() } else { format!("{}.rs", module.join("/")) }
}

/// The modules of a crate that are files.
struct Modules {
    imports: BTreeMap<Path, BTreeSet<Path>>,
}

/// A `use`, or a path in the code.
struct Use {
    exports: bool,
    path: Path,
}

impl Modules {
    fn of(files: &[(String, String)]) -> Self {
        let code: BTreeMap<Path, &str> =
            files.iter().map(|(file, code)| (module_of(file), before_tests(code))).collect();
        let known: BTreeSet<&Path> = code.keys().collect();
        let uses: BTreeMap<&Path, Vec<Use>> =
            code.iter().map(|(module, code)| (module, uses_in(module, code, &known))).collect();
        let exports: BTreeMap<(&Path, &str), &Path> = uses
            .iter()
            .flat_map(|(module, uses)| uses.iter().filter(|used| used.exports).map(move |used| (*module, used)))
            .filter_map(|(module, used)| Some(((module, used.path.last()?.as_str()), &used.path)))
            .collect();
        let defined_in = |path: &Path| {
            let mut path = path.clone();
            // A name that is exported again and again is followed a few times.
            for _ in 0..6 {
                let module =
                    (0..=path.len()).rev().map(|len| path[..len].to_vec()).find(|part| known.contains(part))?;
                let name = path.get(module.len()).map(String::as_str);
                match name.and_then(|name| exports.get(&(&module, name))) {
                    Some(other) if **other != path => path = [&other[..], &path[module.len() + 1..]].concat(),
                    _ => return Some(module),
                }
            }
            None
        };
        let imports =
            |uses: &[Use]| uses.iter().filter(|used| !used.exports).filter_map(|u| defined_in(&u.path)).collect();
        Modules { imports: uses.iter().map(|(module, uses)| ((*module).clone(), imports(uses))).collect() }
    }

    /// Everything that this module imports, and what that imports, and so on.
    fn reached<'m>(&'m self, from: &'m Path) -> BTreeSet<&'m Path> {
        let (mut reached, mut left) = (BTreeSet::new(), vec![from]);
        while let Some(module) = left.pop() {
            let imports = self.imports.get(module).into_iter().flatten();
            left.extend(imports.filter(|imported| reached.insert(*imported)));
        }
        reached
    }

    /// The groups of modules each of which reaches all others of its group.
    fn circles(&self) -> BTreeSet<BTreeSet<&Path>> {
        let reached: BTreeMap<&Path, BTreeSet<&Path>> =
            self.imports.keys().map(|module| (module, self.reached(module))).collect();
        let circle = |of: &&Path| reached[*of].iter().copied().filter(|other| reached[*other].contains(*of)).collect();
        self.imports.keys().collect::<Vec<_>>().iter().map(circle).filter(|c: &BTreeSet<_>| c.len() > 1).collect()
    }
}

fn module_of(file: &str) -> Path {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    if path == "lib" { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

fn before_tests(code: &str) -> &str {
    code.split("\nmod tests {").next().unwrap_or(code)
}

/// The paths that a module uses, from the root of its crate.
fn uses_in(module: &Path, code: &str, known: &BTreeSet<&Path>) -> Vec<Use> {
    let mut uses = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let before = code[..at].rsplit('\n').next().unwrap_or("").trim();
        if !before.is_empty() && !before.starts_with("pub") {
            continue;
        }
        let Some(tree) = code[at + 4..].split(';').next() else { continue };
        let paths = branches(tree).into_iter().filter_map(|path| from_root(module, &path, known));
        uses.extend(paths.map(|path| Use { exports: !before.is_empty(), path }));
    }
    for (at, crate_) in code.match_indices("crate::") {
        let path = code[at + crate_.len()..].split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next();
        let path: Path = path.unwrap_or("").split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        if !path.is_empty() && !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            uses.push(Use { exports: false, path });
        }
    }
    // A path that is exported again is no import, also not because it says `crate::`.
    let exported: BTreeSet<Path> = uses.iter().filter(|used| used.exports).map(|used| used.path.clone()).collect();
    uses.retain(|used| used.exports || !exported.contains(&used.path));
    uses
}

/// The paths of a tree of imports: `a::{b, c::d}` has `a::b` and `a::c::d`.
fn branches(tree: &str) -> Vec<Path> {
    let tree = tree.trim();
    let names = |path: &str| -> Path {
        path.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let Some((head, body)) = tree.split_once('{') else {
        return vec![names(tree.split(" as ").next().unwrap_or(tree))];
    };
    let body = body.trim_end().trim_end_matches('}');
    let (mut depth, mut from, mut items) = (0_usize, 0, Vec::new());
    for (at, c) in body.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(&body[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    items.push(&body[from..]);
    let items = items.into_iter().filter(|item| !item.trim().is_empty());
    items.flat_map(branches).map(|item| [names(head), item].concat()).collect()
}

/// A path from the root of the crate; none for one of another crate.
fn from_root(module: &Path, path: &Path, known: &BTreeSet<&Path>) -> Option<Path> {
    let first = path.first()?.as_str();
    match first {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            let ups = path.iter().take_while(|name| *name == "super").count();
            Some([&module[..module.len().checked_sub(ups)?], &path[ups..]].concat())
        }
        _ => {
            let inside = [module, &path[..1]].concat();
            known.contains(&inside).then(|| [module, &path[..]].concat())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offences(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(file, code)| ((*file).to_owned(), (*code).to_owned())).collect();
        in_crate("millstream-exec", &files)
    }

    #[test]
    fn a_circle_of_four_is_an_offence_and_one_of_three_is_not() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub use a::A;"),
            ("a.rs", "use crate::b::{B, Other};"),
            ("b.rs", "use super::c::C as D;"),
            ("c.rs", "fn f() { crate::d::g() }"),
            ("d.rs", "use crate::{A, b};"),
        ];
        let found = offences(&files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/millstream-exec/src/a.rs:1: 4 files import each other; at most 3"));
        let shorter: Vec<_> = files.into_iter().filter(|(file, _)| *file != "c.rs").collect();
        assert_eq!(offences(&shorter), [""; 0]);
    }

    #[test]
    fn exports_and_tests_are_no_imports() {
        let files = [
            ("a.rs", "mod inner;\npub(crate) use crate::d::D;\nuse crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::d::D;"),
            ("d.rs", "struct D;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}"),
        ];
        assert_eq!(offences(&files), [""; 0]);
    }
}
