//! The parts of an address in English, for `places`.

use super::address_parts::{LONGEST_NAME, Part, dotted, number_end};
use crate::dataclean::tagger::lexicon::{FLAT, STATE, STREET};
use crate::dataclean::tagger::sentence::Sentence;
use crate::dataclean::tagger::token::{Gap, Kind};

/// "104 King Avenue", "48 High Road".
pub(crate) fn street(sentence: &Sentence, at: usize) -> Option<(usize, Part)> {
    if !sentence.is_number(at, 1..=5) {
        return None;
    }
    let single = |at: usize| sentence.word(at).chars().count() == 1;
    let mut end = at + 1;
    if single(end) && sentence.tokens[end].gap == Gap::Glued && sentence.tokens[end].is_word() {
        end += 1;
    }
    let first = end;
    while end < first + LONGEST_NAME + 1
        && sentence.kind(end) == Some(Kind::Latin)
        && sentence.is_capital(end)
        && sentence.on_line(end)
    {
        if end > first && sentence.is(end, STREET) && !sentence.is(end + 1, STREET) {
            return Some((dotted(sentence, end), Part::StreetHouse));
        }
        end += 1;
        if sentence.word(end) == "." && sentence.is_capital(end + 1) {
            end += 1;
        }
    }
    None
}

/// What follows or leads an English street: flat, state and code, post code of the United Kingdom.
pub(crate) fn tail(sentence: &Sentence, at: usize, before: &[Part]) -> Option<(usize, Part)> {
    let latin = sentence.kind(at) == Some(Kind::Latin);
    if latin && sentence.is(at, FLAT) && sentence.is_capital(at) {
        let number = dotted(sentence, at);
        return sentence
            .is_number(number, 1..=4)
            .then(|| (number_end(sentence, number), Part::Flat));
    }
    if sentence.word(at) == "#" && sentence.is_number(at + 1, 1..=4) && !before.is_empty() {
        return Some((at + 2, Part::Flat));
    }
    let behind = before
        .iter()
        .any(|part| matches!(part, Part::StreetHouse | Part::Maybe));
    if !behind {
        return None;
    }
    let state =
        latin && sentence.is(at, STATE) && sentence.word(at).len() <= 3 && sentence.is_capital(at);
    if state {
        let end = at + 1 + usize::from(sentence.is_number(at + 1, 5..=5));
        let plus = sentence.word(end) == "-" && sentence.is_number(end + 1, 4..=4);
        return Some((if plus { end + 2 } else { end }, Part::Code));
    }
    let outward = sentence.kind(at) == Some(Kind::Mixed)
        && sentence.word(at).len() <= 4
        && sentence.is_capital(at);
    if outward && sentence.is_number(at + 1, 1..=1) && sentence.word(at + 2).len() == 2 {
        return Some((at + 3, Part::Code));
    }
    sentence
        .is_number(at, 5..=5)
        .then_some((at + 1, Part::Code))
}
