//! The text of metrics: in a stable order, and in Prometheus's own format for readers that do not accept OpenMetrics.

/// The content type of OpenMetrics.
pub(in crate::page) const OPEN: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The content type of Prometheus's own format.
pub(in crate::page) const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether a reader gets OpenMetrics: if it accepts it by name.
pub(in crate::page) fn is_open(accept: Option<&str>) -> bool {
    accept.is_some_and(|accept| accept.contains("application/openmetrics-text"))
}

/// Sorts the samples of each metric by their labels. The encoder's order differs from one call to the next.
pub(super) fn sorted(text: &str) -> String {
    let (mut out, mut samples) = (String::with_capacity(text.len()), Vec::new());
    for line in text.lines() {
        if line.starts_with('#') {
            push(&mut out, &mut samples);
            out.extend([line, "\n"]);
        } else {
            samples.push(line);
        }
    }
    push(&mut out, &mut samples);
    out
}

fn push(out: &mut String, samples: &mut Vec<&str>) {
    samples.sort_unstable();
    samples.drain(..).for_each(|sample| out.extend([sample, "\n"]));
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
    fn samples_are_in_order_within_their_metric() {
        let text = "# TYPE a gauge\na{x=\"2\"} 1\na{x=\"1\"} 3\n# TYPE b gauge\nb{y=\"1\"} 1\nb{x=\"1\"} 1\n# EOF\n";
        let expected =
            "# TYPE a gauge\na{x=\"1\"} 3\na{x=\"2\"} 1\n# TYPE b gauge\nb{x=\"1\"} 1\nb{y=\"1\"} 1\n# EOF\n";
        assert_eq!(sorted(text), expected);
    }

    #[test]
    fn a_reader_that_names_open_metrics_gets_it() {
        assert!(is_open(Some("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")));
        assert!(!is_open(Some("text/plain")) && !is_open(Some("*/*")) && !is_open(None));
    }
}
