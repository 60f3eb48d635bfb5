//! CADASTRAL_NUMBER, of a Russian plot or building: district, region, quarter and object, with colons. A quarter alone
//! needs the word.

use super::nearby::Words;
use crate::dataclean::text::labels::Label;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};

pub(crate) struct CadastralNumber;

const WORDS: Words = Words {
    whole: &["кн", "egrn", "егрн"],
    stems: &["кадастр", "cadastr", "квартал"],
    phrases: &[],
};
const QUARTER: usize = 2;

impl Detector for CadastralNumber {
    fn name(&self) -> PatternName {
        PatternName::CadastralNumber
    }

    fn needs(&self) -> Needs {
        Needs::DotOrColon
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let mut next = 0;
        while next < text.runs().len() {
            let last = last_run(text, next);
            if let Some((last, strength)) = last {
                let place = text.runs()[next].start..text.runs()[last].end;
                out.push(Span::new(self.name(), place, strength));
            }
            next = last.map_or(next, |(last, _)| last) + 1;
        }
    }
}

/// The last run of a number that begins with run `first`.
fn last_run(text: &Text, first: usize) -> Option<(usize, Strength)> {
    let runs = &text.runs()[first..];
    let is_joined = |left: usize| text.gap(first + left) == Some(":");
    let [district, region, quarter, ..] = runs else {
        return None;
    };
    let sizes = [district, region, quarter].map(|run| run.digits());
    let begins = matches!(sizes, [2, 1 | 2, 5..=7]) && is_joined(0) && is_joined(1);
    if !begins || text.values(&runs[..1]).iter().all(|digit| *digit == 0) {
        return None;
    }
    let object = runs.get(QUARTER + 1).filter(|_| is_joined(QUARTER));
    let count = match object.map(|run| run.digits()) {
        Some(1..=6) => QUARTER + 1,
        Some(_) => return None,
        None => QUARTER,
    };
    let place = runs[0].start..runs[count].end;
    let goes_on = text.gap(first + count) == Some(":");
    let is_alone = text.isolated(place.start, place.end, Label::Other)
        && !matches!(text.before(place.start), Some(':' | '.' | '/'))
        && !goes_on;
    let is_named = is_alone && WORDS.name(text.original(), &place);
    match (is_alone, is_named, object) {
        (true, true, _) => Some((first + count, Strength::Context)),
        (true, false, Some(_)) => Some((first + count, Strength::Form)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        assert_eq!(
            found(
                &CadastralNumber,
                "Участок 77:01:0004012:1234, дом 50:20:0010203:45"
            ),
            ["77:01:0004012:1234", "50:20:0010203:45"]
        );
        assert_eq!(
            found(&CadastralNumber, "кадастровый квартал 16:50:011716"),
            ["16:50:011716"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "12:30:45",
            "16:50:011716",
            "00:01:0004012:1234",
            "77:01:0004012:1234:5",
            "1.77:01:0004012:1234",
            "77:01:00040123:12",
            "2001:db8:77:01:0004",
        ] {
            assert!(found(&CadastralNumber, text).is_empty(), "{text}");
        }
    }
}
