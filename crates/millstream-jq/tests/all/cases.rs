//! The meaning of filters: a filter, an input, and its outputs, by subject.

use millstream::jq::{Filter, Options, Style};

#[track_caller]
fn check(cases: &[(&str, &str, &[&str])]) {
    for (filter, input, expected) in cases {
        let options = Options::default().style(Style { indent: None, ..Style::default() });
        let compiled = Filter::with(filter, &options).unwrap_or_else(|wrong| panic!("{filter}: {wrong}"));
        let answer = compiled.answer(input.as_bytes());
        let out = String::from_utf8_lossy(&answer.out).into_owned();
        assert_eq!((out.lines().collect::<Vec<_>>(), answer.said), (expected.to_vec(), vec![]), "{filter} of {input}");
    }
}

#[test]
fn paths() {
    check(&[
        (".a", r#"{"a":1}"#, &["1"]),
        (".a.b", r#"{"a":{"b":2}}"#, &["2"]),
        (".a.b", "{}", &["null"]),
        (".a", "null", &["null"]),
        (".a?", "5", &[]),
        (".\"x y\", .[\"x y\"]", r#"{"x y":1}"#, &["1", "1"]),
        (".[1], .[-1], .[5]", "[1,2,3]", &["2", "3", "null"]),
        (".[1:], .[:1], .[-2:]", "[1,2,3]", &["[2,3]", "[1]", "[2,3]"]),
        (".[1:3]", "\"étés\"", &["\"té\""]),
        (".[]", r#"{"a":1,"b":[2]}"#, &["1", "[2]"]),
        ("..", "[[1]]", &["[[1]]", "[1]", "1"]),
        (".a[].b", r#"{"a":[{"b":1},{"b":2}]}"#, &["1", "2"]),
        (".. | numbers", r#"{"a":[1,{"b":2}],"c":"x"}"#, &["1", "2"]),
        ("[paths]", r#"{"a":[1]}"#, &["[[\"a\"],[\"a\",0]]"]),
        ("getpath([\"a\",\"b\"])", r#"{"a":{"b":3}}"#, &["3"]),
        ("[path(..)]", "[1]", &["[[],[0]]"]),
        (".a as $x | .b + $x", r#"{"a":1,"b":2}"#, &["3"]),
        (". as [$a, {b: $c}] | $a + $c", r#"[1,{"b":2}]"#, &["3"]),
    ]);
}

#[test]
fn values_of_operators() {
    check(&[
        (".a + .b", r#"{"a":1,"b":2}"#, &["3"]),
        (". + null", "1", &["1"]),
        (". + [3]", "[1]", &["[1,3]"]),
        (". + {\"b\":2}", r#"{"a":1,"b":1}"#, &[r#"{"a":1,"b":2}"#]),
        (". * {\"a\":{\"c\":3}}", r#"{"a":{"b":2}}"#, &[r#"{"a":{"b":2,"c":3}}"#]),
        (". - [2]", "[1,2,3,2]", &["[1,3]"]),
        (". / \", \"", "\"a, b\"", &[r#"["a","b"]"#]),
        (". * 3", "\"ab\"", &["\"ababab\""]),
        ("5 % 3, -5 % 3", "0", &["2", "-2"]),
        ("1 / 2", "0", &["0.5"]),
        // jaq keeps whole numbers and fractions apart; jq would write 1411.
        ("2 * 705.5", "0", &["1411.0"]),
        ("12345678901234567890 + 1", "0", &["12345678901234567891"]),
        (".", "1.50", &["1.50"]),
        (". == 1.0", "1", &["true"]),
        ("[.[] | . < 2]", "[1,2,null,\"a\",[]]", &["[true,false,true,false,false]"]),
        (".a // \"none\"", r#"{"a":null}"#, &["\"none\""]),
        ("(false, null, 1) // 2", "0", &["1"]),
        ("true and (true, false)", "0", &["true", "false"]),
        ("(true, false) or false", "0", &["true", "false"]),
        ("[not, (null | not)]", "1", &["[false,true]"]),
        ("if . > 1 then \"many\" elif . == 1 then \"one\" else \"none\" end", "1", &["\"one\""]),
        ("if . then 1 end", "false", &["false"]),
        ("try error(\"x\") catch .", "0", &["\"x\""]),
        ("[.[] | try (1 / .) catch \"no\"]", "[1,\"a\"]", &["[1.0,\"no\"]"]),
        ("\"a \\(1 + 1) \\(.)\"", "[3]", &["\"a 2 [3]\""]),
    ]);
}

#[test]
fn objects_and_arrays() {
    check(&[
        (
            "{a, b: .c, (.d): 1, \"e\": 2, \"x\\(1)\": 3}",
            r#"{"a":1,"c":2,"d":"k"}"#,
            &[r#"{"a":1,"b":2,"k":1,"e":2,"x1":3}"#],
        ),
        ("{a: (1, 2)}", "0", &[r#"{"a":1}"#, r#"{"a":2}"#]),
        ("keys, keys_unsorted", r#"{"b":1,"a":2}"#, &[r#"["a","b"]"#, r#"["b","a"]"#]),
        ("to_entries", r#"{"a":1}"#, &[r#"[{"key":"a","value":1}]"#]),
        ("from_entries", r#"[{"key":"a","value":1}]"#, &[r#"{"a":1}"#]),
        ("with_entries(.value += 1)", r#"{"a":1}"#, &[r#"{"a":2}"#]),
        ("map_values(. * 2)", r#"{"a":1,"b":2}"#, &[r#"{"a":2,"b":4}"#]),
        ("has(\"a\"), has(\"b\")", r#"{"a":1}"#, &["true", "false"]),
        ("map(in({\"a\":1}))", r#"["a","b"]"#, &["[true,false]"]),
        ("del(.a)", r#"{"a":1,"b":2}"#, &[r#"{"b":2}"#]),
        ("delpaths([[\"a\"],[\"b\",0]])", r#"{"a":1,"b":[1,2]}"#, &[r#"{"b":[2]}"#]),
        // jaq deletes the first path first, after which the second one leads to another item.
        ("delpaths([[0], [1]]), delpaths([paths(. == 1 or . == 2)])", "[1,2,3,4]", &["[3,4]", "[3,4]"]),
        ("delpaths([path(.[0], .[-1])]), delpaths([path(.[1:3], .[0])])", "[1,2,3,4]", &["[2,3]", "[4]"]),
        (
            "delpaths([path(.a, .b)]), delpaths([path(.a[0].b, .a[0])])",
            r#"{"a":[{"b":1},2],"b":3}"#,
            &["{}", r#"{"a":[2],"b":3}"#],
        ),
        (".a = 3, .a |= . + 1, .a += 2", r#"{"a":1}"#, &[r#"{"a":3}"#, r#"{"a":2}"#, r#"{"a":3}"#]),
        (".[] += 1", "[1,2]", &["[2,3]"]),
        ("pick(.a.b)", r#"{"a":{"b":1,"c":2},"d":3}"#, &[r#"{"a":{"b":1}}"#]),
        ("map(. + 1)", "[1,2]", &["[2,3]"]),
        ("sort, reverse, unique", "[2,1,2]", &["[1,2,2]", "[2,1,2]", "[1,2]"]),
        (
            "sort_by(.a), min_by(.a), max_by(.a)",
            r#"[{"a":2},{"a":1}]"#,
            &[r#"[{"a":1},{"a":2}]"#, r#"{"a":1}"#, r#"{"a":2}"#],
        ),
        ("group_by(.a) | map(length)", r#"[{"a":1},{"a":2},{"a":1}]"#, &["[2,1]"]),
        ("unique_by(.a)", r#"[{"a":1,"b":1},{"a":1,"b":2}]"#, &[r#"[{"a":1,"b":1}]"#]),
        ("add, length, any(. > 2), all(. > 0)", "[1,2,3]", &["6", "3", "true", "true"]),
        ("flatten, flatten(1)", "[1,[2,[3]]]", &["[1,2,3]", "[1,2,[3]]"]),
        ("[.[] | flatten(1)], [.[] | flatten]", "[[],{},[[2,[3]]]]", &["[[],[],[2,[3]]]", "[[],[],[2,3]]"]),
        ("[limit(2; .[])], first, last, nth(1)", "[1,2,3]", &["[1,2]", "1", "3", "2"]),
        ("[range(3)], [range(1; 3)], [range(0; 6; 2)]", "0", &["[0,1,2]", "[1,2]", "[0,2,4]"]),
        ("index(2), indices(2), contains([2]), inside([1,2,3])", "[1,2]", &["1", "[1]", "true", "true"]),
        ("transpose", "[[1,2],[3]]", &["[[1,3],[2,null]]"]),
        ("[combinations]", "[[1,2],[3]]", &["[[1,3],[2,3]]"]),
        ("walk(if type == \"number\" then . + 1 else . end)", "[1,[2]]", &["[2,[3]]"]),
        ("IN(1, 2), IN(.; 3)", "2", &["true", "false"]),
        ("INDEX(.id)", r#"[{"id":1},{"id":"a"}]"#, &[r#"{"1":{"id":1},"a":{"id":"a"}}"#]),
        ("toarray", "1", &["[1]"]),
        ("map(type)", r#"[null,true,1,"a",[],{}]"#, &[r#"["null","boolean","number","string","array","object"]"#]),
    ]);
}

#[test]
fn texts() {
    check(&[
        ("length, utf8bytelength", "\"été\"", &["3", "5"]),
        ("ascii_downcase, ascii_upcase", "\"aB\"", &["\"ab\"", "\"AB\""]),
        ("split(\",\"), join(\"-\")?", "\"a,b\"", &[r#"["a","b"]"#]),
        ("join(\"-\")", r#"["a",1,null]"#, &["\"a-1-\""]),
        (
            "startswith(\"a\"), endswith(\"c\"), ltrimstr(\"a\"), rtrimstr(\"c\"), trimstr(\"a\")",
            "\"abc\"",
            &["true", "true", "\"bc\"", "\"ab\"", "\"bc\""],
        ),
        ("trim, ltrim, rtrim", "\" a \"", &["\"a\"", "\"a \"", "\" a\""]),
        ("explode, (explode | implode)", "\"ab\"", &["[97,98]", "\"ab\""]),
        ("tojson, (tojson | fromjson)", "[1,\"a\"]", &["\"[1,\\\"a\\\"]\"", "[1,\"a\"]"]),
        ("tostring, (tostring | tonumber)", "12", &["\"12\"", "12"]),
        ("[.[] | try tonumber catch 0]", r#"["","1 2","7"," 7.5 ",8,"true"]"#, &["[0,0,7,7.5,8,0]"]),
        ("test(\"b+\"), test(\"B\"; \"i\"), test(\"x\")", "\"abbc\"", &["true", "true", "false"]),
        ("[match(\"a\"; \"g\").offset]", "\"banana\"", &["[1,3,5]"]),
        ("capture(\"(?<x>[a-z]+)(?<n>[0-9]+)\")", "\"ab12\"", &[r#"{"x":"ab","n":"12"}"#]),
        ("[scan(\"[0-9]\")]", "\"a1b2\"", &[r#"["1","2"]"#]),
        (
            "sub(\"b\"; \"x\"), gsub(\"b\"; \"x\"), [splits(\"b\")]",
            "\"abcb\"",
            &["\"axcb\"", "\"axcx\"", r#"["a","c",""]"#],
        ),
        (
            "@base64, (@base64 | @base64d), @uri, @html, @sh",
            "\"a b'<\"",
            &["\"YSBiJzw=\"", "\"a b'<\"", "\"a%20b%27%3C\"", "\"a b&apos;&lt;\"", "\"'a b'\\\\''<'\""],
        ),
        ("@csv, @tsv", r#"[1,"a\"b",null,true]"#, &["\"1,\\\"a\\\"\\\"b\\\",,true\"", "\"1\\ta\\\"b\\t\\ttrue\""]),
        ("ascii", "65", &["\"A\""]),
    ]);
}

#[test]
fn control() {
    check(&[
        ("reduce .[] as $x (0; . + $x)", "[1,2,3]", &["6"]),
        ("[foreach .[] as $x (0; . + $x)]", "[1,2,3]", &["[1,3,6]"]),
        ("[foreach .[] as $x (0; . + $x; [$x, .])]", "[1,2]", &["[[1,1],[2,3]]"]),
        ("def f(g): [g, g]; f(. + 1)", "1", &["[2,2]"]),
        ("def fac: if . < 2 then 1 else . * (. - 1 | fac) end; fac", "5", &["120"]),
        ("[.[] | select(. > 1)]", "[1,2,3]", &["[2,3]"]),
        ("[recurse(if . < 3 then . + 1 else empty end)]", "1", &["[1,2,3]"]),
        ("[while(. < 4; . * 2)], until(. > 10; . * 2), [limit(3; repeat(.))]", "1", &["[1,2]", "16", "[1,1,1]"]),
        ("label $out | .[] | if . == 2 then ., break $out else . end", "[1,2,3]", &["1", "2"]),
        ("isempty(empty), isempty(.)", "1", &["true", "false"]),
    ]);
}

#[test]
fn numbers_and_times() {
    check(&[
        ("floor, ceil, round, sqrt", "6.25", &["6", "7", "6", "2.5"]),
        ("abs, fabs", "-1", &["1", "1.0"]),
        ("pow(2; 3), log2", "8", &["8.0", "3.0"]),
        ("infinite > 1, (nan < nan), isnan", "1", &["true", "true", "false"]),
        (
            "infinite, -infinite, [nan], .a * 1e308",
            "{\"a\":1e9}",
            &["1.7976931348623157e+308", "-1.7976931348623157e+308", "[null]", "1.7976931348623157e+308"],
        ),
        ("{(1): nan}, {\"a\": tobytes}", "\"é\"", &["{\"1\":null}", "{\"a\":\"é\"}"]),
        (".", "[NaN, -Infinity, +1.5, 007]", &["[null,-1.7976931348623157e+308,1.5,7]"]),
        ("@csv, @tsv", "[1,Infinity,NaN]", &["\"1,1.7976931348623157e+308,\"", "\"1\\t1.7976931348623157e+308\\t\""]),
        ("todate, (todate | fromdate)", "1425599621", &["\"2015-03-05T23:53:41Z\"", "1425599621"]),
        ("strptime(\"%Y-%m-%d\") | mktime", "\"2015-03-05\"", &["1425513600"]),
        ("strftime(\"%A\")", "1425599621", &["\"Thursday\""]),
        ("gmtime | mktime", "1425599621", &["1425599621"]),
    ]);
}
