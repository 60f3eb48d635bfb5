//! The domain of an e-mail address: where it ends and whether it is valid, Unicode names included. Checks
//! the form of the top-level domain, not the public suffix list.

use crate::chars::{is_letter, is_word_char};

/// RFC 1035 §2.3.4, in bytes.
pub(super) const LONGEST_DOMAIN: usize = 255;
const LONGEST_LABEL: usize = 63;

/// Endings of files that are no top-level domains: "icon@2x.png".
const FILE_ENDINGS: &[&str] = &[
    "bmp", "css", "gif", "html", "ico", "jpeg", "jpg", "js", "json", "pdf", "png", "svg", "txt",
    "webp", "xml", "yaml",
];
/// Cyrillic top-level domains; any other Cyrillic last label is the next sentence.
const CYRILLIC_ENDINGS: &[&str] = &[
    "бг",
    "бел",
    "дети",
    "ею",
    "католик",
    "ком",
    "мкд",
    "мон",
    "москва",
    "онлайн",
    "орг",
    "рус",
    "рф",
    "сайт",
    "срб",
    "укр",
    "қаз",
    "испытание",
];

/// Length of the domain at the beginning of `tail`, without what only looks like its end.
pub(super) fn domain_length(tail: &str) -> Option<usize> {
    let mut chars = tail
        .char_indices()
        .take_while(|(at, _)| *at <= LONGEST_DOMAIN + 1);
    let run = chars
        .find(|(_, c)| !label_char(*c))
        .map_or(tail.len().min(LONGEST_DOMAIN + 1), |(at, _)| at);
    let mut domain = tail[..tail.floor_char_boundary(run)].trim_end_matches(['.', '-']);
    loop {
        let (rest, last) = domain.rsplit_once('.')?;
        let last = &last[..one_alphabet(last)];
        if is_top(last) && !next_sentence(rest, last) {
            domain = &domain[..rest.len() + 1 + last.len()];
            break;
        }
        // "user@example.ru.Жду" ends one label earlier; a number or a file ending spoils the whole.
        if !next_sentence(rest, last) {
            return None;
        }
        domain = rest;
    }
    let label = |l: &str| {
        !l.is_empty() && l.len() <= LONGEST_LABEL && !l.starts_with('-') && !l.ends_with('-')
    };
    (domain.len() <= LONGEST_DOMAIN && domain.split('.').all(label)).then_some(domain.len())
}

/// A character of a domain.
pub(super) fn label_char(c: char) -> bool {
    is_word_char(c) || c == '-' || c == '.'
}

/// Bytes until the letters change their alphabet or, after small letters, turn capital: "example.ruЖду".
fn one_alphabet(label: &str) -> usize {
    let latin = label.starts_with(is_latin);
    let mut small = false;
    let glued = |c: char| {
        let next_word = is_latin(c) != latin || small && c.is_uppercase();
        small |= c.is_lowercase();
        next_word
    };
    label.find(glued).unwrap_or(label.len())
}

/// Latin letters with and without marks, and everything else that is ASCII.
pub(super) fn is_latin(c: char) -> bool {
    matches!(c, '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

fn is_top(label: &str) -> bool {
    let lower = label.to_lowercase();
    if lower.starts_with("xn--") {
        return lower.len() > 4;
    }
    let cyrillic = lower.starts_with(|c| ('\u{400}'..='\u{52f}').contains(&c));
    let known = !cyrillic || CYRILLIC_ENDINGS.contains(&lower.as_str());
    lower.chars().count() >= 2
        && lower.chars().all(is_letter)
        && known
        && !FILE_ENDINGS.contains(&lower.as_str())
}

/// Whether the last label is the first word of a sentence that follows without a blank.
fn next_sentence(rest: &str, last: &str) -> bool {
    let top = rest.rsplit('.').next().unwrap_or_default();
    let capital = last.starts_with(char::is_uppercase) && last.chars().any(char::is_lowercase);
    let foreign = !last.starts_with(is_latin) && (top.starts_with(is_latin) || !is_top(last));
    rest.contains('.')
        && is_top(top)
        && !top.starts_with(char::is_uppercase)
        && (capital || foreign)
}
