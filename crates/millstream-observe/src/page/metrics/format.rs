//! The text of metrics: OpenMetrics, and Prometheus's own format for readers that do not accept it.

/// The content type of OpenMetrics.
pub(in crate::page) const OPEN: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The content type of Prometheus's own format.
pub(in crate::page) const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether a reader gets OpenMetrics: if it accepts it by name.
pub(in crate::page) fn is_open(accept: Option<&str>) -> bool {
    accept.is_some_and(|accept| accept.contains("application/openmetrics-text"))
}

/// Converts OpenMetrics to Prometheus's own format: counters have the names of their samples, and there are neither
/// units nor an end.
pub(in crate::page) fn plain(open: &str) -> String {
    let counters: Vec<&str> =
        open.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut out = String::with_capacity(open.len());
    for line in open.lines().filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF") {
        let head = line.strip_prefix("# HELP ").or_else(|| line.strip_prefix("# TYPE "));
        match head.and_then(|head| head.split_once(' ')) {
            Some((name, rest)) if counters.contains(&name) => {
                out.extend([&line[.."# HELP ".len()], name, "_total ", rest, "\n"]);
            }
            _ => out.extend([line, "\n"]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN_TEXT: &str = "# HELP a Help.\n# TYPE a counter\n# UNIT a bytes\na_total{x=\"1\"} 2\n# HELP b B.\n\
                             # TYPE b gauge\nb 1\n# EOF\n";

    #[test]
    fn the_plain_format_names_counters_as_their_samples() {
        let expected =
            "# HELP a_total Help.\n# TYPE a_total counter\na_total{x=\"1\"} 2\n# HELP b B.\n# TYPE b gauge\nb 1\n";
        assert_eq!(plain(OPEN_TEXT), expected);
    }

    #[test]
    fn a_reader_that_names_open_metrics_gets_it() {
        assert!(is_open(Some("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")));
        assert!(!is_open(Some("text/plain")) && !is_open(Some("*/*")) && !is_open(None));
    }
}
