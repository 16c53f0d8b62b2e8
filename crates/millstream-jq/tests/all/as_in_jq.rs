//! Where jaq's answers are others, silently, and a filter has those of jq.

use millstream::jq::{Expression, Fields, Filter, Options, Outputs, Style, What};

/// The outputs, with the failures behind them.
fn answer(filter: &str, input: &str) -> String {
    let options = Options::default().style(Style { indent: None, ..Style::default() });
    let compiled = Filter::with(filter, &options).unwrap_or_else(|wrong| panic!("{filter}: {wrong}"));
    let answer = compiled.answer(input.as_bytes());
    let mut lines: Vec<_> = String::from_utf8(answer.out).expect("text").lines().map(str::to_owned).collect();
    lines.extend(answer.said.into_iter().map(|said| match said.what {
        What::Failed(why) => why,
        what => format!("{what:?}"),
    }));
    lines.join("; ")
}

#[track_caller]
fn check(cases: &[(&str, &str, &str)]) {
    for (filter, input, expected) in cases {
        assert_eq!(answer(filter, input), *expected, "{filter} of {input}");
    }
}

#[test]
fn a_remainder_binds_as_a_product_does() {
    check(&[
        ("2 * 3 % 4, 6 / 2 % 2, 7 % 4 * 3, 1 + 7 % 4", "0", "2; 1; 9; 4"),
        ("2 * (3 % 4), \"\\(2 * 3 % 4)\", [2 * 3 % 4]", "0", "6; \"2\"; [2]"),
        (".a * .b % .c", r#"{"a":2,"b":3,"c":4}"#, "2"),
        ("{n: (.a * .b % .c)}", r#"{"a":2,"b":3,"c":4}"#, r#"{"n":2}"#),
        ("reduce .[] as $n (7; . * $n % 5)", "[2,3]", "2"),
    ]);
    // Row by row, without jaq and with it.
    for json in [r#"{"a":2,"b":3,"c":4}"#, r#"{"a":2,"b":3.0,"c":4}"#] {
        let expression = Expression::new(".a * .b % .c").expect("an expression");
        let (mut row, mut out) = (Fields::default(), Outputs::default());
        row.read(&expression, json.as_bytes()).expect("a row");
        expression.write(&row, &mut out).expect("a number");
        assert_eq!(out.text, b"2", "{json}");
    }
}

#[test]
fn a_remainder_is_one_of_whole_numbers() {
    check(&[
        ("5.9 % 3, -5 % 3, 5 % -3, -5.9 % 3.9, 1e30 % 7", "0", "2; -2; 2; -2; 0"),
        (". % 3, 7 % .", "2.50", "2; 1"),
        (".[0] %= 3", "[5.9]", "[2]"),
        ("[nan % 5, 5 % nan]", "0", "[null,null]"),
        ("12345678901234567890 % 7", "0", "1"),
        ("5 % 0.5", "0", "cannot calculate 5 % 0.5"),
        ("5 % .", "0", "cannot calculate 5 % 0"),
    ]);
}

#[test]
fn a_division_by_zero_fails() {
    check(&[
        (".n / .d", r#"{"n":3,"d":0}"#, "cannot calculate 3 / 0"),
        ("{r: (.n / .d)}", r#"{"n":3,"d":0.0}"#, "cannot calculate 3 / 0.0"),
        ("1 / 0", "0", "cannot calculate 1 / 0"),
        (
            "[.[] | try (1 / .) catch .]",
            "[0, -0.0, 2]",
            r#"["cannot calculate 1 / 0","cannot calculate 1 / -0.0",0.5]"#,
        ),
        (".a /= 0, .a /= 2", r#"{"a":1}"#, "cannot calculate 1 / 0"),
        (".a /= 2, .a /= .b", r#"{"a":1,"b":4}"#, r#"{"a":0.5,"b":4}; {"a":0.25,"b":4}"#),
        ("\"a,b\" / \",\", infinite, [nan]", "0", "[\"a\",\"b\"]; 1.7976931348623157e+308; [null]"),
    ]);
    let expression = Expression::new(".n / .d").expect("an expression");
    let mut row = Fields::default();
    row.read(&expression, br#"{"n":3,"d":0}"#).expect("a row");
    assert_eq!(expression.write(&row, &mut Outputs::default()), Err("cannot calculate 3 / 0".to_owned()));
}

#[test]
fn an_update_takes_the_first_output() {
    check(&[
        (".[] |= (., 9)", "[1,2]", "[1,2]"),
        (".[] |= (., 9)", r#"{"a":1}"#, r#"{"a":1}"#),
        (". |= (2, 3)", "1", "2"),
        ("map_values(., 9), map_values(empty)", "[1,2]", "[1,2]; []"),
        (".[] |= select(. > 1), (.[0] |= empty)", "[1,2]", "[2]; [2]"),
        (".[] |= (.[] |= (. + 1, 7))", "[[1],[2,3]]", "[[2],[3,4]]"),
        (".[] |= if . > 1 then . * 2 else ., 5 end", "[1,2]", "[1,4]"),
        (".a += (1, 2)", r#"{"a":1}"#, r#"{"a":2}; {"a":3}"#),
        (".[] |= first(., error)", "[1]", "[1]"),
    ]);
}

#[test]
fn a_step_of_reduce_is_the_last_output_or_null() {
    check(&[
        ("[reduce (1, 2) as $i (0; ., 1)]", "0", "[1]"),
        ("[reduce (1, 2) as $i (0; empty)]", "0", "[null]"),
        ("reduce .[] as $i (0; if $i > 1 then empty else . + $i end)", "[1,2]", "null"),
        ("reduce .[] as $i ([]; ., . + [$i])", "[1,2]", "[1,2]"),
        ("reduce .[] as $i (0; error, 1)", "[1]", "0 (not a string)"),
        ("path(reduce (\"a\", \"b\") as $k (.; .x, .[$k]))", "null", r#"["a","b"]"#),
        ("(reduce (\"a\", \"b\") as $k (.; getpath([$k]))) |= 5", r#"{"a":{"b":1}}"#, r#"{"a":{"b":5}}"#),
        ("label $out | reduce .[] as $i (0; ., break $out)", "[1]", ""),
    ]);
}

#[test]
fn groups_keep_their_places() {
    check(&[
        (r#"[scan("(a)?(b)")]"#, "\"xbab\"", r#"[[null,"b"],["a","b"]]"#),
        (r#"[scan("[a-z]")], [scan("(x)")]"#, "\"abx\"", r#"["a","b","x"]; [["x"]]"#),
        (r#"match("(a)?é").captures"#, "\"óé\"", r#"[{"offset":-1,"length":0,"string":null,"name":null}]"#),
        (r#"match("(?<x>a)?é").captures"#, "\"é\"", r#"[{"offset":-1,"length":0,"string":null,"name":"x"}]"#),
        (
            r#"match("(é)") | {offset, captures}"#,
            "\"óé\"",
            r#"{"offset":1,"captures":[{"offset":1,"length":1,"string":"é","name":null}]}"#,
        ),
        (r#"capture("(a)?(?<x>c)?(?<y>b)")"#, "\"b\"", r#"{"x":null,"y":"b"}"#),
        (r#"sub("(?<x>a)?b"; "[\(.x)]"), gsub("(?<x>[ab])"; "\(.x)\(.x)")"#, "\"b-a\"", r#""[null]-a"; "bb-aa""#),
        (r#"test("((a)|b)+"), [match("((a)|b)+").captures[].offset]"#, "\"éab\"", "true; [2,1]"),
        (r#"[match(""; "g").offset], [match(""; "gn")], gsub(""; "-")"#, "\"éa\"", r#"[0,1,2]; []; "-é-a-""#),
    ]);
}

#[test]
fn flags_may_be_null_or_stand_behind_the_expression() {
    check(&[
        (
            r#"test(["A", "i"]), test("A"; null), test(["A"]), [match(["A", "gi"]).offset]"#,
            "\"aa\"",
            "true; false; false; [0,1]",
        ),
        (r#"capture(["(?<x>A)", "i"]), [scan(["A", "i"])]"#, "\"aa\"", r#"{"x":"a"}; ["a","a"]"#),
        (r#"test("a"; "y")"#, "\"a\"", "invalid regex flag: y"),
        ("test(1)", "\"a\"", "cannot use 1 as string"),
        (r#"test("a")"#, "1", "cannot use 1 as string"),
        (
            r#"[.[] | test("a.b"; "s"), test("^b"; "m"), test("a b"; "x"), test("a.b"; "p")]"#,
            "[\"a\\nb\"]",
            "[true,true,false,true]",
        ),
        (r#"test("(a"), 1"#, "\"a\"", "invalid regex: unclosed group"),
    ]);
}

#[test]
fn an_expression_keeps_its_flags_and_its_place_among_many() {
    check(&[
        (r#"[test("A"), test("A"; "i"), test("A"; "in"), test("A")]"#, "\"a\"", "[false,true,true,false]"),
        (r#"test("", "a"; "n", null)"#, "\"a\"", "false; true; true; true"),
        (r#"[.[] | test("^" + (., "7") + "$")] | map(select(.)) | length"#, &texts(), "41"),
    ]);
}

/// The numbers below 40, as texts.
fn texts() -> String {
    format!("{:?}", (0..40).map(|n| n.to_string()).collect::<Vec<_>>())
}

#[test]
fn null_is_an_empty_text_to_join() {
    check(&[
        ("join(\"/\")", "[\"a\",null,1.50,true]", "\"a//1.50/true\""),
        ("join(\", \")", r#"{"a":"x","b":null}"#, "\"x, \""),
        ("join(1), join(null)", "[]", "\"\"; \"\""),
        ("join(null), join(\"-\", \"+\")", "[\"a\",\"b\"]", "\"ab\"; \"a-b\"; \"a+b\""),
        ("join(1)", "[\"a\",\"b\"]", "cannot join by 1: it is no text"),
        ("join(\",\")", "[\"a\",[1]]", "cannot join [1]: it is no text, number or boolean"),
        ("join(\",\")", "5", "cannot join the items of 5: it is no array, and no object"),
        ("@sh", "[\"a\",1]", "\"'a' 1\""),
    ]);
}

#[test]
fn texts_are_read_as_jq_reads_them() {
    check(&[
        ("\"\\ud83d\\ude00\\\\ud83d\", \"\\(\"\\ud83d\\ude00\")\"", "0", "\"😀\\\\ud83d\"; \"😀\""),
        ("@base64d", "\"YQ\" \"YWI\" \"YQ=\" \"YWJj\" \"YQ==\"", "\"a\"; \"ab\"; \"a\"; \"abc\"; \"a\""),
        ("@base64d \"\\(.)!\"", "\"YQ\"", "\"a!\""),
        ("fromjson", "\" [1]\"", "[1]"),
        ("fromjson", "\"1 2\"", "cannot parse \"1 2\" as JSON: more than one value"),
        ("fromjson", "\"\"", "cannot parse \"\" as JSON: there is no value"),
        ("[.[] | tonumber]", "[\".5\",\"5.\",\"-.5\",\" 7 \"]", "[0.5,5.0,-0.5,7]"),
        ("[.[] | try tonumber catch 0]", "[\"inf\",\"1.e\",\".\",\"1 .5\",\"-\"]", "[0,0,0,0,0]"),
    ]);
}

#[test]
fn a_mistake_behind_a_joined_pair_has_its_place() {
    let text = r#""\ud83d\ude00" | nosuch"#;
    let wrong = Filter::new(text).expect_err("there is no such filter");
    let at = text.find("nosuch").expect("it is there");
    assert_eq!(wrong.mistakes()[0].0, at..text.len());
    assert!(wrong.to_string().contains(text), "{wrong}");
    let half = Filter::new(r#""\ud83d""#).expect_err("half a character");
    assert!(half.to_string().contains("expected 4-digit hexadecimal"), "{half}");
}

#[test]
fn a_filter_without_words_is_the_identity() {
    for text in ["", " \n", "# nothing", "#\\\n."] {
        assert_eq!(answer(text, "1 [2]"), "1; [2]", "{text}");
        // Of a stage of a program, the expression is missing.
        assert!(Expression::new(text).is_err(), "{text}");
    }
}

#[test]
fn numbers_and_times_are_those_of_jq() {
    check(&[
        ("gamma == lgamma", "5", "true"),
        ("todateiso8601", "1.5", "\"1970-01-01T00:00:01Z\""),
        ("[.[] | nearbyint]", "[2.5,3.5,-0.4]", "[2.0,4.0,-0.0]"),
        ("todate, (gmtime | todate)", "1.5", "\"1970-01-01T00:00:01Z\"; \"1970-01-01T00:00:01Z\""),
        (
            "1.7976931348623157e308 * 1, -1.7976931348623157e308 * 1",
            "0",
            "1.7976931348623157e+308; -1.7976931348623157e+308",
        ),
    ]);
}

#[test]
fn an_error_that_halts_ends_its_line() {
    check(&[
        ("halt_error", "{\"a\":1}", "Stderr([123, 34, 97, 34, 58, 49, 125, 10]); Halted(5)"),
        ("halt_error(7)", "\"a\"", "Stderr([97]); Halted(7)"),
        ("halt_error", "null", "Halted(5)"),
    ]);
}

#[test]
fn a_row_has_no_file_and_nothing_to_write_to() {
    for (text, name) in [
        ("{a, file: input_filename}", "input_filename"),
        ("debug", "debug"),
        ("debug(.a)", "debug"),
        (".a | stderr", "stderr"),
        ("now", "now"),
    ] {
        let wrong = Expression::new(text).expect_err("it is refused").to_string();
        assert!(wrong.starts_with(&format!("`{name}` is not supported: ")), "{wrong}");
        assert_eq!(Filter::new(text).is_ok(), name != "now", "{text}");
    }
    assert!(Expression::new("def debug: 1; debug, (try halt_error catch 0)").is_ok());
}

#[test]
fn entries_have_the_names_of_jq() {
    check(&[
        (
            "from_entries",
            r#"[{"Key":"Name","Value":"web"},{"Key":"env","Value":"prod"}]"#,
            r#"{"Name":"web","env":"prod"}"#,
        ),
        (
            "from_entries",
            r#"[{"name":"a","value":null},{"Name":"b","Value":2},{"key":"c"}]"#,
            r#"{"a":null,"b":2,"c":null}"#,
        ),
        ("from_entries, with_entries(.)", "[]", "{}; {}"),
        ("with_entries({name: .key, value: (.value + 1)})", r#"{"a":1,"b":2}"#, r#"{"a":2,"b":3}"#),
        ("from_entries", r#"[{"kye":"a","value":1}]"#, "an entry has no `key`, `Key`, `name` or `Name`"),
        ("[.[] | try from_entries catch 0]", r#"[[{"key":null}],[{"key":false}],[{"key":""}]]"#, r#"[0,0,{"":null}]"#),
    ]);
}

#[test]
fn a_text_is_split_by_the_expressions_that_match_it() {
    check(&[
        (
            r#"[splits("\\W+")], split("\\W+"; null), split("\\W+"; "n")"#,
            "\"Köln Ulm\"",
            r#"["Köln","Ulm"]; ["Köln","Ulm"]; ["Köln","Ulm"]"#,
        ),
        (r#"[splits("Ö"; "i")], split("É"; "i")"#, "\"aöbéc\"", r#"["a","béc"]; ["aöb","c"]"#),
        (r#"[splits(["B", "i"])], split(["B", "i"]; null)"#, "\"abc\"", r#"["a","c"]; ["a","c"]"#),
        (r#"[splits("(,) *")], [splits("x")]"#, "\"a, b,c\"", r#"["a","b","c"]; ["a, b,c"]"#),
        (r#"[splits("")], [splits(""; "n")]"#, "\"éa\"", r#"["","é","a",""]; ["éa"]"#),
        (r#"split(",", "b"; null)"#, "\"a,b\"", r#"["a","b"]; ["a,",""]"#),
        (r#"[splits(1)]"#, "\"a\"", "cannot use 1 as string"),
    ]);
}

#[test]
fn items_that_are_picked_stay_in_an_array() {
    check(&[
        ("pick(.[2], .[0], .[0])", "[1,2,3,4]", "[1,null,3]"),
        (
            "pick(.a[1], .b), pick(.a[1].c)",
            r#"{"a":[5,{"c":6}],"b":7}"#,
            r#"{"a":[null,{"c":6}],"b":7}; {"a":[null,{"c":6}]}"#,
        ),
        ("pick(first), pick(first | first)", "[[10,20],30]", "[[10,20]]; [[10]]"),
        ("pick(.a.b.c)", "null", r#"{"a":{"b":{"c":null}}}"#),
        ("pick(.[1:]), pick(.)", "[1,2,3]", "[2,3]; [1,2,3]"),
        ("pick(.a, .a.b), pick(empty)", r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":1,"c":2}}; null"#),
        ("try pick(.[-1]) catch \"no\"", "[1,2]", "\"no\""),
    ]);
}

#[test]
fn a_range_without_a_step_is_empty() {
    check(&[
        ("[limit(3; range(0; .n; .step))]", r#"{"n":5,"step":0} {"n":5,"step":0.0} {"n":5,"step":-1}"#, "[]; []; []"),
        ("[range(0, 1; 3, 4; 1, 2)] == [0,1,2,0,2,0,1,2,3,0,2,1,2,1,1,2,3,1,3]", "0", "true"),
        ("[range(5; 0; -2)], [range(0; 1; 0.5)], [range(0; 5; 9)]", "0", "[5,3,1]; [0,0.5]; [0]"),
    ]);
}

#[test]
fn several_replacements_are_as_many_texts() {
    check(&[
        (r#"[gsub("a"; "b", "c")], [sub("a"; "b", "c")]"#, "\"aa\"", r#"["bb","cc"]; ["ba","ca"]"#),
        (r#"[gsub("(?<x>.)"; .x + "1", .x + "2")]"#, "\"ab\"", r#"["a1b1","a2b2"]"#),
        (r#"[gsub("a"; empty)], [gsub("b"; empty)]"#, "\"aa\"", r#"["aa"]; ["aa"]"#),
        (r#"[gsub("a", "b"; "-")], [gsub("A"; "-"; "i", "")]"#, "\"ab\"", r#"["-b","a-"]; ["-b","ab"]"#),
        (r#"gsub("^"; ">"), gsub("$"; "<"), gsub("a"; "b"; null)"#, "\"aa\"", r#"">aa"; "aa<"; "bb""#),
        (r#"gsub("a"; 1)"#, "\"a\"", "cannot calculate \"\" + 1"),
    ]);
}

#[test]
fn rows_are_joined_by_their_names() {
    check(&[
        (
            "[JOIN(.ids; .rows[]; .id)]",
            r#"{"ids":{"1":"a"},"rows":[{"id":"1"},{"id":"2"}]}"#,
            r#"[[{"id":"1"},"a"],[{"id":"2"},null]]"#,
        ),
        ("JOIN({\"1\": 2}; tostring)", "[1]", "[[1,2]]"),
        ("JOIN({\"1\": 2}; .[]; tostring; add)", "[1]", "3"),
    ]);
}

/// The book has these as differences.
#[test]
fn some_answers_are_those_of_jaq() {
    check(&[
        (r#"[(1, 2) * (3, 4)], ["\(1, 2)-\(3, 4)"]"#, "0", r#"[3,4,6,8]; ["1-3","1-4","2-3","2-4"]"#),
        ("[limit(-1; 1, 2)], path(.[1:])", "[0]", r#"[]; [{"start":1}]"#),
        (".[length / 2 | floor], [.[] | floor]", "[0,1]", "1; [0,1]"),
    ]);
    for (filter, input) in [
        ("del(.[0])", "[]"),
        (".[0] |= 1", "[]"),
        ("del(.a.b)", "{}"),
        (".a.b = 1", "{}"),
        ("delpaths([[\"a\", \"b\"]])", "{}"),
        (".[length / 2]", "[0,1]"),
        (".[1.5:]", "[0,1]"),
        ("reverse", "null"),
    ] {
        assert_eq!(answer(&format!("try ({filter} | 0) catch 1"), input), "1", "{filter} of {input}");
    }
    for missing in ["format(\"csv\")", "modulemeta", "get_prog_origin"] {
        assert!(Filter::new(missing).is_err(), "{missing}");
    }
}
