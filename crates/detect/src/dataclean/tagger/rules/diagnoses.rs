//! DIAGNOSIS: a disease with its qualifiers: "острый бронхит", "сахарный диабет 2 типа", "type 2
//! diabetes"; and codes of the register of diseases behind a word that announces them.

use crate::dataclean::tagger::crf::features::{fold, hash};
use crate::dataclean::tagger::crf::table::{self, Table};
use crate::dataclean::tagger::lexicon::{
    DISEASE, DISEASE_BEFORE, DISEASE_BEHIND, DISEASE_CUE, DISEASE_GENERAL, DISEASE_WEAK,
};
use crate::dataclean::tagger::sentence::Sentence;
use crate::dataclean::tagger::token::{Case, Kind};

/// The tokens of every disease: first, and one past the last.
pub(crate) fn find(sentence: &Sentence, table: &Table) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    let cue = (0..sentence.token_count()).find(|at| is_cue(sentence, *at));
    let mut at = 0;
    while at < sentence.token_count() {
        let floor = out.last().map_or(0, |(_, last)| *last);
        let found = match is_head(sentence, at, table) {
            Some(is_strong) => disease(sentence, at, is_strong, cue.is_some_and(|cue| cue < at)),
            None => cue.and_then(|cue| code(sentence, at, cue)),
        };
        match found {
            Some((first, last)) => {
                out.push((first.max(floor), last));
                at = last;
            }
            None => at += 1,
        }
    }
    if let Some(cue) = cue.filter(|_| out.is_empty()) {
        out.extend(behind_cue(sentence, cue));
    }
    out
}

fn is_cue(sentence: &Sentence, at: usize) -> bool {
    sentence.is(at, DISEASE_CUE)
        || matches!(
            sentence.word(at),
            "МКБ" | "МКБ-10" | "ICD" | "ICD-10" | "Ds" | "Диагноз"
        )
}

/// Whether a disease by itself, or one that needs a word beside it.
fn is_head(sentence: &Sentence, at: usize, table: &Table) -> Option<bool> {
    if sentence.is(at, DISEASE) {
        return Some(true);
    }
    if sentence.is(at, DISEASE_WEAK) {
        return Some(false);
    }
    let token = sentence.tokens[at];
    let is_long = token.end - token.start >= 8 && token.case != Case::Camel;
    let by_form = is_long
        && match token.kind {
            Kind::Cyrillic => is_russian_form(sentence.word(at), table),
            Kind::Latin => is_english_form(sentence.word(at)),
            _ => false,
        };
    by_form.then_some(true)
}

/// A word that ends like a disease and whose first form stands in the register.
fn is_russian_form(word: &str, table: &Table) -> bool {
    const MASCULINE: &[&str] = &["", "а", "у", "ом", "е", "ы", "ов", "ам", "ами", "ах"];
    const FEMININE: &[&str] = &["я", "и", "ю", "ей", "й", "ям", "ями", "ях"];
    const TUMOURS: &[&str] = &["а", "ы", "е", "у", "ой", "", "ам", "ами", "ах"];
    const NOT: &[&str] = &["аппетит", "лимит", "визит", "кредит", "дефицит"];
    let known = |base: &str, ending: &str| {
        let letters = base.chars().chain(ending.chars()).map(fold);
        table.get(hash(letters)).flags & table::DISEASE != 0
            && !NOT.contains(&base.to_lowercase().as_str())
    };
    let by = |endings: &[&str], suffixes: &[&str], first: &str| {
        endings.iter().any(|ending| {
            word.strip_suffix(ending).is_some_and(|base| {
                suffixes.iter().any(|s| base.ends_with(s)) && known(base, first)
            })
        })
    };
    by(MASCULINE, &["ит", "оз", "ез"], "")
        || by(
            FEMININE,
            &[
                "пати",
                "еми",
                "эми",
                "алги",
                "ури",
                "плеги",
                "пени",
                "мегали",
            ],
            "я",
        )
        || word.len() >= 12 && by(TUMOURS, &["ом"], "а")
}

fn is_english_form(word: &str) -> bool {
    const NOT: &[&str] = &[
        "diagnosis",
        "prognosis",
        "osmosis",
        "hypnosis",
        "symbiosis",
        "metamorphosis",
        "academia",
        "nostalgia",
        "homeopathy",
        "osteopathy",
        "naturopathy",
        "telepathy",
        "psychopathy",
        "photosynthesis",
        "apotheosis",
        "mitosis",
        "meiosis",
        "gnosis",
    ];
    const SUFFIXES: &[&str] = &[
        "itis", "osis", "emia", "aemia", "algia", "opathy", "plegia", "penia",
    ];
    let word = word.to_lowercase();
    SUFFIXES.iter().any(|suffix| word.ends_with(suffix)) && !NOT.contains(&word.as_str())
}

fn disease(
    sentence: &Sentence,
    head: usize,
    is_strong: bool,
    cued: bool,
) -> Option<(usize, usize)> {
    let mut first = head;
    let mut says_which = cued;
    while first > 0 && sentence.on_line(first) {
        let before = first - 1;
        let numbered = first >= 2
            && sentence.kind(before) == Some(Kind::Digits)
            && matches!(
                sentence.word(first - 2).to_lowercase().as_str(),
                "type" | "stage"
            );
        let known = sentence.facts[before].entry.flags & table::DISEASE != 0;
        let possessed = first >= 3
            && sentence.word(before) == "s"
            && matches!(sentence.word(first - 2), "'" | "’")
            && (sentence.is(first - 3, DISEASE_BEFORE) || sentence.is_capital(first - 3));
        if possessed {
            says_which = true;
            first -= 3;
        } else if numbered {
            first -= 2;
        } else if sentence.is(before, DISEASE_BEFORE) || known && sentence.is_adjective(before) {
            says_which |= !sentence.is(before, DISEASE_GENERAL);
            first -= 1;
        } else if sentence.is(before, DISEASE_GENERAL) {
            first -= 1;
        } else {
            break;
        }
    }
    let last = end(sentence, head + 1);
    (is_strong || says_which && (first < head || !cued) || last > head + 1).then_some((first, last))
}

fn end(sentence: &Sentence, start: usize) -> usize {
    let mut last = start;
    while last < sentence.token_count() && sentence.on_line(last) {
        let word = sentence.word(last);
        let is_number =
            sentence.is_number(last, 1..=2) || matches!(word, "I" | "II" | "III" | "IV");
        let named = sentence.is(last, DISEASE_BEHIND);
        let known = sentence.facts[last].entry.flags & table::DISEASE != 0
            && sentence.is_lower(last)
            && sentence.kind(last) == Some(Kind::Cyrillic);
        let english =
            sentence.is(last, DISEASE | DISEASE_WEAK) && sentence.kind(last) == Some(Kind::Latin);
        let kind_before = matches!(
            sentence.word(last - 1),
            "типа" | "type" | "stage" | "степени" | "стадии"
        );
        if is_number
            && (sentence.is(last + 1, DISEASE_BEHIND)
                && sentence.kind(last + 1) == Some(Kind::Cyrillic))
        {
            last += 2;
        } else if is_number && kind_before || named && !is_number || known || english {
            last += 1;
        } else if let Some(step) = place(sentence, last) {
            last += step;
        } else {
            break;
        }
    }
    last
}

/// "of the lung", "in the left hip".
fn place(sentence: &Sentence, at: usize) -> Option<usize> {
    if !matches!(sentence.word(at), "of" | "in") {
        return None;
    }
    let article = usize::from(matches!(
        sentence.word(at + 1),
        "the" | "his" | "her" | "my"
    ));
    let body = at + 1 + article;
    (sentence.is(body, DISEASE_BEFORE) && !sentence.is(body, DISEASE_GENERAL))
        .then_some(2 + article)
}

/// A code such as "J45.0" behind a word that says so.
fn code(sentence: &Sentence, at: usize, cue: usize) -> Option<(usize, usize)> {
    const REACH: usize = 12;
    let word = sentence.word(at).as_bytes();
    let is_code = at > cue
        && at - cue <= REACH
        && word.len() == 3
        && word[0].is_ascii_uppercase()
        && word[1].is_ascii_digit()
        && word[2].is_ascii_digit();
    let glued = |at: usize| {
        sentence
            .tokens
            .get(at)
            .is_some_and(|token| token.gap == crate::dataclean::tagger::token::Gap::Glued)
    };
    let has_more = sentence.word(at + 1) == "."
        && glued(at + 1)
        && glued(at + 2)
        && sentence.is_number(at + 2, 1..=2);
    is_code.then_some((at, if has_more { at + 3 } else { at + 1 }))
}

/// Words of the register right behind a word that says a disease follows.
fn behind_cue(sentence: &Sentence, cue: usize) -> Option<(usize, usize)> {
    const MOST: usize = 6;
    let mut first = cue + 1;
    while matches!(
        sentence.word(first),
        ":" | "—" | "–" | "-" | "with" | "from" | "of" | "«" | "\""
    ) {
        first += 1;
    }
    let belongs = |at: usize| {
        at < sentence.token_count()
            && (sentence.is(at, DISEASE_BEFORE | DISEASE_BEHIND | DISEASE_GENERAL)
                || sentence.facts[at].entry.flags & table::DISEASE != 0)
    };
    let last = (first..first + MOST)
        .find(|at| !belongs(*at))
        .unwrap_or(first + MOST);
    let known = |at: usize| sentence.facts[at].entry.flags & table::DISEASE != 0;
    (first < last && (first..last).any(known)).then_some((first, last))
}
