//! Numbers for readers.

/// Three digits.
pub(super) fn three(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.0995.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A value with a prefix.
pub(super) fn readable(value: f64, unit: &str) -> String {
    let with = |value: f64, prefix: &str, unit: &str| format!("{} {prefix}{unit}", three(value));
    match (unit, value) {
        ("ns", v) if v >= 1e6 => with(v / 1e6, "m", "s"),
        ("ns", v) if v >= 1e3 => with(v / 1e3, "u", "s"),
        ("s", v) if v < 0.1 => with(v * 1e3, "m", "s"),
        ("ns" | "s" | "cores" | "x", v) => with(v, "", unit),
        (_, v) if v >= 1e9 => with(v / 1e9, "G", unit),
        (_, v) if v >= 1e6 => with(v / 1e6, "M", unit),
        (_, v) if v >= 1e4 => with(v / 1e3, "k", unit),
        (_, v) => with(v, "", unit),
    }
}
