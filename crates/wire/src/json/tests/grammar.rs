//! The grammar as data: what is accepted, what is refused and where, at any depth and size.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::json::SyntaxKind::*;
use crate::json::{Kind, Request, RequestShape, SyntaxKind, replace_spans, scan};

const ACCEPTED: &[(&str, Kind)] = &[
    ("null", Kind::Null),
    ("true", Kind::True),
    ("false", Kind::False),
    (" \t\r\n0\n", Kind::Number),
    ("-0", Kind::Number),
    ("-0.0e-0", Kind::Number),
    ("1e400", Kind::Number),
    ("1E+2", Kind::Number),
    ("12345678901234567890123", Kind::Number),
    ("0.1", Kind::Number),
    ("10.20e30", Kind::Number),
    (r#""""#, Kind::String),
    (r#""\"\\\/\b\f\n\r\t\u0000\uABcd""#, Kind::String),
    (r#""\ud800""#, Kind::String),
    (r#""\udc00\ud800""#, Kind::String),
    (r#""/""#, Kind::String),
    (
        "\"\u{7f}\u{80}\u{2028}\u{2029}\u{feff}\u{fffe}\u{10ffff}\"",
        Kind::String,
    ),
    ("[]", Kind::Array),
    ("[ ]", Kind::Array),
    ("[[],[[]],{}]", Kind::Array),
    ("[1 , 2\n,3]", Kind::Array),
    (r#"[null,true,false,"",0,{},[]]"#, Kind::Array),
    ("{}", Kind::Object),
    ("{ \n}", Kind::Object),
    (r#"{"":0}"#, Kind::Object),
    (r#"{"a":1,"a":1}"#, Kind::Object),
    (r#" { "a" : { "b" : [ { } , [ ] ] } } "#, Kind::Object),
    (r#"{"\u0000":"","{":"}","[":"]",",":":"}"#, Kind::Object),
];

#[test]
fn every_form_of_the_grammar_is_accepted() {
    for (body, kind) in ACCEPTED {
        assert_eq!(
            scan(body.as_bytes()).map(|found| found.kind()),
            Ok(*kind),
            "{body}"
        );
    }
}

const REFUSED: &[(&[u8], usize, SyntaxKind)] = &[
    (b"", 0, UnexpectedEnd),
    (b" \n", 2, UnexpectedEnd),
    (b"\xef\xbb\xbf{}", 0, ExpectedValue),
    (b"\xff\xfe{\0}\0", 0, NotUtf8),
    (b"\"\xc3\"", 1, NotUtf8),
    (b"\"\xc0\xaf\"", 1, NotUtf8),
    (b"\"\xed\xa0\x80\"", 1, NotUtf8),
    (b"\"\xf4\x90\x80\x80\"", 1, NotUtf8),
    (b"\"\xe2\x82", 1, NotUtf8),
    (b"\xc2\xa0 1", 0, ExpectedValue),
    (b"\x0b1", 0, ExpectedValue),
    (b"\x0c", 0, ExpectedValue),
    (b"nul", 0, ExpectedValue),
    (b"nulll", 4, TrailingData),
    (b"True", 0, ExpectedValue),
    (b"tru", 0, ExpectedValue),
    (b"NaN", 0, ExpectedValue),
    (b"Infinity", 0, ExpectedValue),
    (b"-Infinity", 1, InvalidNumber),
    (b"undefined", 0, ExpectedValue),
    (b"01", 1, TrailingData),
    (b"-01", 2, TrailingData),
    (b"+1", 0, ExpectedValue),
    (b".5", 0, ExpectedValue),
    (b"-", 1, UnexpectedEnd),
    (b"1.", 2, UnexpectedEnd),
    (b"1.e5", 2, InvalidNumber),
    (b"1e", 2, UnexpectedEnd),
    (b"1e+", 3, UnexpectedEnd),
    (b"1e+-1", 3, InvalidNumber),
    (b"0x10", 1, TrailingData),
    (b"1_000", 1, TrailingData),
    (b"1 2", 2, TrailingData),
    (b"--1", 1, InvalidNumber),
    (b"[1.2.3]", 4, ExpectedCommaOrBracket),
    (b"\"", 1, UnexpectedEnd),
    (b"\"abc", 4, UnexpectedEnd),
    (b"\"\\\"", 3, UnexpectedEnd),
    (b"\"\\x41\"", 1, InvalidEscape),
    (b"\"\\'\"", 1, InvalidEscape),
    (b"\"\\u12\"", 1, InvalidEscape),
    (b"\"\\u12G4\"", 1, InvalidEscape),
    (b"\"\\U0041\"", 1, InvalidEscape),
    (b"\"\\", 1, InvalidEscape),
    (b"\"\\\n\"", 1, InvalidEscape),
    (b"\"a\nb\"", 2, ControlCharacter),
    (b"\"\t\"", 1, ControlCharacter),
    (b"\"\0\"", 1, ControlCharacter),
    (b"\"\x1f\"", 1, ControlCharacter),
    (b"'a'", 0, ExpectedValue),
    (b"[", 1, UnexpectedEnd),
    (b"]", 0, ExpectedValue),
    (b"[1", 2, UnexpectedEnd),
    (b"[1,", 3, UnexpectedEnd),
    (b"[1,]", 3, ExpectedValue),
    (b"[,1]", 1, ExpectedValue),
    (b"[1 2]", 3, ExpectedCommaOrBracket),
    (b"[1}", 2, ExpectedCommaOrBracket),
    (b"[1,,2]", 3, ExpectedValue),
    (b"[1]]", 3, TrailingData),
    (b"[}", 1, ExpectedValue),
    (b"[1:2]", 2, ExpectedCommaOrBracket),
    (b"[[1],{]}", 6, ExpectedKey),
    (b"{", 1, UnexpectedEnd),
    (b"}", 0, ExpectedValue),
    (b"{\"a\"", 4, UnexpectedEnd),
    (b"{\"a\":", 5, UnexpectedEnd),
    (b"{\"a\":1", 6, UnexpectedEnd),
    (b"{\"a\":1,}", 7, ExpectedKey),
    (b"{,}", 1, ExpectedKey),
    (b"{a:1}", 1, ExpectedKey),
    (b"{1:1}", 1, ExpectedKey),
    (b"{\"a\" 1}", 5, ExpectedColon),
    (b"{\"a\"::1}", 5, ExpectedValue),
    (b"{\"a\":1]", 6, ExpectedCommaOrBrace),
    (b"{\"a\":1 \"b\":2}", 7, ExpectedCommaOrBrace),
    (b"{]", 1, ExpectedKey),
    (b"[{\"a\":1 \"b\":2}]", 8, ExpectedCommaOrBrace),
    (b"[{\"a\":1,}]", 8, ExpectedKey),
    (b"{\"a\":{\"b\"}}", 9, ExpectedColon),
    (b"{\"a\":}", 5, ExpectedValue),
    (b"{}{}", 2, TrailingData),
    (b"{}\0", 2, TrailingData),
    (b"{}//", 2, TrailingData),
    (b"/**/1", 0, ExpectedValue),
    (b"{}\xef\xbb\xbf", 2, TrailingData),
];

#[test]
fn everything_else_is_refused_where_it_breaks() {
    for (body, offset, kind) in REFUSED {
        let error = scan(body).expect_err(&String::from_utf8_lossy(body));
        assert_eq!(
            (error.offset, error.kind),
            (*offset, *kind),
            "{}",
            String::from_utf8_lossy(body)
        );
    }
}

#[test]
fn an_error_tells_the_place_and_quotes_nothing() {
    let error = scan(br#"{"secret":"hunter"x}"#).expect_err("no JSON");
    assert_eq!(
        error.to_string(),
        "not valid JSON at byte 18: expected ',' or '}'"
    );
    let error = scan(br#"{"prompt": "a", b: 1}"#).expect_err("no JSON");
    assert_eq!(
        error.to_string(),
        "not valid JSON at byte 16: expected a member name in quotes"
    );
}

#[test]
fn top_level_members_are_noted_in_order() {
    let body =
        br#" { "a" : 1e400 ,"b":{"a":[true]},"\u0061":"x" , "c":[ ], "d":null, "e":false } "#;
    let found = scan(body).unwrap();
    let seen: Vec<_> = found
        .members(body)
        .map(|m| (&body[m.key], &body[m.value], m.kind))
        .collect();
    let expected: Vec<(&[u8], &[u8], Kind)> = vec![
        (b"\"a\"", b"1e400", Kind::Number),
        (b"\"b\"", br#"{"a":[true]}"#, Kind::Object),
        (br#""\u0061""#, b"\"x\"", Kind::String),
        (b"\"c\"", b"[ ]", Kind::Array),
        (b"\"d\"", b"null", Kind::Null),
        (b"\"e\"", b"false", Kind::False),
    ];
    assert_eq!(seen, expected);
    let named: Vec<_> = found
        .members_named(body, "a")
        .map(|member| member.kind)
        .collect();
    assert_eq!(named, [Kind::Number, Kind::String]);
    assert_eq!(found.members_named(body, "A").count(), 0);
    assert!(!scan(b"[1]").unwrap().is_object());
    assert_eq!(scan(b"[1]").unwrap().members(b"[1]").count(), 0);
}

#[test]
fn members_beyond_the_kept_ones_are_found_too() {
    for count in [63, 64, 65, 66, 1000] {
        let text: Vec<_> = (0..count)
            .map(|n| format!(" \"k{}\" : [{n}, \"}}\"] ", n % 7))
            .collect();
        let body = format!("{{{},\"stream\":true}}", text.join(",")).into_bytes();
        let found = scan(&body).unwrap();
        let seen: Vec<_> = found
            .members(&body)
            .map(|m| (body[m.key].to_vec(), body[m.value].to_vec(), m.kind))
            .collect();
        assert_eq!(seen.len(), count + 1);
        for (n, (key, value, kind)) in seen[..count].iter().enumerate() {
            assert_eq!(
                (key, value, *kind),
                (
                    &format!("\"k{}\"", n % 7).into_bytes(),
                    &format!("[{n}, \"}}\"]").into_bytes(),
                    Kind::Array
                )
            );
        }
        assert!(Request::read(&RequestShape::CHAT, &body, &found).wants_stream());
        let spans = Request::read(&RequestShape::CHAT, &body, &found)
            .stream_true_spans()
            .into_iter();
        let edits: Vec<_> = spans.map(|span| (span, "false")).collect();
        assert!(replace_spans(&body, &edits).ends_with(b"\"stream\":false}"));
    }
}

#[test]
fn a_hundred_thousand_levels_neither_recurse_nor_fail() {
    const LEVELS: usize = 100_000;
    for (open, close) in [
        ("[", "]"),
        ("{\"a\":", "}"),
        ("[{\"a\":", "}]"),
        ("[[[{\"a\":", "}]]]"),
    ] {
        let deep = format!("{}1{}", open.repeat(LEVELS), close.repeat(LEVELS));
        assert!(scan(deep.as_bytes()).is_ok());
        assert!(scan(&deep.as_bytes()[..deep.len() - 1]).is_err());
        assert!(scan(format!("{deep}]").as_bytes()).is_err());
        let crossed = deep
            .replace('1', "1 ")
            .replacen(&format!("1 {}", &close[..1]), "1 :", 1);
        assert!(scan(crossed.as_bytes()).is_err());
        let body = format!(
            r#"{{"x":{deep},"messages":[{deep},{{"role":"user","x":{deep},"content":"hi"}}],"stream":true}}"#
        );
        let found = scan(body.as_bytes()).unwrap();
        let chat = Request::read(&RequestShape::CHAT, body.as_bytes(), &found);
        assert_eq!(chat.prompt(&[]).text, "hi");
        assert!(chat.wants_stream());
    }
}

#[test]
fn twelve_megabytes_are_read_whole() {
    let image = "QUJD".repeat(3 << 20);
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"see"}},{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{image}"}}}}]}}],"n":12345678901234567890123}}"#
    );
    let found = scan(body.as_bytes()).unwrap();
    assert_eq!(
        Request::read(&RequestShape::CHAT, body.as_bytes(), &found)
            .prompt(&[])
            .text,
        "see"
    );
    let mut broken = body.into_bytes();
    let late = broken.len() - 100;
    broken[late] = b'\n';
    let error = scan(&broken).expect_err("control character");
    assert_eq!(
        (error.offset, error.kind),
        (late, SyntaxKind::ControlCharacter)
    );
}
