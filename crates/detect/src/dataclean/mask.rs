//! Produces the cleaned text (CONTRACT 25) from the finds.

use super::normalize::NormalizedText;
use super::{Kind, PatternName, Span, Text};
use crate::rules::{CleanType, MaskStyle};
use std::collections::HashMap;
use std::fmt::Write;

/// Cleans a text. `spans` are sorted and do not overlap.
pub(crate) fn clean(
    text: &str,
    spans: &[Span<Kind<'_>>],
    clean_type: CleanType,
    style: MaskStyle,
) -> String {
    match clean_type {
        CleanType::Detection => text.to_owned(),
        CleanType::Deletion => delete(text, spans),
        CleanType::Masking => mask(text, spans, style),
    }
}

fn mask(text: &str, spans: &[Span<Kind<'_>>], style: MaskStyle) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pseudonyms = Pseudonyms::default();
    let mut from = 0;
    for span in spans {
        out.push_str(&text[from..span.start]);
        let (kind, value) = (span.kind.as_str(), &text[span.start..span.end]);
        // Writing to a String has no failing case.
        let _ = match style {
            MaskStyle::Label => write!(out, "[{kind}]"),
            MaskStyle::X => write!(out, "{}", "x".repeat(value.chars().count())),
            MaskStyle::Length => write!(out, "[{kind}:{}]", value.chars().count()),
            MaskStyle::Pseudonym => write!(out, "[{kind}_{}]", pseudonyms.number(span.kind, value)),
        };
        from = span.end;
    }
    out.push_str(&text[from..]);
    out
}

/// Removes each span and one adjoining space: the one before it, else the one after it.
fn delete<K>(text: &str, spans: &[Span<K>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        let kept = &text[from..span.start];
        out.push_str(kept.strip_suffix(' ').unwrap_or(kept));
        let space_after = !kept.ends_with(' ') && text[span.end..].starts_with(' ');
        from = span.end + usize::from(space_after);
    }
    out.push_str(&text[from..]);
    out
}

/// Numbers the distinct values of each pattern in the order of their first appearance.
#[derive(Default)]
struct Pseudonyms<'r> {
    numbers: HashMap<(&'r str, String), usize>,
    last: HashMap<&'r str, usize>,
}

impl<'r> Pseudonyms<'r> {
    fn number(&mut self, kind: Kind<'r>, value: &str) -> usize {
        let key = (kind.as_str(), same_value(kind, value));
        *self.numbers.entry(key).or_insert_with(|| {
            let last = self.last.entry(kind.as_str()).or_default();
            *last += 1;
            *last
        })
    }
}

/// Two spellings of one value give the same key: it counts as it is read, a number by its digits alone.
fn same_value(kind: Kind<'_>, value: &str) -> String {
    use PatternName as P;
    let plain = Text::new(value);
    let view = NormalizedText::new(&plain);
    match kind {
        Kind::Predefined(
            P::BankCardNumber
            | P::Inn
            | P::Ogrn
            | P::Ogrnip
            | P::PassportNumber
            | P::PhoneNumber
            | P::Snils
            | P::DriverLicense
            | P::OmsPolicy,
        ) => view.text().chars().filter(char::is_ascii_digit).collect(),
        Kind::Predefined(P::Iban | P::VehicleNumber) => {
            let signs = view.text().chars().filter(|c| c.is_alphanumeric());
            signs.flat_map(char::to_lowercase).collect()
        }
        // The case of a letter counts in these.
        Kind::Predefined(P::ApiKey | P::ConnectionString | P::CryptoWallet | P::PrivateKey) => {
            view.text().to_owned()
        }
        _ => view.text().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Strength;
    use super::*;

    const TEXT: &str = "Пишите Я@б.рф или a@b.ru, я@б.рф";

    fn spans() -> Vec<Span<Kind<'static>>> {
        let span = |(start, value): (usize, &str)| Span {
            kind: Kind::Predefined(PatternName::Emails),
            start,
            end: start + value.len(),
            strength: Strength::Form,
        };
        let mut spans: Vec<_> = TEXT
            .match_indices("@б.рф")
            .map(|(at, _)| span((at - 2, "я@б.рф")))
            .collect();
        spans.extend(TEXT.match_indices("a@b.ru").map(span));
        spans.sort_by_key(|span| span.start);
        spans
    }

    #[test]
    fn every_mask_style_writes_what_it_promises() {
        let masked = |style| clean(TEXT, &spans(), CleanType::Masking, style);
        assert_eq!(
            masked(MaskStyle::Label),
            "Пишите [EMAILS] или [EMAILS], [EMAILS]"
        );
        assert_eq!(masked(MaskStyle::X), "Пишите xxxxxx или xxxxxx, xxxxxx");
        assert_eq!(
            masked(MaskStyle::Length),
            "Пишите [EMAILS:6] или [EMAILS:6], [EMAILS:6]"
        );
        assert_eq!(
            masked(MaskStyle::Pseudonym),
            "Пишите [EMAILS_1] или [EMAILS_2], [EMAILS_1]"
        );
    }

    #[test]
    fn two_spellings_of_one_number_have_one_pseudonym() {
        for (name, one, other, are_same) in [
            (
                PatternName::PhoneNumber,
                "+7 912 345-67-89",
                "79123456789",
                true,
            ),
            (PatternName::Inn, "7752 601811", "7752601811", true),
            (PatternName::Inn, "7752601811", "7766131860", false),
            (PatternName::Emails, "A@b.ru", "a@B.ru", true),
            (PatternName::Emails, "a@b1.ru", "a@b2.ru", false),
        ] {
            let value = |text| same_value(Kind::Predefined(name), text);
            assert_eq!(value(one) == value(other), are_same, "{one}, {other}");
        }
    }

    #[test]
    fn deletion_takes_one_adjoining_space_and_detection_nothing() {
        let cleaned = |clean_type| clean(TEXT, &spans(), clean_type, MaskStyle::Label);
        assert_eq!(cleaned(CleanType::Deletion), "Пишите или,");
        assert_eq!(cleaned(CleanType::Detection), TEXT);
        let first = Span {
            kind: PatternName::Ip,
            start: 0,
            end: 3,
            strength: Strength::Form,
        };
        assert_eq!(delete("::1 up", &[first]), "up");
    }
}
