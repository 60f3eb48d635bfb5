//! SWIFT, the code of a bank (BIC, ISO 9362): four letters, a country, two signs of the place and three of the branch,
//! right beside its word. Words have that form too, so that letters alone need capitals or a sign between.

use super::nearby::stands_alone;
use crate::chars::{is_dash, is_word_char};
use crate::dataclean::text::inline::InlineWord;
use crate::dataclean::{Detector, PatternName, Span, Strength, Text};
use regex::Regex;
use std::ops::Range;

pub(crate) struct Swift {
    /// The labels; None where they did not compile, and then nothing is found.
    labels: Option<Regex>,
}

impl Swift {
    /// Compiles the labels.
    pub(crate) fn new() -> Self {
        Self {
            labels: Regex::new("(?i-u:swift|bic)|(?i:свифт)").ok(),
        }
    }
}

/// How far behind its word a code is looked for, and before it, in bytes.
const REACH: usize = 72;
const MOST_WORDS: usize = 5;
/// Words that may stand between.
const FILLERS: &[&str] = &[
    "code",
    "codes",
    "код",
    "кода",
    "bank",
    "банка",
    "банк",
    "number",
    "номер",
    "is",
    "это",
    "bic",
    "swift",
    "бик",
    "of",
    "получателя",
    "the",
    "id",
];
/// Words of eight letters with a country's code in them.
const WORDS: &[&str] = &[
    "business", "continue", "customer", "delivery", "document", "electric", "language", "messages",
    "official", "platform", "provider", "required", "requests", "settings", "universe",
];
/// ISO 3166 codes, and XK as banks use it.
const COUNTRIES: &str = "ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCICKCL\
CMCNCOCRCUCVCWCXCYCZDEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFRGAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGUGWGYHKHMHNHRHTHUIDIEILIMINIO\
IQIRISITJEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMFMGMHMKMLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNGNINL\
NONPNRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPYQARERORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTMTNTOTRTT\
TVTWTZUAUGUMUSUYUZVAVCVEVGVIVNVUWFWSXKYEYTZAZMZW";

impl Detector for Swift {
    fn name(&self) -> PatternName {
        PatternName::Swift
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let whole = text.original();
        let labels = self.labels.iter();
        let labels = labels.flat_map(|labels| labels.find_iter(whole));
        let labels = labels.map(|label| label.range());
        let (mut taken, mut known) = (0, 0);
        for label in labels.filter(|label| stands_alone(whole, label, is_word_char)) {
            // A label behind its code is not that of the next one.
            let before = code_before(whole, label.start).filter(|place| place.start >= known);
            let place = before.or_else(|| code_behind(whole, label.end.max(taken)));
            if let Some(place) = place.filter(|place| place.start >= taken) {
                known = label.end;
                taken = place.end;
                out.push(Span::new(self.name(), place, Strength::Context));
            }
        }
    }
}

/// "SWIFT: SABRRUMM", "SWIFT-код банка SABRRUMM".
fn code_behind(text: &str, from: usize) -> Option<Range<usize>> {
    let near = &text[from..text.floor_char_boundary(from + REACH)];
    let is_cut = from + near.len() < text.len();
    let (mut at, mut has_sign) = (0, false);
    for _ in 0..MOST_WORDS {
        let signs = near[at..].find(is_word_char)?;
        let between = &near[at..at + signs];
        let is_next_line = at > 0 && between.contains('\n');
        if is_next_line || between.contains([';', '.', '!', '?', ',']) {
            return None;
        }
        has_sign |= between.contains([':', '=', '\u{2014}', '(', '"', '|', '\t']);
        let start = at + signs;
        let length = near[start..].find(|c| !is_word_char(c));
        let end = start + length.unwrap_or(near.len() - start);
        if end == near.len() && is_cut {
            return None;
        }
        let word = &near[start..end];
        if is_code(word, has_sign) {
            return Some(from + start..from + end);
        }
        if !InlineWord::lowercase(word).is_one_of(FILLERS) {
            return None;
        }
        at = end;
    }
    None
}

/// "SABRRUMM (SWIFT)", "SABRRUMM is the SWIFT code".
fn code_before(text: &str, to: usize) -> Option<Range<usize>> {
    let from = text.ceil_char_boundary(to.saturating_sub(REACH));
    let near = &text[from..to];
    let signs = near.trim_end_matches(|c| !is_word_char(c));
    let is_open = |c: char| matches!(c, '(' | '\u{2014}') || is_dash(c);
    let mut is_linked = near[signs.len()..].contains(is_open);
    let mut rest = signs;
    for _ in 0..MOST_WORDS {
        let start = rest.trim_end_matches(is_word_char).len();
        let word = &rest[start..];
        if is_linked && is_code(word, true) {
            return Some(from + start..from + rest.len());
        }
        let folded = InlineWord::lowercase(word);
        is_linked |= folded.is_one_of(&["is", "это"]);
        if !folded.is_one_of(FILLERS) {
            return None;
        }
        rest = rest[..start].trim_end_matches(|c| !is_word_char(c));
    }
    None
}

/// Whether a word is a code: small letters and words of letters alone only where a sign says so.
fn is_code(word: &str, has_sign: bool) -> bool {
    let bytes = word.as_bytes();
    let has_form = matches!(bytes.len(), 8 | 11)
        && bytes[..6].iter().all(u8::is_ascii_alphabetic)
        && bytes[6..].iter().all(u8::is_ascii_alphanumeric);
    if !has_form {
        return false;
    }
    let capitals = word.to_ascii_uppercase();
    let is_small = capitals != word;
    let is_one_case = !is_small || !bytes.iter().any(u8::is_ascii_uppercase);
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let mut countries = COUNTRIES.as_bytes().chunks_exact(2);
    let is_country = countries.any(|country| country == &capitals.as_bytes()[4..6]);
    let is_word = WORDS.contains(&&*word.to_ascii_lowercase());
    is_country && is_one_case && !is_word && (!is_small || has_sign || has_digit)
}

#[cfg(test)]
mod tests {
    use super::super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        for (text, code) in [
            ("SWIFT SABRRUMM", "SABRRUMM"),
            ("SWIFT/BIC: DEUTDEFF500.", "DEUTDEFF500"),
            ("Свифт-код банка TICSRUMMXXX", "TICSRUMMXXX"),
            ("swift: sabrrumm012", "sabrrumm012"),
            ("NEDSZAJJ (SWIFT)", "NEDSZAJJ"),
            ("BOFAUS3N is the SWIFT code", "BOFAUS3N"),
        ] {
            assert_eq!(found(&Swift::new(), text), [code], "{text}");
        }
    }

    #[test]
    fn near_misses() {
        for text in [
            "SABRRUMM",
            "SWIFT TRANSFER",
            "SWIFT DOCUMENT",
            "swift delivery",
            "SWIFT: SABRXXMM",
            "Taylor Swift, SABRRUMM",
            "SWIFTLY SABRRUMM",
            "БИК 044525225",
        ] {
            assert!(found(&Swift::new(), text).is_empty(), "{text}");
        }
    }
}
