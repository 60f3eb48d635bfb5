//! API_KEY: keys and tokens of well-known services by their beginnings, JSON Web Tokens, tokens of Telegram bots.
//! Placeholders such as `sk-your-api-key-goes-here` are none.

use super::api_key_forms::{FORMS, Form, JWT, TELEGRAM};
use crate::chars::is_word_char;
use crate::dataclean::{Detector, PatternName, Span, Strength, Text};
use regex::Regex;
use std::ops::Range;

pub(crate) struct ApiKey {
    /// The beginnings, all at once; None where they did not compile, and then nothing is found.
    beginnings: Option<Regex>,
}

impl ApiKey {
    /// Compiles the beginnings: literals alone, which one scan looks for.
    pub(crate) fn new() -> Self {
        let beginnings: Vec<String> = FORMS
            .iter()
            .map(|form| regex::escape(form.prefix))
            .collect();
        Self {
            beginnings: Regex::new(&beginnings.join("|")).ok(),
        }
    }
}

/// Different signs that something random of such a length has at least.
const FEWEST_KINDS: usize = 8;
/// Signs without a break between them that a key has at least.
const FEWEST_TOGETHER: usize = 12;
/// Digits of a bot's number.
const BOT: std::ops::RangeInclusive<usize> = 8..=10;
/// Signs of the three parts of a JSON Web Token at least.
const JWT_PARTS: [usize; 3] = [8, 8, 16];

impl Detector for ApiKey {
    fn name(&self) -> PatternName {
        PatternName::ApiKey
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let whole = text.original();
        let found = self.beginnings.iter().flat_map(|all| all.find_iter(whole));
        let mut taken = 0;
        for beginning in found {
            let form = FORMS.iter().find(|form| form.prefix == beginning.as_str());
            let place = form.and_then(|form| key_at(whole, beginning.range(), form));
            if let Some(place) = place.filter(|place| place.start >= taken) {
                taken = place.end;
                out.push(Span::new(self.name(), place, Strength::CheckDigits));
            }
        }
    }
}

/// The key of a form that begins at a place.
fn key_at(text: &str, beginning: Range<usize>, form: &Form) -> Option<Range<usize>> {
    let start = match form.prefix {
        TELEGRAM => bot(text, beginning.start)?,
        _ => beginning.start,
    };
    let goes_on = |c: char| is_word_char(c) || matches!(c, '_' | '-');
    if text[..start].ends_with(goes_on) {
        return None;
    }
    let tail = &text.as_bytes()[beginning.end..];
    let read = &tail[..tail.len().min(form.most + 1)];
    let length = read.iter().position(|byte| !form.signs.has(*byte));
    let length = length.unwrap_or(read.len());
    // A dot at the end is that of the sentence.
    let key = text[beginning.end..beginning.end + length].trim_end_matches(['.', '-']);
    let end = beginning.end + key.len();
    let is_whole = (form.fewest..=form.most).contains(&key.len())
        && !text[end..].starts_with(|c: char| is_word_char(c) || c == '_');
    let is_key = match form.prefix {
        JWT => is_token(&text[start..end]),
        _ => is_random(key),
    };
    (is_whole && is_key).then_some(start..end)
}

/// Where the number of a bot begins that ends at a place.
fn bot(text: &str, at: usize) -> Option<usize> {
    let head = text[..at].bytes().rev().take(*BOT.end() + 1);
    let digits = head.take_while(u8::is_ascii_digit).count();
    BOT.contains(&digits).then(|| at - digits)
}

/// Header, claims and signature.
fn is_token(token: &str) -> bool {
    let mut parts = token.split('.');
    let is_part = |fewest: usize| parts.next().filter(|part| part.len() >= fewest);
    let [header, claims, signature] = JWT_PARTS.map(is_part);
    let is_json = claims.is_some_and(|claims| claims.starts_with(JWT));
    header.is_some() && is_json && signature.is_some() && token.split('.').count() == 3
}

/// Letters and digits in no order: no words with dashes, no sign that is repeated.
fn is_random(key: &str) -> bool {
    let mut kinds = [false; 128];
    for byte in key.bytes() {
        kinds[usize::from(byte & 0x7f)] = true;
    }
    let parts = key.split(|c: char| !c.is_ascii_alphanumeric());
    let longest = parts.map(str::len).max().unwrap_or_default();
    kinds.iter().filter(|is_there| **is_there).count() >= FEWEST_KINDS
        && longest >= FEWEST_TOGETHER
        && key.bytes().any(|byte| byte.is_ascii_digit())
        && key.bytes().any(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::super::super::found;
    use super::*;

    /// A key of nobody, put together here so that nothing that looks for leaked keys finds one in this file.
    fn key(form: &Form) -> String {
        let signs: String = (0..=127_u8)
            .cycle()
            .step_by(7)
            .filter(|byte| form.signs.has(*byte) && byte.is_ascii_alphanumeric())
            .map(char::from)
            .take(form.fewest)
            .collect();
        match form.prefix {
            TELEGRAM => format!("123456789{TELEGRAM}{signs}"),
            JWT => format!("{JWT}{}.{JWT}{}.{signs}", &signs[..12], &signs[..12]),
            prefix => format!("{prefix}{signs}"),
        }
    }

    #[test]
    fn every_form_is_found_whole() {
        let detector = ApiKey::new();
        for form in FORMS {
            let key = key(form);
            for text in [
                key.clone(),
                format!("Ключ: {key}. Да"),
                format!("K=\"{key}\""),
            ] {
                assert_eq!(found(&detector, &text), [key.as_str()], "{text}");
            }
            let (inside, cut) = (format!("x{key}"), &key[..key.len() - 8]);
            assert!(found(&detector, &inside).is_empty(), "{inside}");
            let is_token = form.prefix == JWT;
            assert!(is_token || found(&detector, cut).is_empty(), "{cut}");
        }
    }

    #[test]
    fn near_misses() {
        let detector = ApiKey::new();
        for text in [
            "sk-your-api-key-goes-here-please",
            "sk-learn and risk-assessment-of-2024-projects-in-the-region",
            "AKIAXXXXXXXXXXXXXXXX",
            "ghp_short1",
            "eyJ is how a token begins; eyJ.eyJ.x",
            "12:AA",
            "mon_day",
            "key-value pairs",
        ] {
            assert!(found(&detector, text).is_empty(), "{text}");
        }
    }
}
