//! JOB_ROLE: a job title with its qualifiers: "главный бухгалтер", "менеджер по продажам", "head of sales".
//! A generic title ("manager", "глава") needs one.

use crate::dataclean::tagger::lexicon::{JOB, JOB_BEFORE, JOB_BEHIND, JOB_OBJECT, JOB_WEAK};
use crate::dataclean::tagger::sentence::Sentence;
use crate::dataclean::tagger::token::Kind;

/// The tokens of every job title: first, and one past the last.
pub(crate) fn find(sentence: &Sentence) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    if !sentence.has_any(JOB | JOB_WEAK) {
        return out;
    }
    let mut at = 0;
    while at < sentence.token_count() {
        let found = sentence.is(at, JOB | JOB_WEAK).then(|| title(sentence, at));
        let floor = out.last().map_or(0, |(_, last)| *last);
        match found.flatten() {
            Some((first, last)) => {
                out.push((first.max(floor), last));
                at = last;
            }
            None => at += 1,
        }
    }
    out
}

fn title(sentence: &Sentence, head: usize) -> Option<(usize, usize)> {
    let script = sentence.kind(head)?;
    let first = begin(sentence, head, script);
    let last = end(sentence, head + 1, script);
    let named = || {
        script == Kind::Cyrillic
            && sentence.is_capital(last)
            && sentence.on_line(last)
            && sentence.kind(last) == Some(Kind::Cyrillic)
    };
    // "глава государства": whose it is says enough, but is no part of the title.
    let heads = sentence.word(head).to_lowercase().starts_with("глав")
        && is_object(sentence, last)
        && !sentence.is_adjective(last);
    let is_strong = (head..last).any(|at| sentence.is(at, JOB));
    (is_strong || heads || first < head || last > head + 1 || named()).then_some((first, last))
}

fn begin(sentence: &Sentence, head: usize, script: Kind) -> usize {
    let mut first = head;
    while first > 0
        && sentence.is(first - 1, JOB_BEFORE)
        && sentence.on_line(first)
        && sentence.kind(first - 1) == Some(script)
    {
        first -= 1;
    }
    let acting = |words: [&str; 4]| {
        first >= 4
            && (0..4).all(|at| {
                sentence
                    .word(first - 4 + at)
                    .eq_ignore_ascii_case(words[at])
            })
    };
    let is_acting = acting(["и", ".", "о", "."]) || acting(["И", ".", "о", "."]);
    if is_acting { first - 4 } else { first }
}

fn end(sentence: &Sentence, start: usize, script: Kind) -> usize {
    let mut last = start;
    while last < sentence.token_count() && sentence.on_line(last) {
        let step = match script {
            Kind::Cyrillic => step(sentence, last),
            _ => english_step(sentence, last),
        };
        if step == 0 {
            break;
        }
        last += step;
    }
    last
}

/// How many of the next tokens belong to a Russian title.
fn step(sentence: &Sentence, at: usize) -> usize {
    let is_word = |at: usize| sentence.kind(at) == Some(Kind::Cyrillic) && sentence.on_line(at);
    if !is_word(at) {
        return 0;
    }
    if sentence.is(at, JOB | JOB_WEAK) || sentence.is(at, JOB_BEHIND) && sentence.is_lower(at) {
        return 1;
    }
    let leads = sentence.is(at, JOB_BEFORE) && sentence.is_lower(at) || sentence.is_adjective(at);
    if leads && is_word(at + 1) && sentence.is(at + 1, JOB | JOB_WEAK | JOB_BEHIND) {
        return 2;
    }
    if sentence.is(at - 1, JOB_OBJECT) && is_object(sentence, at) {
        return 1;
    }
    match sentence.word(at) {
        "по" if sentence.is_lower(at + 1) && is_word(at + 1) => {
            let is_more = sentence.is_adjective(at + 1) || sentence.word(at + 1) == "делам";
            2 + usize::from(is_more && is_word(at + 2) && sentence.is_lower(at + 2))
        }
        "и" if sentence.is(at + 1, JOB_BEHIND) && sentence.is_lower(at + 1) => 2,
        _ => 0,
    }
}

/// Endings of the genitive.
const ENDINGS: &[&str] = &["а", "я", "ы", "и", "ов", "ев", "ей", "ок"];
/// Words and endings that are none.
const NOT: &[&str] = &[
    "ла",
    "ли",
    "ало",
    "да",
    "ня",
    "бя",
    "если",
    "или",
    "после",
    "тья",
    "всегда",
    "вчера",
    "завтра",
    "дома",
    "сначала",
    "нужны",
    "должны",
    "должна",
    "нужна",
    "хотя",
    "пока",
    "снова",
    "очень",
    "сейчас",
    "почти",
    "ради",
    "внутри",
    "опять",
    "ся",
    "сь",
    "ти",
    "чи",
    "можно",
    "мои",
    "твои",
    "свои",
    "наши",
    "ваши",
    "когда",
    "оба",
    "два",
    "три",
];

/// A noun in the genitive behind a title that takes one, as far as its ending says so.
fn is_object(sentence: &Sentence, at: usize) -> bool {
    let word = sentence.word(at);
    sentence.is_lower(at)
        && word.chars().count() > 3
        && ENDINGS.iter().any(|end| word.ends_with(end))
        && !NOT.iter().any(|end| word.ends_with(end))
}

/// How many of the next tokens belong to an English title.
fn english_step(sentence: &Sentence, at: usize) -> usize {
    if sentence.kind(at) != Some(Kind::Latin) {
        return 0;
    }
    if sentence.is(at, JOB | JOB_WEAK) {
        return 1;
    }
    let joins = matches!(sentence.word(at), "of" | "for" | "Of");
    let names = sentence.is(at + 1, JOB_BEHIND | JOB_BEFORE)
        && !matches!(sentence.word(at + 1), "of" | "for" | "it");
    match joins && names {
        true => {
            let more =
                sentence.is(at + 2, JOB_BEHIND) && !matches!(sentence.word(at + 2), "of" | "for");
            2 + usize::from(more)
        }
        false => 0,
    }
}
