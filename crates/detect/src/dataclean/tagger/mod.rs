//! Finds names, organizations, addresses, job titles and diagnoses in Russian and English (§2.8): a
//! linear-chain tagger with its tables, and rules over the same tokens. `training/` makes the weights. It
//! needs the whole text.

pub mod crf;
pub mod lexicon;
pub mod pipeline;
mod rules;
pub mod sentence;
pub mod token;

use super::pattern_name::PatternName;
use super::span::{Span, Strength};
use crate::weights;
use crf::model::Model;
use crf::table::Table;
use lexicon::Lexicon;
use pipeline::{FindKind, Tagger};
use std::sync::LazyLock;

static WORDS: LazyLock<Vec<u8>> = LazyLock::new(|| weights::TAGGER_WORDS.unpack());
static RUSSIAN: LazyLock<Vec<u8>> = LazyLock::new(|| weights::TAGGER_RU.unpack());
static ENGLISH: LazyLock<Vec<u8>> = LazyLock::new(|| weights::TAGGER_EN.unpack());

static TAGGER: LazyLock<Option<Tagger<'static>>> = LazyLock::new(|| {
    Some(Tagger {
        table: Table::new(&WORDS)?,
        russian: Model::new(&RUSSIAN)?,
        english: Model::new(&ENGLISH)?,
        lexicon: Lexicon::build(),
    })
});

/// All finds of the five patterns in a text, in no order. Linear in its length.
pub(crate) fn find(text: &str) -> Vec<Span> {
    // A build whose weights do not fit its code has a failing test, and finds nothing.
    let Some(tagger) = &*TAGGER else {
        return Vec::new();
    };
    let spans = tagger.find(text).into_iter().map(|find| Span {
        kind: name(find.kind),
        start: find.start,
        end: find.end,
        strength: strength(find.kind),
    });
    spans.collect()
}

fn name(kind: FindKind) -> PatternName {
    match kind {
        FindKind::Name => PatternName::Name,
        FindKind::Company => PatternName::Company,
        FindKind::Address => PatternName::Address,
        FindKind::JobRole => PatternName::JobRole,
        FindKind::Diagnosis => PatternName::Diagnosis,
    }
}

/// An address holds numbers that look like something else when they stand alone.
fn strength(kind: FindKind) -> Strength {
    match kind {
        FindKind::Address => Strength::Context,
        _ => Strength::Reading,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_fit_the_code() {
        assert!(TAGGER.is_some());
    }

    #[test]
    fn a_text_of_several_pieces_has_its_finds_at_the_right_places() {
        let line = "😀 Договор подписал Иван Петров из ООО «Ромашка».\n";
        let text = line.repeat(2000);
        let spans = find(&text);
        let cut = |span: &Span| &text[span.start..span.end];
        let of = |kind| spans.iter().filter(move |span| span.kind == kind);
        assert_eq!(of(PatternName::Name).count(), 2000);
        assert_eq!(of(PatternName::Company).count(), 2000);
        assert!(of(PatternName::Name).all(|span| cut(span) == "Иван Петров"));
        assert!(of(PatternName::Company).all(|span| cut(span) == "ООО «Ромашка»"));
    }

    #[test]
    fn text_without_borders_is_cut_between_characters() {
        for text in [
            "я".repeat(200_000),
            "😀".repeat(50_000),
            "@".repeat(200_000),
        ] {
            assert_eq!(find(&text), []);
        }
    }
}
