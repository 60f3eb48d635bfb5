//! The whole tagger: finds of the models and of the rules, sentence by sentence, with overlaps resolved.
//! The trainer uses this code.

use super::crf::decode;
use super::crf::features::{self, Facts};
use super::crf::model::{ADDRESS, COMPANY, Model, NAME, OUTSIDE};
use super::crf::table::{self, Table};
use super::lexicon::{self, Lexicon};
use super::rules::{companies, diagnoses, doubts, places, roles};
use super::sentence::Sentence;
use super::token::{self, Case, Kind, Token};

/// The most bytes of a text that are judged at once; a token takes up to 120 bytes while it is.
const LONGEST_PIECE: usize = 64 * 1024;

/// What a find is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindKind {
    Name,
    Company,
    Address,
    JobRole,
    Diagnosis,
}

/// A find in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Find {
    pub kind: FindKind,
    pub start: usize,
    pub end: usize,
}

/// What the tagger knows.
pub struct Tagger<'a> {
    pub table: Table<'a>,
    pub russian: Model<'a>,
    pub english: Model<'a>,
    pub lexicon: Lexicon,
}

impl Tagger<'_> {
    /// All finds, none of one kind overlapping. Linear in the text's length.
    pub fn find(&self, text: &str) -> Vec<Find> {
        let mut out = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let end = at + piece(&text[at..]);
            let found = self.find_in(&text[at..end]).into_iter();
            out.extend(found.map(|find| Find {
                kind: find.kind,
                start: at + find.start,
                end: at + find.end,
            }));
            at = end;
        }
        out
    }

    fn find_in(&self, text: &str) -> Vec<Find> {
        let tokens = token::tokens(text);
        let facts = features::facts(text, &tokens, &self.table);
        let mut out = Vec::new();
        for (from, to) in token::sentences(text, &tokens) {
            let (tokens, facts) = (&tokens[from..to], &facts[from..to]);
            let labels = match is_candidate(facts) {
                true => self.model(tokens).label(facts),
                false => vec![OUTSIDE; tokens.len()],
            };
            let sentence = Sentence::new(text, tokens, facts, &labels, &self.lexicon);
            self.judge(&sentence, &mut out);
        }
        out
    }

    /// The model of the language that most letters of a sentence belong to.
    fn model(&self, tokens: &[Token]) -> &Model<'_> {
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

    fn judge(&self, sentence: &Sentence, out: &mut Vec<Find>) {
        let first = out.len();
        for run in decode::runs(sentence.labels) {
            if run.label == ADDRESS && is_room(sentence, run) {
                continue;
            }
            let kind = match run.label {
                NAME => FindKind::Name,
                COMPANY => FindKind::Company,
                ADDRESS => FindKind::Address,
                _ => continue,
            };
            if let Some((start, end)) = decode::bytes(sentence.text, sentence.tokens, run)
                && !is_account(sentence.text, (start, end))
                && !companies::is_none(&sentence.text[start..end])
                && !(kind == FindKind::Company && is_bare_kind(sentence, run))
                && !doubts::is_doubtful(sentence, run)
            {
                out.push(Find { kind, start, end });
            }
        }
        let has = |parts| sentence.has_any(parts);
        let add = |out: &mut Vec<Find>, kind, found: Vec<(usize, usize)>| {
            for (from, to) in found.into_iter().filter(|(from, to)| from < to) {
                let (start, end) = sentence.bytes(from, to);
                merge(out, first, Find { kind, start, end });
            }
        };
        add(out, FindKind::Company, companies::find(sentence));
        add(out, FindKind::Address, places::find(sentence));
        if has(lexicon::JOB | lexicon::JOB_WEAK) {
            add(out, FindKind::JobRole, roles::find(sentence));
        }
        add(
            out,
            FindKind::Diagnosis,
            diagnoses::find(sentence, &self.table),
        );
    }
}

/// How much of a text is judged at once, so that memory stays bounded: up to the last end of a line or
/// blank within the bound.
fn piece(text: &str) -> usize {
    if text.len() <= LONGEST_PIECE {
        return text.len();
    }
    let head = &text[..text.floor_char_boundary(LONGEST_PIECE)];
    let border = head.rfind('\n').or_else(|| head.rfind(' '));
    border.map_or(head.len(), |at| at + 1)
}

/// Adds a rule's find to those of the same sentence: addresses grow together and swallow what lies in
/// them, a job title ends where a name or an organization begins.
fn merge(out: &mut Vec<Find>, first: usize, mut find: Find) {
    let grows = |kind| matches!(kind, FindKind::Address | FindKind::Company) && find.kind == kind;
    if grows(find.kind) {
        let kind = find.kind;
        for other in &out[first..] {
            if other.kind == kind && other.start < find.end && find.start < other.end {
                find.start = find.start.min(other.start);
                find.end = find.end.max(other.end);
            }
        }
        let mut kept = out.split_off(first);
        kept.retain(|other| other.end <= find.start || find.end <= other.start);
        out.append(&mut kept);
    } else if find.kind == FindKind::Diagnosis {
        let mut kept = out.split_off(first);
        kept.retain(|other| other.start < find.start || find.end < other.end);
        out.append(&mut kept);
    } else {
        let mut kept = out.split_off(first);
        kept.retain(|other| {
            // "DevOps engineer": what the title's own words were taken for.
            !(other.start == find.start && other.end < find.end)
        });
        out.append(&mut kept);
        for other in &out[first..] {
            let meet = other.start < find.end && find.start < other.end;
            if !meet {
                continue;
            }
            if other.start <= find.start {
                return;
            }
            find.end = other.start;
        }
    }
    out.push(find);
}

/// Part of an e-mail address or an account's name.
fn is_account(text: &str, (start, end): (usize, usize)) -> bool {
    let stands_in_one = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    const REACH: usize = 64;
    let near = &text[end..text.floor_char_boundary(end + REACH)];
    near.trim_start_matches(stands_in_one).starts_with('@') || text[..start].ends_with('@')
}

/// A room or a flat alone is no address.
fn is_room(sentence: &Sentence, run: decode::Run) -> bool {
    sentence.is(run.first, lexicon::FLAT) && run.last - run.first <= 3
}

/// The bare word for a kind of organization.
fn is_bare_kind(sentence: &Sentence, run: decode::Run) -> bool {
    run.last - run.first == 1
        && sentence.facts[run.first].entry.flags & table::COMPANY_KIND != 0
        && sentence.tokens[run.first].case != Case::Upper
}

/// Whether a sentence may hold a find: a capital or a known name.
fn is_candidate(facts: &[Facts]) -> bool {
    const NAMES: u16 = table::FIRST | table::LAST | table::PATRONYMIC | table::FIRST_STEM;
    let is_one = |facts: &Facts| facts.capital || facts.entry.flags & NAMES != 0;
    facts.iter().any(is_one)
}
