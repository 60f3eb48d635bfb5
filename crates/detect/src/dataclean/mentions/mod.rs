//! Amounts of money, dates, deadlines and durations (§2.8), Russian and English, found in one pass for all
//! four patterns. Rules over words, without a model or a clock; the words around it decide what an
//! ambiguous word means.

mod amount;
mod chain;
mod cue;
mod date;
mod duration;
mod letters;
mod lexicon;
mod lexicon_en;
mod lexicon_ru;
mod money;
mod scan;
mod word;

use chain::Chain;
use scan::Scan;
use word::{Token, Word};

/// What a mention is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MentionKind {
    Date,
    Deadline,
    Duration,
    Money,
}

/// One find, in bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) kind: MentionKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Everything of the four sorts in a text, and how far it is settled.
#[derive(Debug, Default)]
pub(crate) struct Mentions {
    pub(crate) all: Vec<Mention>,
    /// The first byte whose reading could change when more text follows.
    pub(crate) stable_until: usize,
}

impl Mentions {
    /// In order, not overlapping. O(n).
    pub(crate) fn of(text: &str) -> Self {
        let scan = Scan::new(text);
        let mut all = Vec::new();
        for chain in &scan.chains {
            let tokens = &scan.tokens[chain.clone()];
            if tokens.iter().any(is_key) {
                read(&Chain::new(text, tokens), &mut all);
            }
        }
        Self {
            all,
            stable_until: scan.stable_until(text),
        }
    }
}

/// Whether a chain with this word can hold anything.
fn is_key(token: &Token) -> bool {
    !matches!(
        token.word,
        Word::Suffix | Word::Iso | Word::Nation | Word::Kind | Word::Scale
    )
}

fn read(chain: &Chain, all: &mut Vec<Mention>) {
    let mut at = 0;
    while at < chain.tokens.len() {
        at = match mention(chain, at, all.last()) {
            Some((mention, next)) => {
                all.push(mention);
                next.max(at + 1)
            }
            None => at + 1,
        };
    }
}

/// What begins at a place. Each sort needs words that the others do not have.
fn mention(chain: &Chain, at: usize, last: Option<&Mention>) -> Option<(Mention, usize)> {
    let money = || chain.may_be_money(at).then(|| money::money(chain, at));
    let duration = || {
        let may = chain.may_be_duration(at);
        may.then(|| duration::duration(chain, at))
    };
    dated(chain, at, last)
        .or_else(|| money().flatten())
        .or_else(|| duration().flatten())
}

fn dated(chain: &Chain, at: usize, last: Option<&Mention>) -> Option<(Mention, usize)> {
    let date = date::date(chain, at).filter(|date| !chain.compound(date.end))?;
    let mention = Mention {
        kind: cue::kind(chain, &date, last)?,
        start: date.start,
        end: date.end,
    };
    Some((mention, date.next))
}
