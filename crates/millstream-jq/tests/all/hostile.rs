//! Values that a filter cannot take: it fails for them, and goes on with the next one.

use millstream::jq::{Expression, Fields, Filter, Input, Options, Style, What};

/// The outputs, and the failures.
fn answer(filter: &str, input: &str) -> (String, Vec<String>) {
    let options = Options::default().style(Style { indent: None, ..Style::default() });
    let answer = Filter::with(filter, &options).expect("a filter").answer(input.as_bytes());
    let failures = answer.said.into_iter().filter_map(|said| match said.what {
        What::Failed(why) => Some(why),
        _ => None,
    });
    (String::from_utf8(answer.out).expect("text"), failures.collect())
}

#[test]
fn a_text_of_many_brackets_is_too_deep() {
    let deep = "[".repeat(1 << 20);
    for filter in ["fromjson", "tonumber", "toboolean"] {
        let (out, failures) = answer(filter, &format!("\"{deep}\"\n\"true\"\n"));
        assert!(failures[0].ends_with("[[[... as JSON: more than 512 brackets are open"), "{filter}: {}", failures[0]);
        assert!(failures[0].len() < 300, "{filter}: {}", failures[0]);
        assert_eq!(out.is_empty(), filter == "tonumber", "{filter}: {out}");
    }
    assert_eq!(answer("[.[] | tonumber]", "[\"12\", \"-1.5\", 3]").0, "[12,-1.5,3]\n");
    for (name, given) in [("one", deep.as_str()), ("two", "1 2"), ("none", "")] {
        assert!(Options::default().variable("x", given.as_bytes()).is_err(), "{name}");
    }
    assert!(Options::default().array_variable("x", deep.as_bytes()).is_err());
    // In the array they would be too deep.
    let most = "[".repeat(512) + &"]".repeat(512);
    assert!(Options::default().variable("x", most.as_bytes()).is_ok());
    assert!(Options::default().array_variable("x", most.as_bytes()).is_err());
}

#[test]
fn a_panic_of_jaq_is_a_failure_of_the_value() {
    let (out, failures) = answer("1, (- . | floor), 2", "+1.5 2.5");
    assert_eq!(out, "1\n1\n-3\n2\n");
    assert!(failures.len() == 1 && failures[0].starts_with("panicked: "), "{failures:?}");
}

#[test]
fn a_negated_number_is_json() {
    assert_eq!(answer("-.", "+1.5 007.5 -2.50 0.5"), ("-1.5\n-7.5\n2.50\n-0.5\n".to_owned(), Vec::new()));
}

#[test]
fn a_text_is_repeated_within_the_limit_by_small_factors_too() {
    let long = "x".repeat(3 << 20);
    for filter in [". * 999 | length", "999 * . | length", ". *= 999 | length", ". * 8 * 8 * 8 * 8 | length"] {
        let (_, failures) = answer(filter, &format!("\"{long}\""));
        assert_eq!(failures, ["Repeat string result too long"], "{filter}");
    }
}

#[test]
fn an_expression_that_is_made_holds_for_rows() {
    assert!(Expression::new(".a | not(1)").is_err());
    for text in [".[0] # \\", ".[0] # \\\\", ".[0] # x"] {
        let (expression, mut row) = (Expression::new(text).expect("an expression"), Fields::default());
        for (json, holds) in [("[1]", true), ("[null]", false)] {
            row.read(&expression, json.as_bytes()).expect("a row");
            assert_eq!(expression.holds(&row), Ok(holds), "{text}, {json}");
        }
    }
}

#[test]
fn a_value_that_is_too_deep_to_be_read_is_written_at_a_terminal_too() {
    let options = Options::default().style(Style { indent: None, colours: true, ..Style::default() });
    let filter = Filter::with("reduce range(600) as $i (null; [.])", &options).expect("a filter");
    let deep = "[".repeat(600) + "null" + &"]".repeat(600) + "\n";
    assert_eq!(String::from_utf8(filter.answer(b"0").out).expect("text"), deep);
}

#[test]
fn no_text_can_name_the_whole_filter() {
    for filter in ["__whole", ". * 2 | __whole", ". * 2 | __whole_"] {
        assert!(Filter::new(filter).is_err(), "{filter}");
    }
    assert_eq!(answer("def __whole: 3; . * __whole", "2").0, "6\n");
    let (_, failures) = answer(". * 999 | length # __whole", &format!("\"{}\"", "x".repeat(3 << 20)));
    assert_eq!(failures, ["Repeat string result too long"]);
}

#[test]
fn lines_are_counted_over_all_blocks() {
    for input in [Input::Values, Input::AllValues] {
        let filter = Filter::with(".", &Options::default().input(input)).expect("a filter");
        let answer = filter.answer_to_all(&[("a", b"1\n2\n"), ("b", b"\nx")]);
        let said: Vec<_> = answer.said.iter().map(|said| (said.block, said.line, said.number)).collect();
        assert_eq!(said, [(1, 3, 2)]);
    }
}
