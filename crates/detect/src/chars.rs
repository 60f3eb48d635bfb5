//! Classes of characters that several parts of the engine ask about. Letters of the Latin and the
//! Cyrillic alphabet are decided without a table look-up.

/// A letter or a digit; those of our two alphabets are known at a glance.
#[inline]
pub(crate) fn is_word_char(c: char) -> bool {
    match c {
        _ if c.is_ascii() => c.is_ascii_alphanumeric(),
        '\u{400}'..='\u{481}' | '\u{48a}'..='\u{52f}' => true,
        _ => c.is_alphanumeric(),
    }
}

/// A letter; those of our two alphabets are known at a glance.
#[inline]
pub(crate) fn is_letter(c: char) -> bool {
    match c {
        _ if c.is_ascii() => c.is_ascii_alphabetic(),
        '\u{400}'..='\u{481}' | '\u{48a}'..='\u{52f}' => true,
        _ => c.is_alphabetic(),
    }
}

/// A capital letter; those of our two alphabets are known at a glance.
#[inline]
pub(crate) fn is_capital(c: char) -> bool {
    match c {
        _ if c.is_ascii() => c.is_ascii_uppercase(),
        '\u{400}'..='\u{42f}' => true,
        '\u{430}'..='\u{45f}' => false,
        _ => c.is_uppercase(),
    }
}

/// The small letter of a letter of our two alphabets, itself for a small one; None for other characters,
/// of which the tables know.
#[inline]
pub(crate) fn small(c: char) -> Option<char> {
    let shifted = |by: u32| char::from_u32(u32::from(c) + by);
    match c {
        _ if c.is_ascii() => Some(c.to_ascii_lowercase()),
        '\u{400}'..='\u{40f}' => shifted(0x50),
        '\u{410}'..='\u{42f}' => shifted(0x20),
        '\u{430}'..='\u{45f}' => Some(c),
        _ => None,
    }
}

/// Hyphens and dashes that people and editors put between digits; the em dash separates words.
#[inline]
pub(crate) fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2013}' | '\u{2212}')
}

/// Spaces that stand inside numbers.
#[inline]
pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}')
}

/// The separator a gap of exactly one blank or dash stands for: `' '` or `'-'`.
#[inline]
pub(crate) fn separator(gap: &str) -> Option<char> {
    match gap.as_bytes() {
        [] => return None,
        b" " => return Some(' '),
        b"-" => return Some('-'),
        _ => {}
    }
    let mut chars = gap.chars();
    let c = chars.next().filter(|_| chars.next().is_none())?;
    if is_blank(c) {
        Some(' ')
    } else {
        is_dash(c).then_some('-')
    }
}

/// A sign without which no detector of values with borders finds anything: those that `Needs` names.
pub(crate) fn is_mark(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '@' | '.' | ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_at_a_glance_is_what_the_tables_say() {
        for c in '\0'..=char::MAX {
            assert_eq!(is_word_char(c), c.is_alphanumeric(), "{c:?}");
            assert_eq!(is_letter(c), c.is_alphabetic(), "{c:?}");
            assert_eq!(is_capital(c), c.is_uppercase(), "{c:?}");
            if let Some(small) = small(c) {
                assert!(c.to_lowercase().eq([small]), "{c:?}");
            }
        }
    }
}
