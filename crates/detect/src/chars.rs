//! Classes of characters that several parts of the engine ask about. Letters of the Latin and the
//! Cyrillic alphabet are decided without a table look-up.

/// A letter or a digit; those of our two alphabets are known at a glance.
pub(crate) fn is_word_char(c: char) -> bool {
    match c {
        _ if c.is_ascii() => c.is_ascii_alphanumeric(),
        '\u{400}'..='\u{481}' | '\u{48a}'..='\u{52f}' => true,
        _ => c.is_alphanumeric(),
    }
}

/// A letter; those of our two alphabets are known at a glance.
pub(crate) fn is_letter(c: char) -> bool {
    match c {
        _ if c.is_ascii() => c.is_ascii_alphabetic(),
        '\u{400}'..='\u{481}' | '\u{48a}'..='\u{52f}' => true,
        _ => c.is_alphabetic(),
    }
}

/// Hyphens and dashes that people and editors put between digits; the em dash separates words.
pub(crate) fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2013}' | '\u{2212}')
}

/// Spaces that stand inside numbers.
pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}')
}

/// The separator a gap of exactly one blank or dash stands for: `' '` or `'-'`.
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
