//! JSON strings: where runs of ordinary characters end, and the meaning of escapes (RFC 8259 section 7).
//! `check` checks the grammar.

use monitor_model::MOST_PART_BREAKS;
use std::borrow::Cow;

/// How many bytes at the start of `bytes` stand for themselves inside a JSON string: everything up
/// to the first quote, backslash or control character.
#[inline]
pub(super) fn plain_len(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    // Most names and short values end inside the first word.
    if let Some((word, tail)) = rest.split_first_chunk::<8>() {
        if let Some(place) = special_in(*word) {
            return place;
        }
        rest = tail;
    }
    let mut blocks = 0;
    while let Some((block, tail)) = rest.split_first_chunk::<64>() {
        if !is_plain_block(block) {
            break;
        }
        rest = tail;
        blocks += 1;
        if blocks == SHORT_BLOCKS {
            return bytes.len() - rest.len() + plain_len_of_many(rest);
        }
    }
    while let Some((block, tail)) = rest.split_first_chunk::<16>() {
        if !is_plain_block(block) {
            break;
        }
        rest = tail;
    }
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        if let Some(place) = special_in(*word) {
            return bytes.len() - rest.len() + place;
        }
        rest = tail;
    }
    let end = rest.iter().position(|&byte| is_special(byte));
    bytes.len() - rest.len() + end.unwrap_or(rest.len())
}

/// Blocks after which a string counts as long.
const SHORT_BLOCKS: usize = 4;
/// What is searched at once: both passes over it find it in the nearest cache, and a control character behind
/// every few bytes costs no more than this much.
const WINDOW: usize = 1024;

/// The same for a long string: the end is searched with the widest registers that the machine has, and a second
/// pass, which the compiler turns into vector code, looks for control characters before it.
#[inline(never)]
fn plain_len_of_many(bytes: &[u8]) -> usize {
    let mut at = 0;
    for window in bytes.chunks(WINDOW) {
        let end = memchr::memchr2(b'"', b'\\', window);
        let before = window
            .get(..end.unwrap_or(window.len()))
            .unwrap_or_default();
        if before.iter().fold(u8::MAX, |least, &byte| least.min(byte)) < 0x20 {
            let control = before.iter().position(|&byte| byte < 0x20);
            return at + control.unwrap_or(before.len());
        }
        at += before.len();
        if end.is_some() {
            break;
        }
    }
    at
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

// Without a branch per byte, so that the compiler turns it into vector code.
#[inline]
fn is_plain_block<const N: usize>(block: &[u8; N]) -> bool {
    let mut special = 0u8;
    for &byte in block {
        special |= u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    }
    special == 0
}

// Eight bytes at once. A borrow can mark bytes above a real hit by mistake, never below it, so the
// lowest mark is always true.
#[inline]
fn special_in(word: [u8; 8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let word = u64::from_le_bytes(word);
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    // The three share their highest bits: neither quote nor backslash has one.
    let hits =
        word.wrapping_sub(ONES * 0x20) | quote.wrapping_sub(ONES) | backslash.wrapping_sub(ONES);
    let hits = hits & !word & HIGHS;
    (hits != 0).then(|| (hits.trailing_zeros() / 8) as usize)
}

/// The text of a JSON string token, given with its quotes. A surrogate escape without its partner
/// becomes U+FFFD, and so does anything that a checked token cannot hold. Borrows when the token
/// has no escape.
pub fn unescape(token: &[u8]) -> Cow<'_, str> {
    let inner = token.strip_prefix(b"\"").unwrap_or(token);
    let inner = inner.strip_suffix(b"\"").unwrap_or(inner);
    let Ok(inner) = simdutf8::basic::from_utf8(inner) else {
        return Cow::Owned(decode(&String::from_utf8_lossy(inner)));
    };
    match memchr::memchr(b'\\', inner.as_bytes()) {
        None => Cow::Borrowed(inner),
        Some(_) => Cow::Owned(decode(inner)),
    }
}

/// A text with every escape written out.
pub(super) fn decode(mut rest: &str) -> String {
    let mut text = String::with_capacity(rest.len());
    while let Some(place) = memchr::memchr(b'\\', rest.as_bytes()) {
        // A backslash is one byte, so both sides of it are character boundaries.
        text.push_str(&rest[..place]);
        rest = &rest[place + 1..];
        let (decoded, used) = escape(rest);
        text.push(decoded);
        rest = rest.get(used..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

// `rest` begins behind the backslash; gives the character and how many bytes stood for it.
pub(super) fn escape(rest: &str) -> (char, usize) {
    let Some(letter) = rest.chars().next() else {
        return (char::REPLACEMENT_CHARACTER, 0);
    };
    let decoded = match letter {
        '"' | '\\' | '/' => letter,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode_escape(rest),
        _ => char::REPLACEMENT_CHARACTER,
    };
    (decoded, letter.len_utf8())
}

fn unicode_escape(rest: &str) -> (char, usize) {
    let Some(unit) = hex4(rest, 1) else {
        return (char::REPLACEMENT_CHARACTER, 1);
    };
    if let Some(single) = char::from_u32(unit) {
        return (single, 5);
    }
    let second = hex4(rest, 7).filter(|_| rest.get(5..7) == Some("\\u"));
    let pair = second
        .filter(|low| unit < 0xDC00 && (0xDC00..0xE000).contains(low))
        .and_then(|low| char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)));
    match pair {
        Some(character) => (character, 11),
        None => (char::REPLACEMENT_CHARACTER, 5),
    }
}

fn hex4(rest: &str, from: usize) -> Option<u32> {
    let digits = rest.get(from..from + 4)?;
    // from_str_radix would take a sign.
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Pieces of text put together with a line feed between them; empty pieces count as pieces.
#[derive(Default)]
pub(super) struct Joined(Option<String>);

impl Joined {
    /// Adds a piece; gives the place of the line feed before it, None for the first one.
    pub(super) fn push(&mut self, piece: Cow<'_, str>) -> Option<usize> {
        let Some(text) = &mut self.0 else {
            self.0 = Some(piece.into_owned());
            return None;
        };
        let place = text.len();
        text.push('\n');
        text.push_str(&piece);
        Some(place)
    }

    /// Whether there is no piece.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn into_text(self) -> String {
        self.0.unwrap_or_default()
    }
}

/// Keeps a place between two parts; false where there are too many, so that the text is not read as a whole.
pub(super) fn keep_break(breaks: &mut Vec<usize>, place: usize) -> bool {
    let has_room = breaks.len() < MOST_PART_BREAKS;
    if has_room {
        breaks.push(place);
    }
    has_room
}

#[cfg(test)]
mod tests {
    use super::{plain_len, unescape};
    use std::borrow::Cow;

    #[test]
    fn every_escape_stands_for_its_character() {
        let table: &[(&str, &str)] = &[
            (r#""""#, ""),
            (r#""plain""#, "plain"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""\u0041\u00e9\u20AC""#, "Aé€"),
            (r#""\ud83d\ude00!""#, "😀!"),
            (r#""\uD83D""#, "\u{fffd}"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83dx""#, "\u{fffd}x"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""привет \u043c\u0438\u0440""#, "привет мир"),
            (r#""\u0000""#, "\0"),
        ];
        for (token, text) in table {
            assert_eq!(unescape(token.as_bytes()), *text, "{token}");
        }
    }

    #[test]
    fn a_token_without_escapes_is_borrowed() {
        assert!(matches!(unescape(b"\"abc\""), Cow::Borrowed("abc")));
    }

    #[test]
    fn a_broken_token_is_no_panic() {
        for token in [
            &b""[..],
            b"\"",
            b"\"\\",
            b"\"\\u",
            b"\"\\u12\"",
            b"\"\\ud83d\\u\"",
            b"\\x\xff",
            b"\\u+123",
            "\\ж".as_bytes(),
        ] {
            let _ = unescape(token);
        }
        assert_eq!(unescape(b"\"\\u+123\""), "\u{fffd}+123");
    }

    #[test]
    fn plain_bytes_end_at_the_first_special_one_wherever_it_stands() {
        for len in (0..200).chain([1023, 1100, 1192, 1193, 2300]) {
            for special in [b'"', b'\\', 0u8, 0x1f, b'\n'] {
                for filler in [b'a', b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                    let mut bytes = vec![filler; len];
                    assert_eq!(plain_len(&bytes), len);
                    bytes.push(special);
                    bytes.extend([b'"'; 70]);
                    assert_eq!(plain_len(&bytes), len, "{special} after {len} of {filler}");
                }
            }
        }
    }
}
