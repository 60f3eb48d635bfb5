//! The arguments of a tool call for their check (CONTRACT 15, 41): JSON in the text of a JSON string, whose own escapes
//! hide a value from whoever does not decode them too.

mod numbers;

pub use numbers::ArgumentNumbers;
pub(super) use numbers::is_of_number;

use crate::json::scan::scan;
use crate::json::text::{decode, escape};
use std::borrow::Cow;

/// What a check reads of arguments, given without the escapes of the string around them: JSON with its escapes written
/// out and, behind it on lines of their own, the numbers that are not written as readers show them. Other text is read
/// as it is and, behind a line feed, decoded, since nobody knows what a client makes of it.
pub fn arguments_text(arguments: &str) -> Cow<'_, str> {
    let has_escape = memchr::memchr(b'\\', arguments.as_bytes()).is_some();
    let numbers = odd_numbers(arguments);
    if !has_escape && numbers.is_empty() {
        return arguments.into();
    }
    let is_json = scan(arguments.as_bytes()).is_ok();
    let mut text = match has_escape {
        true => decode(arguments),
        false => arguments.to_owned(),
    };
    match (is_json, has_escape) {
        (true, _) => text.push_str(&numbers),
        (false, true) => text = format!("{arguments}\n{text}"),
        (false, false) => return arguments.into(),
    }
    text.into()
}

/// The numbers that are long once they are written out, and are not written so: each on a line of its own, behind a line
/// feed and the words of its name.
fn odd_numbers(json: &str) -> String {
    let mut numbers = String::new();
    ArgumentNumbers::each_of(json, &mut |number| {
        numbers.push('\n');
        numbers.push_str(&number.text);
    });
    numbers
}

/// The same of a text that may be borrowed.
pub(crate) fn arguments_text_of(arguments: Cow<'_, str>) -> Cow<'_, str> {
    let read = match arguments_text(&arguments) {
        Cow::Owned(read) => Some(read),
        Cow::Borrowed(_) => None,
    };
    read.map_or(arguments, Cow::Owned)
}

/// The longest escape: the two halves of a surrogate pair.
const LONGEST_ESCAPE: usize = 12;

/// Writes out the escapes of arguments that come in pieces, wherever these are cut. Holds less than one escape.
#[derive(Clone, Debug, Default)]
pub struct ArgumentsDecoder {
    /// The beginning of an escape.
    begun: String,
}

impl ArgumentsDecoder {
    /// The text of one more piece, as far as it does not depend on what follows.
    pub fn push(&mut self, piece: &str) -> String {
        let mut text = std::mem::take(&mut self.begun);
        text.push_str(piece);
        let end = complete_until(&text);
        self.begun = text.split_off(end);
        decode(&text)
    }

    /// Whether an escape has begun.
    pub fn is_inside_escape(&self) -> bool {
        !self.begun.is_empty()
    }

    /// What has begun and does not end, as it is written.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.begun)
    }
}

/// Where the last escape begins that more text may continue; the end of the text without one.
fn complete_until(text: &str) -> usize {
    let mut at = 0;
    while let Some(place) = memchr::memchr(b'\\', &text.as_bytes()[at..]) {
        at += place;
        let rest = &text[at + 1..];
        if rest.len() < LONGEST_ESCAPE - 1 && may_go_on(rest) {
            return at;
        }
        at = (at + 1 + escape(rest).1).min(text.len());
    }
    text.len()
}

/// Whether what stands behind a backslash, and is shorter than the longest escape, may be less than a whole one.
fn may_go_on(rest: &str) -> bool {
    let Some(unit) = rest.strip_prefix('u') else {
        return rest.is_empty();
    };
    match unit.get(..4) {
        _ if unit.len() < 4 => is_hex(unit),
        // The first half of a pair waits for the second one.
        Some(first) if is_first_half(first) => begins_unit(&unit[4..]),
        _ => false,
    }
}

fn is_hex(digits: &str) -> bool {
    digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn is_first_half(unit: &str) -> bool {
    let value = u32::from_str_radix(unit, 16);
    is_hex(unit) && value.is_ok_and(|value| (0xD800..0xDC00).contains(&value))
}

/// Whether a text is less than one escape of four digits.
fn begins_unit(text: &str) -> bool {
    match text.strip_prefix("\\u") {
        Some(digits) => digits.len() < 4 && is_hex(digits),
        None => "\\u".starts_with(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{ArgumentsDecoder, arguments_text};

    #[test]
    fn escapes_are_written_out_and_what_is_no_json_is_read_in_both_forms() {
        for (arguments, text) in [
            (r#"{"a":"b"}"#, r#"{"a":"b"}"#),
            (r#"{"n":"\u0034111"}"#, r#"{"n":"4111"}"#),
            (r#"{"\u006e":"a\tb\/c\\d"}"#, "{\"n\":\"a\tb/c\\d\"}"),
            (r#"{"n":"\ud83d\ude00\ud83d"}"#, "{\"n\":\"😀\u{fffd}\"}"),
            (r#"{"n":"\u0034"#, "{\"n\":\"\\u0034\n{\"n\":\"4"),
            (r"C:\new", "C:\\new\nC:\new"),
            (r#"{"n":12345678,"x":1.5}"#, r#"{"n":12345678,"x":1.5}"#),
            (
                r#"{"n":[4111111111111111.0,"1111111111.0"],"x":"a\"1234567890.0"}"#,
                "{\"n\":[4111111111111111.0,\"1111111111.0\"],\"x\":\"a\"1234567890.0\"}\nn: 4111111111111111",
            ),
            (
                "[4.111111111111111e15, -1.23456789e8]",
                "[4.111111111111111e15, -1.23456789e8]\n4111111111111111\n-123456789",
            ),
            ("12345678.0", "12345678.0\n12345678"),
            (
                r#"{"orderId":12345678.5,"a":[{"b":1}, 12345678.0]}"#,
                "{\"orderId\":12345678.5,\"a\":[{\"b\":1}, 12345678.0]}\norder Id: 12345678 .5\na: 12345678",
            ),
            ("12345678.0 and more", "12345678.0 and more"),
            (r#"{"n":12345678.0,"open"#, r#"{"n":12345678.0,"open"#),
            ("", ""),
        ] {
            assert_eq!(arguments_text(arguments), text, "{arguments}");
        }
    }

    #[test]
    fn pieces_of_any_cut_have_the_text_of_the_whole() {
        for arguments in [
            r#"{"n":"\u0034111 \"\\\/\b\f\n\r\t\u00e9"}"#,
            r#""\ud83d\ude00!\uD83D\u0041\ud83d\\u\ud83d\ud83d\ude00\ude00""#,
            r#"\x\ж\u12ж\u\ud83dж\ud83d\uж\ud83d\u12 \\\\u0034"#,
            "no escape ж😀",
        ] {
            let whole = super::decode(arguments);
            let places: Vec<usize> = arguments.char_indices().map(|(at, _)| at).collect();
            for (number, first) in places.iter().enumerate() {
                for second in &places[number..] {
                    let mut decoder = ArgumentsDecoder::default();
                    let mut text = decoder.push(&arguments[..*first]);
                    text += &decoder.push(&arguments[*first..*second]);
                    text += &decoder.push(&arguments[*second..]);
                    assert!(decoder.begun.len() < super::LONGEST_ESCAPE);
                    assert!(!decoder.is_inside_escape(), "{arguments}");
                    assert_eq!(text, whole, "{arguments} cut at {first}, {second}");
                }
            }
        }
    }

    #[test]
    fn an_escape_without_its_end_stays_as_it_is_written() {
        for begun in [r"\", r"\u", r"\u003", r"\ud83d", r"\ud83d\", r"\ud83d\ude0"] {
            let mut decoder = ArgumentsDecoder::default();
            assert_eq!(decoder.push(begun), "");
            assert!(decoder.is_inside_escape());
            assert_eq!(decoder.finish(), begun);
        }
    }
}
