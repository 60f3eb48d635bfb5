//! Counts are those of the published vocabularies; the expected ones come from the crate `bpe-openai`,
//! whose counts equal tiktoken's.

use super::*;

/// A text, its tokens in `o200k_base`, and in `cl100k_base`.
const COUNTS: &[(&str, u64, u64)] = &[
    ("", 0, 0),
    ("hello world", 2, 2),
    ("Привет, мир", 4, 6),
    (
        "The quick brown fox jumps over the lazy dog. It's 12345 o'clock, isn't it?\n",
        20,
        22,
    ),
    (
        "Съешь ещё этих мягких французских булок, да выпей же чаю. Цена — 1 250 000 ₽!\n",
        29,
        50,
    ),
    (
        "fn main() {\n    let x: Vec<u8> = (0..10).collect();\n\tprintln!(\"{x:?}\"); // 42\n}\r\n",
        32,
        31,
    ),
    (
        "😀👨\u{200d}👩\u{200d}👧\u{200d}👦 🇷🇺 e\u{301} naïve 日本語 한국어 العربية",
        25,
        43,
    ),
    (
        "https://example.org/a/b?c=d&e=%D0%BF#f  ____ ------ \n\n   \t  x",
        24,
        24,
    ),
    (
        "ПРИВЕТ КАК ДЕЛА hello WORLD camelCase snake_case HTTPServer",
        17,
        21,
    ),
    ("  leading and trailing  ", 5, 5),
];
/// A unit, how often it is repeated, and the tokens as above: long pieces take another way.
const REPEATED: &[(&str, usize, u64, u64)] = &[
    ("a", 1000, 125, 125),
    ("я", 1000, 500, 1000),
    (" ", 1000, 9, 9),
    ("ab", 500, 250, 500),
    ("\u{1f600}", 300, 300, 600),
    ("-", 1000, 16, 16),
    ("Привет! How are you? ", 200, 1401, 1601),
];

#[test]
fn counts_are_those_of_the_published_vocabularies() {
    let repeated = REPEATED
        .iter()
        .map(|(unit, times, new, old)| (unit.repeat(*times), *new, *old));
    let texts = COUNTS
        .iter()
        .map(|(text, new, old)| ((*text).to_owned(), *new, *old));
    for (text, new, old) in texts.chain(repeated) {
        let shown: String = text.chars().take(40).collect();
        assert_eq!(Encoding::O200kBase.count(&text), new, "{shown:?}");
        assert_eq!(Encoding::Cl100kBase.count(&text), old, "{shown:?}");
    }
}

#[test]
fn the_vocabularies_are_whole() {
    for (encoding, tokens) in [
        (Encoding::O200kBase, 199_998),
        (Encoding::Cl100kBase, 100_256),
    ] {
        let tokenizer = encoding.tokenizer();
        assert_eq!(tokenizer.vocabulary.len(), tokens, "{encoding:?}");
        assert!(tokenizer.splitter.is_some(), "{encoding:?}");
    }
}

#[test]
fn the_pieces_of_a_text_are_the_whole_of_it() {
    for (text, ..) in COUNTS {
        for encoding in Encoding::ALL {
            let mut joined = String::new();
            if let Some(splitter) = &encoding.tokenizer().splitter {
                splitter.each_piece(text, |piece| joined.push_str(piece));
            }
            assert_eq!(joined, *text, "{encoding:?}");
        }
    }
}

#[test]
fn names_parse_back() {
    for encoding in Encoding::ALL {
        assert_eq!(encoding.as_str().parse(), Ok(encoding));
    }
    assert!("p50k_base".parse::<Encoding>().is_err());
}
