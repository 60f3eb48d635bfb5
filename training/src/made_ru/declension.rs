//! Russian names in five cases.

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Case {
    Nominative,
    Genitive,
    Dative,
    Instrumental,
    Accusative,
}

fn swap(word: &str, cut: usize, ending: &str) -> String {
    let letters: Vec<char> = word.chars().collect();
    letters[..letters.len() - cut].iter().collect::<String>() + ending
}

/// Endings by case behind a cut of so many letters: genitive, dative, instrumental, accusative.
fn decline(word: &str, cut: usize, endings: [&str; 4], case: Case) -> String {
    match case {
        Case::Nominative => word.to_owned(),
        Case::Genitive => swap(word, cut, endings[0]),
        Case::Dative => swap(word, cut, endings[1]),
        Case::Instrumental => swap(word, cut, endings[2]),
        Case::Accusative => swap(word, cut, endings[3]),
    }
}

pub(super) fn first(name: &str, woman: bool, case: Case) -> String {
    let hard = |c: Option<char>| c.is_some_and(|c| "гкхжшчщ".contains(c));
    let mut back = name.chars().rev();
    match (back.next(), woman) {
        (Some('а'), _) if hard(back.next()) => decline(name, 1, ["и", "е", "ой", "у"], case),
        (Some('а'), _) => decline(name, 1, ["ы", "е", "ой", "у"], case),
        (Some('я'), _) if name.ends_with("ия") => decline(name, 1, ["и", "и", "ей", "ю"], case),
        (Some('я'), _) => decline(name, 1, ["и", "е", "ей", "ю"], case),
        (Some('ь'), true) => decline(name, 1, ["и", "и", "ью", "ь"], case),
        (Some('ь' | 'й'), false) => decline(name, 1, ["я", "ю", "ем", "я"], case),
        (Some(c), false) if !"оеуиыэю".contains(c) => {
            decline(name, 0, ["а", "у", "ом", "а"], case)
        }
        _ => name.to_owned(),
    }
}

pub(super) fn patronymic(name: &str, woman: bool, case: Case) -> String {
    match woman {
        true if name.ends_with('а') => decline(name, 1, ["ы", "е", "ой", "у"], case),
        false if name.ends_with('ч') => decline(name, 0, ["а", "у", "ем", "а"], case),
        _ => name.to_owned(),
    }
}

pub(super) fn surname(name: &str, woman: bool, case: Case) -> String {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    match woman {
        true if ends(&["ова", "ева", "ина", "ына"]) => {
            decline(name, 1, ["ой", "ой", "ой", "у"], case)
        }
        true if ends(&["ая"]) => decline(name, 2, ["ой", "ой", "ой", "ую"], case),
        true => name.to_owned(),
        false if ends(&["ов", "ев", "ин", "ын", "ёв"]) => {
            decline(name, 0, ["а", "у", "ым", "а"], case)
        }
        false if ends(&["ий", "ый", "ой"]) => {
            decline(name, 2, ["ого", "ому", "им", "ого"], case)
        }
        false if ends(&["ь", "й"]) => decline(name, 1, ["я", "ю", "ем", "я"], case),
        false if ends(&["а"]) => decline(name, 1, ["ы", "е", "ой", "у"], case),
        false if ends(&["о", "е", "и", "у", "ы", "их", "ых", "я"]) => name.to_owned(),
        false => decline(name, 0, ["а", "у", "ом", "а"], case),
    }
}
