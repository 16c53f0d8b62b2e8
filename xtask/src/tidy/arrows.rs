//! Which crate may depend on which: ARCHITECTURE.md says why.

/// The crates of the workspace that each one may depend on. What only tests depend on is not in it.
const ALLOWED: [(&str, &[&str]); 16] = [
    ("millstream-macros", &[]),
    ("millstream-core", &["macros"]),
    ("millstream-ring", &["core"]),
    ("millstream-exec", &["core", "ring"]),
    ("millstream-io", &["core"]),
    ("millstream-jq", &["core", "io"]),
    ("millstream-evolve", &["exec"]),
    ("millstream-cluster", &["core", "exec"]),
    ("millstream-registry", &["core", "exec"]),
    ("millstream-mill", &["core", "exec", "io", "jq", "registry"]),
    ("millstream-observe", &["core", "exec"]),
    ("millstream-state", &["core", "exec", "io"]),
    ("millstream-net", &["core", "exec", "state"]),
    ("millstream-testkit", &["core", "exec"]),
    (
        "millstream-cli",
        &["cluster", "core", "evolve", "exec", "io", "jq", "mill", "net", "observe", "registry", "state"],
    ),
    (
        "millstream",
        &[
            "cli", "cluster", "core", "evolve", "exec", "io", "jq", "mill", "net", "observe", "registry", "ring",
            "state", "testkit",
        ],
    ),
];

/// The dependencies of a manifest that its crate may not have, as offences.
pub(super) fn in_manifest(name: &str, manifest: &str) -> Vec<String> {
    let krate = name.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"));
    let Some((krate, allowed)) = ALLOWED.iter().find(|(of, _)| Some(*of) == krate) else { return Vec::new() };
    let mut found = Vec::new();
    let mut section = "";
    for (number, line) in (1..).zip(manifest.lines()) {
        if line.starts_with('[') {
            section = line;
        }
        let on = line.strip_prefix("millstream-").filter(|_| section == "[dependencies]");
        let on = on.map(|rest| rest.split(['.', ' ', '=']).next().unwrap_or(rest));
        if let Some(on) = on.filter(|on| !allowed.contains(on)) {
            found.push(format!("{name}:{number}: {krate} may not depend on millstream-{on}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::in_manifest;

    #[test]
    fn arrows_go_down_and_tests_may_look_up() {
        let manifest = "[dependencies]\nmillstream-core.workspace = true\nmillstream-exec = { path = \"\" }\n\
                        [dev-dependencies]\nmillstream-testkit.workspace = true\n";
        let found = in_manifest("crates/millstream-ring/Cargo.toml", manifest);
        assert_eq!(found, ["crates/millstream-ring/Cargo.toml:3: millstream-ring may not depend on millstream-exec"]);
        assert_eq!(in_manifest("crates/millstream-bench/Cargo.toml", manifest), [""; 0]);
    }
}
