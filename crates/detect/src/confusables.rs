//! Characters that look like others, as tables. The modules that normalize text decide which of them to
//! replace, and where.

use std::ops::{Range, RangeInclusive};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// What becomes of one character, whatever stands around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It is not seen.
    Nothing,
    /// It lies over the character before it.
    Mark,
    /// It stands for this one, mostly itself.
    As(char),
}

/// Zeros of the decimal digits of other scripts, in order; nine digits follow each.
const ZEROS: &[u32] = &[
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0x104a0,
    0x10d30, 0x10d40, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x116d0, 0x116da, 0x11730, 0x118e0, 0x11950, 0x11bf0, 0x11c50, 0x11d50, 0x11da0,
    0x11de0, 0x11f50, 0x16130, 0x16a60, 0x16ac0, 0x16b50, 0x16d70, 0x1ccf0, 0x1e140, 0x1e2f0,
    0x1e4f0, 0x1e5f1, 0x1e950, 0x1fbf0,
];
/// Signs that show a digit, and the digit that the first of them shows: above and below the line, in circles and
/// brackets, with a full stop or a comma.
const SIGNS: &[(RangeInclusive<u32>, u32)] = &[
    (0xb2..=0xb3, 2),
    (0xb9..=0xb9, 1),
    (0x2070..=0x2070, 0),
    (0x2074..=0x2079, 4),
    (0x2080..=0x2089, 0),
    (0x2460..=0x2468, 1),
    (0x2474..=0x247c, 1),
    (0x2488..=0x2490, 1),
    (0x24ea..=0x24ea, 0),
    (0x24f5..=0x24fd, 1),
    (0x24ff..=0x24ff, 0),
    (0x2776..=0x277e, 1),
    (0x2780..=0x2788, 1),
    (0x278a..=0x2792, 1),
    (0x1f100..=0x1f100, 0),
    (0x1f101..=0x1f10a, 0),
    (0x1f10b..=0x1f10b, 0),
    (0x1f10c..=0x1f10c, 0),
];

/// Letters of other alphabets, and at the same places the letters that they look like.
struct LookAlikes(&'static str, &'static str);

impl LookAlikes {
    fn of(&self, c: char) -> Option<char> {
        let at = self.0.chars().position(|other| other == c)?;
        self.1.chars().nth(at)
    }
}

/// Letters of other alphabets and the Latin ones they look like.
const LATIN: LookAlikes = LookAlikes(
    "АВЕЅІЈКМНОРСТХУаеѕіјкорсхуԁһԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧορνα",
    "ABESIJKMHOPCTXYaesijkopcxydhqwABEZHIKMNOPTYXopva",
);
/// Latin letters and the Cyrillic ones they look like.
const CYRILLIC: LookAlikes = LookAlikes("ABEKMHOPCTXYaekopcxy", "АВЕКМНОРСТХУаекорсху");

/// How one character is read.
#[inline]
pub(crate) fn reading(c: char) -> Reading {
    let code = u32::from(c);
    let shifted = |code: u32| char::from_u32(code).map_or(Reading::As(c), Reading::As);
    match code {
        0x09 | 0x0a | 0x0d | 0x20..=0x7e | 0xa0..=0xac | 0x400..=0x482 | 0x48a..=0x52f => {
            Reading::As(c)
        }
        // Line ends that hardly anything shows as such.
        0x0b | 0x0c | 0x85 | 0x2028 | 0x2029 => Reading::As(' '),
        // Blanks of other widths; the no-break space of ordinary prose stays one.
        0x1680 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000 => Reading::As(' '),
        0..=0x1f
        | 0x7f..=0x9f
        | 0xad
        | 0x34f
        | 0x61c
        | 0x115f
        | 0x1160
        | 0x17b4
        | 0x17b5
        | 0x180b..=0x180f
        | 0x200b..=0x200f
        | 0x202a..=0x202e
        | 0x2060..=0x206f
        | 0x2800
        | 0x3164
        | 0xfe00..=0xfe0f
        | 0xfeff
        | 0xffa0
        | 0xfff0..=0xfffd
        | 0x1bca0..=0x1bca3
        | 0x1d173..=0x1d17a
        | 0xe0000..=0xe0fff => Reading::Nothing,
        0x300..=0x36f | 0x20d0..=0x20ff => Reading::Mark,
        0x3002 | 0xff61 => Reading::As('.'),
        0xff01..=0xff5e => shifted(code - 0xfee0),
        0x1d400..=0x1d6a3 => shifted(mathematical(code - 0x1d400)),
        0x1d7ce..=0x1d7ff => shifted(u32::from('0') + (code - 0x1d7ce) % 10),
        0xc0..=0x2ff => Reading::As(c),
        _ => of_other_scripts(c),
    }
}

fn of_other_scripts(c: char) -> Reading {
    let code = u32::from(c);
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= code)].last();
    if let Some(digit) = zero.map(|zero| code - zero).filter(|digit| *digit < 10) {
        return char::from_u32(u32::from('0') + digit).map_or(Reading::As(c), Reading::As);
    }
    match (
        c.general_category(),
        SIGNS.iter().find(|(signs, _)| signs.contains(&code)),
    ) {
        (GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark, _) => Reading::Mark,
        (_, Some((signs, digit))) => {
            let digit = char::from_digit(digit + code - signs.start(), 10);
            digit.map_or(Reading::As(c), Reading::As)
        }
        _ => Reading::As(c),
    }
}

/// Whether a digit stands above or below the line: behind a word or a number it is an exponent or a note, and no digit
/// of that number.
pub(crate) fn is_raised(c: char) -> bool {
    matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}' | '\u{2074}'..='\u{2079}' | '\u{2080}'..='\u{2089}')
}

/// Whether a character is a sign for a digit: above or below the line, in a circle or brackets, with a full stop.
pub(crate) fn is_digit_sign(c: char) -> bool {
    let code = u32::from(c);
    !c.is_ascii() && SIGNS.iter().any(|(signs, _)| signs.contains(&code))
}

/// Whether a mark changes what this character says: a digit, a blank or a sign stays one with any number of
/// marks over it.
pub(crate) fn takes_mark(c: char) -> bool {
    !c.is_ascii() || c.is_ascii_alphabetic()
}

/// Mathematical letters come in alphabets of 26 capital and 26 small ones.
fn mathematical(place: u32) -> u32 {
    let letter = place % 52;
    u32::from(if letter < 26 { 'A' } else { 'a' }) + letter % 26
}

/// The Latin letter that a letter of another alphabet looks like.
pub(crate) fn as_latin(c: char) -> Option<char> {
    LATIN.of(c)
}

/// The Cyrillic letter that a Latin one looks like.
pub(crate) fn as_cyrillic(c: char) -> Option<char> {
    CYRILLIC.of(c)
}

/// The next stretch from a place on that can hold anything that is read otherwise than it stands,
/// spaced digits apart. Says so too often (of most scripts but Latin and Cyrillic), never no wrongly.
pub(crate) fn suspicious(text: &str, from: usize) -> Option<Range<usize>> {
    const BLOCK: usize = 64;
    let bytes = text.as_bytes();
    // A block is read with the byte before it and the two behind it.
    let mut at = from;
    while at < bytes.len() {
        let end = bytes.len().min(at + BLOCK);
        let odd = match at
            .checked_sub(1)
            .and_then(|before| bytes.get(before..before + BLOCK + 3))
        {
            Some(whole) => is_odd(whole, BLOCK),
            None => {
                let first = at.saturating_sub(1);
                let near = &bytes[first..bytes.len().min(end + 2)];
                let skip = usize::from(at == 0);
                let mut edge = [b' '; BLOCK + 3];
                edge[skip..skip + near.len()].copy_from_slice(near);
                is_odd(&edge, BLOCK)
            }
        };
        if odd {
            return Some(at..end);
        }
        at = end;
    }
    None
}

/// Without branches for a byte, so that the compiler turns it into vector instructions.
fn is_odd(bytes: &[u8], count: usize) -> bool {
    let all = bytes[1..=count].iter().fold(0, |all, byte| all | byte);
    match all < 0x80 {
        true => bytes[1..=count]
            .iter()
            .fold(false, |odd, c| odd | is_control(*c)),
        false => is_odd_beyond_ascii(bytes, count),
    }
}

fn is_control(c: u8) -> bool {
    (c < 0x20) & (c != b'\t') & (c != b'\n') & (c != b'\r') | (c == 0x7f)
}

fn is_odd_beyond_ascii(bytes: &[u8], count: usize) -> bool {
    let (before, here) = (&bytes[..count], &bytes[1..=count]);
    let (next, after) = (&bytes[2..count + 2], &bytes[3..count + 3]);
    let mut odd = false;
    for at in 0..count {
        let (p, c, n, m) = (before[at], here[at], next[at], after[at]);
        let cyrillic = (c == 0xd0) | (c == 0xd1);
        let mixed = cyrillic & (is_letter(p) | is_letter(m));
        let raised = (n & 0xfe == 0xb2) | (n == 0xb9);
        let soft = (c == 0xc2) & ((n == 0xad) | (n < 0xa0) | raised);
        let control = is_control(c);
        // Of the general punctuation, all but dashes, quotes, dots and the like.
        let unseen = (n == 0x80) & ((m < 0x90) | (m.wrapping_sub(0xa8) < 8));
        let blank = (n == 0xa0) & (m == 0x80);
        // Digits below the line, in circles and the like; and what stands beside these.
        let lowered = (n == 0x82) & (m < 0x8a);
        let digits = lowered | (n.wrapping_sub(0x91) < 3) | (n.wrapping_sub(0x9d) < 2);
        let zero =
            (c == 0xe2) & (unseen | blank | (n == 0x81) & (m >= 0x9f) | (n == 0x83) | digits);
        // Marks of Coptic, and over whatever stands before.
        let marks = (c == 0xe2) & (n >= 0xb3);
        let other = (c >= 0xcc) & !cyrillic & (c != 0xe2) | marks;
        odd |= mixed | soft | control | zero | other;
    }
    odd
}

fn is_letter(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_pair_letter_with_letter() {
        for LookAlikes(from, to) in [LATIN, CYRILLIC] {
            assert_eq!(from.chars().count(), to.chars().count());
        }
        assert_eq!((as_latin('Н'), as_cyrillic('H')), (Some('H'), Some('Н')));
        assert_eq!((as_latin('ж'), as_cyrillic('z')), (None, None));
    }

    #[test]
    fn whatever_is_read_otherwise_is_suspected() {
        for c in '\0'..=char::MAX {
            if reading(c) != Reading::As(c) {
                for lead in [0, 63] {
                    let text = format!("{}{c} and so on", " ".repeat(lead));
                    assert!(suspicious(&text, 0).is_some(), "{c:?} behind {lead}");
                }
            }
        }
    }

    #[test]
    fn digits_of_every_script_are_read_and_marks_of_every_script_lie_over_something() {
        for c in '\u{80}'..=char::MAX {
            let read = reading(c);
            match c.general_category() {
                GeneralCategory::DecimalNumber => {
                    let is_digit = matches!(read, Reading::As(digit) if digit.is_ascii_digit());
                    assert!(is_digit, "{c:?}");
                }
                GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark => {
                    assert!(matches!(read, Reading::Mark | Reading::Nothing), "{c:?}");
                }
                _ => {}
            }
        }
        assert_eq!([reading('٣'), reading('𑁩')], [Reading::As('3'); 2]);
        for (signs, digits) in [
            ("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"),
            ("₀₁₂₃₄₅₆₇₈₉", "0123456789"),
            ("⓪①②③④⑤⑥⑦⑧⑨⓿❶❷❸❹❺❻❼❽❾", "01234567890123456789"),
            ("⑴⑼⒈⒐⓵⓽➀➈➊➒🄀🄁🄊🄋🄌", "191919191900900"),
        ] {
            let read: String = signs
                .chars()
                .map(|c| match reading(c) {
                    Reading::As(digit) => digit,
                    other => panic!("{c}: {other:?}"),
                })
                .collect();
            assert_eq!(read, digits);
        }
    }

    #[test]
    fn what_no_reader_shows_is_read_as_nothing() {
        // The characters of which the gateway says that nobody sees them, white space apart.
        let unseen = [
            '\0'..='\u{8}',
            '\u{e}'..='\u{1f}',
            '\u{7f}'..='\u{84}',
            '\u{86}'..='\u{9f}',
            '\u{ad}'..='\u{ad}',
            '\u{34f}'..='\u{34f}',
            '\u{61c}'..='\u{61c}',
            '\u{115f}'..='\u{1160}',
            '\u{17b4}'..='\u{17b5}',
            '\u{180b}'..='\u{180f}',
            '\u{200b}'..='\u{200f}',
            '\u{202a}'..='\u{202e}',
            '\u{2060}'..='\u{206f}',
            '\u{2800}'..='\u{2800}',
            '\u{3164}'..='\u{3164}',
            '\u{fe00}'..='\u{fe0f}',
            '\u{feff}'..='\u{feff}',
            '\u{ffa0}'..='\u{ffa0}',
            '\u{fff0}'..='\u{fffd}',
            '\u{1bca0}'..='\u{1bca3}',
            '\u{1d173}'..='\u{1d17a}',
            '\u{e0000}'..='\u{e0fff}',
        ];
        for c in unseen.into_iter().flatten() {
            assert_eq!(reading(c), Reading::Nothing, "{c:?}");
        }
        for c in ['\t', '\n', '\r', ' ', '~', '\u{a0}'] {
            assert_eq!(reading(c), Reading::As(c));
        }
    }

    #[test]
    fn what_is_read_otherwise_is_suspected_at_every_place() {
        for odd in [
            "\u{200b}",
            "\u{ad}",
            "\u{2060}",
            "７",
            "٣",
            "𝟕",
            "a\u{430}",
            "\u{430}a",
            "1\u{20e3}",
            "1\u{336}",
            "\u{feff}",
            "\u{202e}",
            "\u{2800}",
            "\u{1}",
            "\u{c}",
            "\u{7f}",
            "\u{9f}",
            "\u{1680}",
            "\u{2000}",
            "\u{200a}",
            "\u{2028}",
            "\u{202f}",
            "\u{205f}",
        ] {
            for lead in 0..140 {
                let text = format!("{}{odd}{}", " ".repeat(lead), " ".repeat(lead % 7));
                let found = suspicious(&text, 0).unwrap_or(0..0);
                assert!(
                    found.contains(&lead) || found.contains(&(lead + 1)),
                    "{odd:?} behind {lead}"
                );
            }
        }
        let plain = "Обычный текст — «кавычки», 100 €, № 5 и English words, café… ".repeat(9);
        assert_eq!((suspicious(&plain, 0), suspicious("", 0)), (None, None));
    }
}
