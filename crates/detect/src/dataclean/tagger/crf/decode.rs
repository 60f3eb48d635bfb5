//! Turns labels into stretches of text: runs of one label, with quotes completed and characters that do
//! not belong to a name removed. The trainer uses this code.

use super::model::{ADDRESS, COMPANY, NAME, OUTSIDE, PLACE};
use crate::dataclean::tagger::token::{Gap, Kind, Token};

/// A find: the label of its first token, the first token, and one past the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub label: usize,
    pub first: usize,
    pub last: usize,
}

/// The runs of a sentence.
pub fn runs(labels: &[usize]) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    for (at, label) in labels.iter().enumerate() {
        match *label {
            OUTSIDE | PLACE => {}
            NAME | COMPANY | ADDRESS => out.push(Run {
                label: *label,
                first: at,
                last: at + 1,
            }),
            _ => {
                if let Some(run) = out.last_mut() {
                    run.last = at + 1;
                }
            }
        }
    }
    out
}

/// The bytes of a run; None where nothing of it is left.
pub fn bytes(text: &str, tokens: &[Token], run: Run) -> Option<(usize, usize)> {
    let word = |at: usize| &text[tokens[at].start..tokens[at].end];
    let (mut first, mut last) = (run.first, run.last);
    while first < last && is_edge(word(first), run.label) {
        first += 1;
    }
    while first < last && is_trailing(word(last - 1), run.label) {
        last -= 1;
    }
    if last == tokens.len() && last - first > 1 && word(last - 1) == "." {
        last -= 1;
    }
    if first == last || !tokens[first..last].iter().any(|token| token.is_word()) {
        let is_code = run.label == ADDRESS && first < last;
        return is_code.then(|| (tokens[first].start, tokens[last - 1].end));
    }
    if run.label == COMPANY {
        (first, last) = with_quotes(&word, tokens, (first, last));
    }
    if run.label == NAME
        && tokens
            .get(last)
            .is_some_and(|token| token.gap == Gap::Glued)
    {
        let is_initial = tokens[last - 1].end - tokens[last - 1].start <= 2
            && tokens[last - 1].kind != Kind::Mark
            && tokens[last - 1].is_capital();
        if is_initial && last - first > 1 && word(last) == "." {
            last += 1;
        }
    }
    Some((tokens[first].start, tokens[last - 1].end))
}

fn is_edge(word: &str, label: usize) -> bool {
    let is_title = label == NAME && {
        let word = word.to_lowercase();
        matches!(
            word.as_str(),
            "mr" | "mrs"
                | "ms"
                | "dr"
                | "miss"
                | "mx"
                | "prof"
                | "господин"
                | "госпожа"
                | "г-н"
                | "г-жа"
        )
    };
    is_title
        || matches!(
            word,
            "." | "," | ":" | ";" | ")" | "-" | "—" | "–" | "»" | "”"
        )
}

fn is_trailing(word: &str, label: usize) -> bool {
    match label {
        COMPANY => matches!(
            word,
            "," | ":" | ";" | "(" | "-" | "—" | "–" | "«" | "„" | "!" | "?"
        ),
        _ => matches!(
            word,
            "," | ":" | ";" | "(" | "-" | "—" | "–" | "«" | "„" | "\"" | "!" | "?" | "»"
        ),
    }
}

/// An organization's opened quote is closed, one that was never opened is not part of it.
fn with_quotes<'a>(
    word: &impl Fn(usize) -> &'a str,
    tokens: &[Token],
    (first, mut last): (usize, usize),
) -> (usize, usize) {
    let open = (first..last).rposition(|at| matches!(word(at), "«" | "“" | "„"));
    let close = (first..last).rposition(|at| matches!(word(at), "»" | "”"));
    let next_closes = last < tokens.len() && matches!(word(last), "»" | "”");
    match (open, close) {
        (Some(_), None) if next_closes => last += 1,
        (Some(open), Some(close)) if close < open && next_closes => last += 1,
        (None, Some(_)) if last - first > 1 && matches!(word(last - 1), "»" | "”") => {
            let opens = first > 0 && matches!(word(first - 1), "«" | "“" | "„");
            match opens {
                true => return (first - 1, last),
                false => last -= 1,
            }
        }
        _ => {}
    }
    if word(last - 1) == "\"" && (first..last - 1).all(|at| word(at) != "\"") {
        last -= 1;
    }
    (first, last.max(first + 1))
}
