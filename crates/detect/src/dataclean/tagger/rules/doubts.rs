//! Rejects names and organizations of the models by their spelling: words in lower case, calls in a program,
//! abbreviations that no list of names has, titles of works. The trainer uses this code.

use crate::dataclean::tagger::crf::decode::Run;
use crate::dataclean::tagger::crf::model::{COMPANY, NAME};
use crate::dataclean::tagger::crf::table::{
    COMMON, FIRST, FIRST_STEM, LAST, LAST_STEM, PATRONYMIC,
};
use crate::dataclean::tagger::sentence::Sentence;
use crate::dataclean::tagger::token::{Case, Gap, Kind};

/// Words in small letters that stand inside names.
const PARTICLES: &[&str] = &[
    "van", "von", "der", "den", "de", "del", "della", "di", "da", "do", "dos", "du", "la", "le",
    "el", "al", "bin", "ibn", "ben", "ter", "ten", "zu", "y", "e", "st", "фон", "ван", "де", "да",
    "ди", "дер", "дель", "ла", "ле", "аль", "эль", "ибн", "бен", "бин", "оглы", "кызы", "оглу",
    "заде", "улы", "ага",
];
/// Beginnings of words for works, games and teams, whose titles in quotes are no organizations.
const WORKS: &[&str] = &[
    "роман",
    "рассказ",
    "повест",
    "книг",
    "фильм",
    "мультфильм",
    "сериал",
    "стат",
    "песн",
    "пьес",
    "сказк",
    "поэм",
    "стихотворен",
    "картин",
    "игр",
    "квест",
    "отряд",
    "рубрик",
    "спектакл",
    "опер",
    "балет",
    "альбом",
    "персонаж",
    "роль",
    "роли",
    "миф",
    "легенд",
    "novel",
    "story",
    "book",
    "movie",
    "film",
    "series",
    "song",
    "play",
    "poem",
    "game",
    "article",
    "chapter",
    "episode",
];

/// Whether a find of the chains is none.
pub(crate) fn is_doubtful(sentence: &Sentence, run: Run) -> bool {
    match run.label {
        NAME => {
            is_small(sentence, run)
                || is_phrase(sentence, run)
                || is_abbreviation(sentence, run)
                || is_first_word(sentence, run)
                || is_code(sentence, run)
        }
        COMPANY => is_code(sentence, run) || is_title(sentence, run) || is_clause(sentence, run),
        _ => false,
    }
}

/// Nothing in it is a capital although the sentence has some.
fn is_small(sentence: &Sentence, run: Run) -> bool {
    let capital = |at: usize| sentence.is_capital(at);
    let others = (0..sentence.token_count()).filter(|at| !(run.first..run.last).contains(at));
    // An account's name in Latin letters stands in Russian text as it is.
    let foreign = |at: usize| sentence.kind(at) == Some(Kind::Cyrillic);
    let account =
        sentence.kind(run.first) == Some(Kind::Latin) && (0..sentence.token_count()).any(foreign);
    !account && !(run.first..run.last).any(capital) && others.into_iter().any(capital)
}

/// Words in small letters between or behind its capitals, and no particles.
fn is_phrase(sentence: &Sentence, run: Run) -> bool {
    let mut inside = run.first..run.last;
    let plain = |at: usize| {
        let known = sentence.facts[at].entry.flags & (FIRST | LAST | PATRONYMIC) != 0;
        sentence.is_lower(at) && !known && !PARTICLES.contains(&sentence.word(at))
    };
    let capital = (run.first..run.last).any(|at| sentence.is_capital(at));
    capital && inside.any(plain)
}

/// One word in capitals that no list of names has, where not everything is in capitals.
fn is_abbreviation(sentence: &Sentence, run: Run) -> bool {
    let upper = |at: usize| sentence.tokens[at].case == Case::Upper;
    let words = (0..sentence.token_count()).filter(|at| sentence.tokens[*at].is_word());
    let all = words.into_iter().all(upper);
    run.last - run.first == 1 && upper(run.first) && !is_known(sentence, run.first) && !all
}

/// The first word of an English sentence is capitalized anyway; a frequent word that stands there alone
/// is a name only when a list of names has it.
fn is_first_word(sentence: &Sentence, run: Run) -> bool {
    let opens = (0..run.first).all(|at| sentence.kind(at) == Some(Kind::Mark));
    let latin = sentence.kind(run.first) == Some(Kind::Latin);
    let common = latin && sentence.facts[run.first].entry.flags & COMMON != 0;
    opens && run.last - run.first == 1 && common && !is_known(sentence, run.first)
}

fn is_known(sentence: &Sentence, at: usize) -> bool {
    const NAMES: u16 = FIRST | LAST | PATRONYMIC | FIRST_STEM | LAST_STEM;
    sentence.facts[at].entry.flags & NAMES != 0
}

/// A word of a program: called, a member, between backticks, or the name of an error.
fn is_code(sentence: &Sentence, run: Run) -> bool {
    if run.last - run.first != 1 || sentence.kind(run.first) == Some(Kind::Cyrillic) {
        return false;
    }
    let glued = |at: usize| {
        sentence
            .tokens
            .get(at)
            .is_some_and(|token| token.gap == Gap::Glued)
    };
    let called =
        glued(run.last) && matches!(sentence.word(run.last), "(" | "_" | "`" | "[" | "=" | "{");
    let before = run.first.checked_sub(1).map_or("", |at| sentence.word(at));
    let member = glued(run.first) && matches!(before, "_" | "`" | "$" | "-" | "=" | "/");
    let word = sentence.word(run.first);
    let ends = ["Error", "Exception", "Warning"]
        .iter()
        .any(|end| word.ends_with(end));
    called || member || ends
}

/// A comma with a Russian word in small letters behind it, outside quotes: two clauses.
fn is_clause(sentence: &Sentence, run: Run) -> bool {
    let quotes = ["«", "\"", "“", "„"];
    let words = || (run.first..run.last).map(|at| sentence.word(at));
    let lower = |at: usize| sentence.is_lower(at) && sentence.kind(at) == Some(Kind::Cyrillic);
    let comma = |at: usize| sentence.word(at) == "," && lower(at + 1);
    let inside = run.first..run.last.saturating_sub(1);
    !words().any(|word| quotes.contains(&word)) && inside.into_iter().any(comma)
}

/// In quotes behind a word for a work.
fn is_title(sentence: &Sentence, run: Run) -> bool {
    const QUOTES: &[&str] = &["«", "\"", "“", "„"];
    let open = match QUOTES.contains(&sentence.word(run.first)) {
        true => Some(run.first),
        false => run
            .first
            .checked_sub(1)
            .filter(|at| QUOTES.contains(&sentence.word(*at))),
    };
    let Some(before) = open.and_then(|open| open.checked_sub(1)) else {
        return false;
    };
    let word = sentence.word(before).to_lowercase();
    WORKS.iter().any(|stem| word.starts_with(stem))
}
