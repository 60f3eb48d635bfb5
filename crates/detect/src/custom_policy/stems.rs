//! Stems of Russian and English words. Good enough to find a word of a policy in another form; this is
//! not a dictionary.

/// Endings that are taken off, longer ones first; what stays has at least [`SHORTEST`] letters.
const RUSSIAN: [&str; 61] = [
    "иями", "ями", "ами", "ого", "его", "ому", "ему", "ыми", "ими", "иях", "иям", "ием", "ией",
    "ость", "ости", "ать", "ять", "ить", "еть", "уть", "ает", "яет", "ают", "яют", "ишь", "ешь",
    "ите", "ете", "ции", "ция", "цию", "ых", "их", "ый", "ий", "ой", "ей", "ая", "яя", "ое", "ее",
    "ые", "ие", "ую", "юю", "ов", "ев", "ам", "ям", "ах", "ях", "ом", "ем", "ия", "ию", "ии", "а",
    "я", "у", "ю", "ь",
];
const RUSSIAN_VOWELS: [&str; 4] = ["ы", "и", "е", "о"];
const ENGLISH: [&str; 8] = ["ingly", "ings", "ing", "edly", "ies", "es", "ed", "s"];
const SHORTEST: usize = 4;

/// Letters of a longest word that is looked at; what is longer is no word.
const LONGEST: usize = 40;

/// The words of a text, in order, in lower case: runs of letters and digits. Characters nobody sees
/// are no border.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let is_border = |c: char| !c.is_alphanumeric() && !is_unseen(c) && c != '\'' && c != '’';
    text.split(is_border).filter_map(|word| {
        let seen = word.chars().filter(|c| c.is_alphanumeric());
        let lower = seen.flat_map(char::to_lowercase);
        let word: String = lower.map(|c| if c == 'ё' { 'е' } else { c }).collect();
        (!word.is_empty() && word.chars().count() <= LONGEST).then_some(word)
    })
}

/// Soft hyphens, joiners, marks of direction and accents.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{300}'..='\u{36f}')
}

/// A word without its ending.
pub(super) fn stem(word: &str) -> &str {
    if word.chars().any(|c| matches!(c, 'а'..='я')) {
        let stem = without(word, &RUSSIAN);
        return match stem.len() == word.len() {
            true => without(word, &RUSSIAN_VOWELS),
            false => stem,
        };
    }
    let stem = without(word, &ENGLISH);
    match stem.len() == word.len() {
        true => without(word, &["y", "e"]),
        false => stem.strip_suffix(['e', 'y']).unwrap_or(stem),
    }
}

fn without<'w>(word: &'w str, endings: &[&str]) -> &'w str {
    let fits = |end: &str| {
        let least = SHORTEST - usize::from(end == "s");
        let stem = word.strip_suffix(end)?;
        (stem.chars().count() >= least).then_some(stem)
    };
    endings.iter().find_map(|end| fits(end)).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_share_a_stem() {
        for forms in [
            &["кредит", "кредита", "кредитов", "кредитами", "кредиты"][..],
            &["политика", "политики", "политикой", "политику"],
            &["зарплата", "зарплаты", "зарплатах"],
            &["loan", "loans"],
            &["weapon", "weapons"],
            &["discount", "discounts", "discounted", "discounting"],
            &["policy", "policies"],
        ] {
            for form in forms {
                assert_eq!(stem(form), stem(forms[0]), "{form}");
            }
        }
    }

    #[test]
    fn words_are_read_as_they_are_seen() {
        let seen: Vec<_> = words("Do NOT кре\u{200b}дит, ещё-раз e\u{301}").collect();
        assert_eq!(seen, ["do", "not", "кредит", "еще", "раз", "e"]);
    }
}
