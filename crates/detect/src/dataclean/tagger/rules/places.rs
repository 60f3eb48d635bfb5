//! ADDRESS: the parts of a postal address in sequence, from post code to flat, in the Russian and the
//! English order. A street without a house, or a town alone, is not an address.

use super::address_parts::{LONGEST_NAME, Part, dotted, number_end};
use super::english_places;
use crate::dataclean::tagger::crf::model::PLACE;
use crate::dataclean::tagger::lexicon::{COUNTRY, FLAT, HOUSE, REGION, STATE, STREET, TOWN, ZIP};
use crate::dataclean::tagger::sentence::Sentence;
use crate::dataclean::tagger::token::{Gap, Kind};

/// The tokens of every address: first, and one past the last.
pub(crate) fn find(sentence: &Sentence) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    if !sentence.has_any(STREET | TOWN | REGION | FLAT | STATE | ZIP) {
        return out;
    }
    let mut at = 0;
    while at < sentence.token_count() {
        match address(sentence, at).or_else(|| zip(sentence, at)) {
            Some(last) => {
                out.push((at, last));
                at = last;
            }
            None => at += 1,
        }
    }
    out
}

/// "My zip code is 46718": the code alone.
fn zip(sentence: &Sentence, at: usize) -> Option<usize> {
    const REACH: usize = 4;
    let named = (at.saturating_sub(REACH)..at).any(|before| sentence.is(before, ZIP));
    (named && sentence.is_number(at, 5..=5)).then_some(at + 1)
}

fn address(sentence: &Sentence, start: usize) -> Option<usize> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut at, mut last) = (start, start);
    while let Some((end, part)) = part(sentence, at, &parts) {
        if part == Part::Maybe && parts.is_empty() && !leads_on(sentence, end) {
            return None;
        }
        parts.push(part);
        last = end;
        at = separators(sentence, end);
    }
    if parts.last() == Some(&Part::Maybe) && !follows_street(&parts) {
        return None;
    }
    is_address(&parts).then_some(last)
}

/// A town at the end belongs to the address only behind a street.
fn follows_street(parts: &[Part]) -> bool {
    parts
        .iter()
        .any(|part| matches!(part, Part::StreetHouse | Part::House | Part::Flat))
}

fn is_address(parts: &[Part]) -> bool {
    let has = |part: Part| parts.contains(&part);
    let street = has(Part::Street);
    let house = has(Part::House) || has(Part::Flat);
    let around = has(Part::Town) || has(Part::Region) || has(Part::Code) || has(Part::Maybe);
    has(Part::StreetHouse)
        || street && (house || around)
        || has(Part::Town) && house
        || has(Part::Code) && has(Part::Town)
}

/// A bare town begins an address only where a marked part follows.
fn leads_on(sentence: &Sentence, end: usize) -> bool {
    let next = separators(sentence, end);
    let is_marked = |part: Part| matches!(part, Part::Street | Part::StreetHouse | Part::Town);
    next > end && part(sentence, next, &[Part::Code]).is_some_and(|(_, part)| is_marked(part))
}

/// Steps over commas and ends of lines.
fn separators(sentence: &Sentence, at: usize) -> usize {
    let comma = usize::from(matches!(sentence.word(at), "," | ";"));
    at + comma
}

fn part(sentence: &Sentence, at: usize, before: &[Part]) -> Option<(usize, Part)> {
    if at >= sentence.token_count() || at > 0 && sentence.tokens[at].gap == Gap::Paragraph {
        return None;
    }
    code(sentence, at, before)
        .or_else(|| country(sentence, at))
        .or_else(|| street(sentence, at))
        .or_else(|| house(sentence, at, before))
        .or_else(|| region(sentence, at))
        .or_else(|| town(sentence, at))
        .or_else(|| english_places::street(sentence, at))
        .or_else(|| english_places::tail(sentence, at, before))
        .or_else(|| maybe_town(sentence, at, before))
}

fn code(sentence: &Sentence, at: usize, before: &[Part]) -> Option<(usize, Part)> {
    let is_code = sentence.is_number(at, 6..=6) && !sentence.word(at).starts_with('0');
    let alone = before.is_empty() || before.last() != Some(&Part::Street);
    (is_code && alone).then_some((at + 1, Part::Code))
}

fn country(sentence: &Sentence, at: usize) -> Option<(usize, Part)> {
    if !sentence.is_capital(at) {
        return None;
    }
    let federation = sentence.word(at) == "Российская" && sentence.word(at + 1) == "Федерация";
    match federation {
        true => Some((at + 2, Part::Country)),
        false => (sentence.is(at, COUNTRY) && sentence.word(at).len() > 2)
            .then_some((at + 1, Part::Country)),
    }
}

/// "ул. Ленина", "Ленинский проспект", "50 лет Октября ул.".
fn street(sentence: &Sentence, at: usize) -> Option<(usize, Part)> {
    if sentence.is(at, STREET) && sentence.kind(at) == Some(Kind::Cyrillic) {
        let start = dotted(sentence, at);
        let named = name(sentence, start);
        let is_short = sentence.word(at).chars().count() < 4;
        let lower = sentence.is_lower(start)
            && sentence.kind(start) == Some(Kind::Cyrillic)
            && number_follows(sentence, start + 1)
            && (is_short || sentence.is_lower(at));
        return match named {
            Some(end) => Some((end, Part::Street)),
            None => lower.then_some((start + 1, Part::Street)),
        };
    }
    let first = if sentence.is_number(at, 1..=3) {
        ordinal(sentence, at)?
    } else {
        at
    };
    let most = first + LONGEST_NAME - 1;
    let mut end = first;
    while end < most && sentence.is_capital(end) && sentence.kind(end) == Some(Kind::Cyrillic) {
        end += 1;
        if sentence.is(end, STREET)
            && !sentence.word(end).starts_with("площад")
            && sentence.kind(end) == Some(Kind::Cyrillic)
            && sentence.on_line(end)
        {
            return Some((dotted(sentence, end), Part::Street));
        }
    }
    None
}

/// "1-я", "2-й": where it ends.
fn ordinal(sentence: &Sentence, at: usize) -> Option<usize> {
    let is_hyphen = sentence.word(at + 1) == "-";
    let is_ending = matches!(
        sentence.word(at + 2),
        "я" | "й" | "ая" | "ый" | "ий" | "го" | "ой"
    );
    (is_hyphen && is_ending).then_some(at + 3)
}

/// The name of a street behind its kind: capitalized words, or a number and a word.
fn name(sentence: &Sentence, start: usize) -> Option<usize> {
    let mut at = start;
    if sentence.is_number(at, 1..=3) {
        at = ordinal(sentence, at).unwrap_or(at + 1);
        if sentence.word(at) == "лет" {
            at += 1;
        }
    }
    if matches!(
        sentence.word(at),
        "реки" | "имени" | "академика" | "генерала" | "маршала" | "канала"
    ) {
        at += 1;
    }
    let words = at;
    while at < start + LONGEST_NAME + 1
        && sentence.is_capital(at)
        && sentence.kind(at) != Some(Kind::Mark)
        && (at == start || sentence.on_line(at))
        && !sentence.is(at, TOWN | HOUSE | FLAT)
    {
        at += 1;
        let is_initial = sentence.tokens[at - 1].end - sentence.tokens[at - 1].start <= 2;
        if is_initial && sentence.word(at) == "." {
            at += 1;
        }
        if sentence.word(at) == "и" && sentence.is_capital(at + 1) {
            at += 1;
        }
    }
    (at > words).then_some(at)
}

fn number_follows(sentence: &Sentence, at: usize) -> bool {
    let at = separators(sentence, at);
    sentence.is_number(at, 1..=4) || sentence.is(at, HOUSE)
}

/// "д. 12/3", "корпус 2", "кв. 15", "12-45" right behind a street.
fn house(sentence: &Sentence, at: usize, before: &[Part]) -> Option<(usize, Part)> {
    let marked = sentence.is(at, HOUSE | FLAT) && sentence.kind(at) == Some(Kind::Cyrillic);
    if marked {
        let mut number = dotted(sentence, at);
        number += usize::from(matches!(sentence.word(number), "№" | ":" | "N"));
        let part = if sentence.is(at, HOUSE) {
            Part::House
        } else {
            Part::Flat
        };
        return sentence
            .is_number(number, 1..=4)
            .then(|| (number_end(sentence, number), part));
    }
    let behind_street = matches!(before.last(), Some(Part::Street));
    let behind_house =
        matches!(before.last(), Some(Part::House)) && at > 0 && sentence.word(at - 1) == ",";
    // "8 800 555": digits go on behind a blank.
    let goes_on = sentence.is_number(at + 1, 1..=12);
    (sentence.is_number(at, 1..=4) && !goes_on && (behind_street || behind_house))
        .then(|| (number_end(sentence, at), Part::House))
}

/// "Тульская область", "Республика Татарстан", "Клинский р-н".
fn region(sentence: &Sentence, at: usize) -> Option<(usize, Part)> {
    if !sentence.is_capital(at) {
        return None;
    }
    if matches!(sentence.word(at), "Республика" | "Респ") {
        let start = dotted(sentence, at);
        return sentence
            .is_capital(start)
            .then_some((start + 1, Part::Region));
    }
    let second = at + 1 + usize::from(sentence.is_capital(at + 1) && !sentence.is(at + 1, REGION));
    (sentence.is(second, REGION) && sentence.kind(at) == Some(Kind::Cyrillic))
        .then(|| (dotted(sentence, second), Part::Region))
}

/// "г. Нижний Новгород", "пос. Лесной"; a bare letter needs its dot.
fn town(sentence: &Sentence, at: usize) -> Option<(usize, Part)> {
    if !sentence.is(at, TOWN) || sentence.kind(at) != Some(Kind::Cyrillic) {
        return None;
    }
    let start = dotted(sentence, at);
    let is_letter = sentence.word(at).chars().count() < 2;
    if is_letter && start == at + 1 && sentence.word(at) != "г" {
        return None;
    }
    let mut end = start;
    while end < start + 3
        && sentence.is_capital(end)
        && sentence.kind(end) == Some(Kind::Cyrillic)
        && (end == start || sentence.on_line(end))
    {
        end += 1;
    }
    (end > start).then_some((end, Part::Town))
}

/// A capitalized word or two where a town may stand.
fn maybe_town(sentence: &Sentence, at: usize, before: &[Part]) -> Option<(usize, Part)> {
    let behind_comma = at > 0 && sentence.word(at - 1) == ","
        || matches!(before.last(), Some(Part::Code | Part::Flat));
    let is_place = sentence.labels.get(at) == Some(&PLACE);
    let fits = match before.last() {
        None => is_place || at == 0 || sentence.word(at - 1) == ":",
        Some(Part::Maybe) => false,
        Some(Part::Code | Part::Country | Part::Region | Part::StreetHouse | Part::Flat) => {
            behind_comma || is_place || sentence.tokens[at].gap == Gap::Line
        }
        Some(_) => behind_comma && is_place,
    };
    if !fits {
        return None;
    }
    let kind = sentence.kind(at);
    let mut end = at;
    while end < at + 3
        && sentence.is_capital(end)
        && sentence.kind(end) == kind
        && (end == at || sentence.on_line(end))
        && !sentence.is(end, STREET | HOUSE | REGION)
        && !(end > at && sentence.is(end, STATE) && sentence.word(end).len() == 2)
    {
        end += 1;
    }
    (end > at && kind != Some(Kind::Mixed)).then_some((end, Part::Maybe))
}
