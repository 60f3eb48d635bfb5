//! KPP, the registration code of a Russian taxpayer (§2.8): tax office, two digits or capital letters,
//! serial number. It has no check digit, so it needs its label, or a valid INN and a slash before it.

use crate::dataclean::text::cue::Label;
use crate::dataclean::text::number_chain::numbers;
use crate::dataclean::{Detector, Needs, PatternName, Run, Span, Strength, Text, checksum};

pub(crate) struct Kpp;

const LENGTH: usize = 9;
/// Words that may stand between the label and the code.
const WORDS_BETWEEN: usize = 4;
/// Code, what may follow it, and the characters behind that say whether it stands alone, in bytes.
const REACH: usize = LENGTH + 8;

impl Detector for Kpp {
    fn name(&self) -> PatternName {
        PatternName::Kpp
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        for (at, run) in text.runs().iter().enumerate() {
            let fits = matches!(run.digits(), 4 | 5 | LENGTH) && is_code(text, *run);
            let end = run.start + LENGTH;
            if fits && text.isolated(run.start, end, Label::Kpp) && named(text, at, end) {
                out.push(Span::new(self.name(), run.start..end, Strength::Context));
            }
        }
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        // A code with letters is no chain of digits.
        let near = text.original().len().saturating_sub(REACH);
        let runs = text.runs();
        let near = runs.partition_point(|run| run.start < near);
        let code = runs[near..].iter().find(|run| may_be_code(text, **run));
        Some(code.map_or(numbers(text), |run| run.start.min(numbers(text))))
    }
}

fn is_code(text: &Text, run: Run) -> bool {
    let bytes = text
        .original()
        .as_bytes()
        .get(run.start..run.start + LENGTH);
    bytes.is_some_and(is_code_so_far)
}

/// Whether what stands at the end of a text is a code or the beginning of one.
fn may_be_code(text: &Text, run: Run) -> bool {
    let bytes = &text.original().as_bytes()[run.start..];
    let begun = &bytes[..bytes.len().min(LENGTH)];
    is_code_so_far(begun) && (bytes.len() < LENGTH || text.is_edge(run.start + LENGTH))
}

fn is_code_so_far(code: &[u8]) -> bool {
    let fits = |(at, byte): (usize, &u8)| {
        byte.is_ascii_digit() || matches!(at, 4 | 5) && byte.is_ascii_uppercase()
    };
    !code.starts_with(b"00") && code.iter().enumerate().all(fits)
}

fn named(text: &Text, at: usize, end: usize) -> bool {
    let start = text.runs()[at].start;
    let cue = text.cue_before(start);
    let near = cue.is_some_and(|cue| cue.within(WORDS_BETWEEN, &[Label::Kpp]));
    // What a code with letters is followed by is not waited for.
    let plain = text.runs()[at].digits() == LENGTH;
    near || behind_inn(text, at) || plain && text.labelled_after(end, Label::Kpp)
}

/// "7752601811/770701001", the taxpayer's number with right check digits.
fn behind_inn(text: &Text, at: usize) -> bool {
    let Some(left) = at.checked_sub(1) else {
        return false;
    };
    let slash = text.gap(left).is_some_and(|gap| gap.trim() == "/");
    slash && checksum::inn(&text.values(&text.runs()[left..at]))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        assert_eq!(
            found(&Kpp, "КПП 770701001, кпп: 7814AB001"),
            ["770701001", "7814AB001"]
        );
        assert_eq!(
            found(&Kpp, "7752601811/773601001, 500143001 (КПП филиала)"),
            ["773601001", "500143001"]
        );
    }

    #[test]
    fn the_header_of_a_column_names_its_cells() {
        for table in [
            "ИНН;КПП;Город\n7752601811;770701001;Москва\n7759083012;773601001;Тула",
            "Фирма\tКПП\nРомашка\t770701001\nЛютик\t773601001",
            "| КПП | Сумма |\n|---|---|\n| 770701001 | 123456789 |\n| 773601001 | 12 |",
        ] {
            assert_eq!(found(&Kpp, table), ["770701001", "773601001"], "{table}");
        }
        assert!(found(&Kpp, "КПП;БИК\nнет;770701001").is_empty());
    }

    #[test]
    fn near_misses() {
        for text in [
            "770701001",
            "КПП 77070100",
            "КПП 7707a1001",
            "КПП 77O701001",
            "БИК 770701001",
            "7752601816/773601001",
        ] {
            assert!(found(&Kpp, text).is_empty(), "{text}");
        }
    }
}
