use crate::meaning::registry;
use millstream::prelude::ModelExt;
use proptest::prelude::*;

const PIECES: [&str; 30] = [
    "|n| {", "}", "let ", "a", "b", "n", " = ", ";", "(", ")", ",", "total", "above", "quote", "plus", "order", ".qty",
    ".", "@2", "@", "limit: ", "n: ", "3", "-1.5", "true", "\"x\"", "\"", "\n", "// c\n", "\u{e9}",
];

proptest! {
    /// A text is refused with a message for each mistake, or it runs.
    #[test]
    fn any_text_is_a_pipeline_or_has_a_message(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..30),
    ) {
        let text = format!("|n| {{ {}", pieces.concat());
        match registry().load::<u64, u64>(&text) {
            Ok(p) => prop_assert!(p.model(0..5).len() <= 5),
            Err(wrong) => prop_assert!(wrong.to_string().starts_with("error: ") && !wrong.mistakes().is_empty()),
        }
    }

    /// Statements that do not read each other can be exchanged.
    #[test]
    fn the_order_of_statements_means_nothing(n in 0..50_u64, limit in 0..30_u64) {
        let one = format!("let a = above(n, limit: {limit});");
        let two = format!("let b = plus(n, n: {n}, twice: false);");
        let load = |text: String| registry().load::<u64, u64>(&text).unwrap().model(0..60);
        let expected: Vec<u64> = (0..60).filter(|x| *x > limit).map(|x| 2 * x + n + x).collect();
        for text in [format!("{one} {two}"), format!("{two} {one}")] {
            prop_assert_eq!(load(format!("|n| {{ {text} three(a, b, n) }}")), expected.clone());
        }
    }
}
