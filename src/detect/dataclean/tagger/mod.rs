//! Finds names, organisations, addresses, job titles and diagnoses in Russian and English (§2.8): a
//! linear-chain tagger with its tables, and rules over the same tokens. The weights are part of the
//! program; `training/` makes them. Judges whole texts only.

mod decode;
mod features;
mod model;
mod table;
mod token;

use super::{PatternName, Span, Strength};
use decode::Run;
use features::Facts;
use model::Model;
use std::sync::LazyLock;
use table::Table;
use token::{Kind, Token};

static WORDS: &[u8] = include_bytes!("../weights/words.bin");
static RUSSIAN: &[u8] = include_bytes!("../weights/ru.bin");
static ENGLISH: &[u8] = include_bytes!("../weights/en.bin");

/// What the tagger knows.
struct Knowledge {
    table: Table<'static>,
    russian: Model<'static>,
    english: Model<'static>,
}

static KNOWLEDGE: LazyLock<Option<Knowledge>> = LazyLock::new(|| {
    Some(Knowledge {
        table: Table::new(WORDS)?,
        russian: Model::new(RUSSIAN)?,
        english: Model::new(ENGLISH)?,
    })
});

/// All finds of the five patterns in a text, in no order. Linear in its length.
pub(crate) fn find(text: &str) -> Vec<Span> {
    // A build whose weights do not fit its code has a failing test, and finds nothing.
    let Some(knowledge) = &*KNOWLEDGE else {
        return Vec::new();
    };
    let tokens = token::tokens(text);
    let facts = features::facts(text, &tokens, &knowledge.table);
    let mut out = Vec::new();
    for (from, to) in token::sentences(text, &tokens) {
        let (tokens, facts) = (&tokens[from..to], &facts[from..to]);
        if !is_candidate(facts) {
            continue;
        }
        let labels = knowledge.model(tokens).label(facts);
        let runs = decode::runs(&labels);
        out.extend(runs.into_iter().filter_map(|run| span(text, tokens, run)));
    }
    out
}

impl Knowledge {
    /// The model of the language that most letters of a sentence belong to.
    fn model(&self, tokens: &[Token]) -> &Model<'static> {
        let count = |kind| {
            let words = tokens.iter().filter(|token| token.kind == kind);
            words.map(|token| token.end - token.start).sum::<usize>()
        };
        // A Cyrillic letter has two bytes.
        match count(Kind::Cyrillic) >= 2 * count(Kind::Latin) {
            true => &self.russian,
            false => &self.english,
        }
    }
}

/// Whether a sentence may hold a find: a capital, a number or a known name.
fn is_candidate(facts: &[Facts]) -> bool {
    const NAMES: u16 = table::FIRST | table::LAST | table::PATRONYMIC | table::FIRST_STEM;
    facts
        .iter()
        .any(|facts| facts.capital || facts.entry.flags & NAMES != 0)
}

fn span(text: &str, tokens: &[Token], run: Run) -> Option<Span> {
    let kind = match run.label {
        model::NAME => PatternName::Name,
        model::COMPANY => PatternName::Company,
        model::ADDRESS => PatternName::Address,
        _ => return None,
    };
    let (start, end) = decode::bytes(text, tokens, run)?;
    Some(Span {
        kind,
        start,
        end,
        strength: Strength::Form,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_fit_the_code() {
        assert!(KNOWLEDGE.is_some());
    }
}
