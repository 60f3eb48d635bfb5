//! Extracts from the text of a policy what it forbids: the subjects of its prohibiting clauses, each as
//! the stems of the words that name it. It never sees a message.

use super::lexicon::{FORBIDS, PARTS, PERMITS, is_empty};
use super::stems::{stem, words};

/// Matters of one policy, at most; further ones are not looked for.
const MOST_PHRASES: usize = 100;
/// Words of one matter, at most.
const MOST_WORDS: usize = 8;
const QUOTES: [(char, char); 4] = [('«', '»'), ('"', '"'), ('“', '”'), ('„', '“')];

/// Something that a policy is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Phrase {
    /// Its stems, each once.
    pub(super) stems: Vec<String>,
    /// How many of them have to stand close together.
    pub(super) needed: usize,
}

impl Phrase {
    fn of(words: &[String], is_quoted: bool) -> Option<Self> {
        let mut stems: Vec<String> = Vec::new();
        for word in words.iter().filter(|word| is_quoted || !is_empty(word)) {
            let stem = stem(word).to_owned();
            if !stems.contains(&stem) && stems.len() < MOST_WORDS {
                stems.push(stem);
            }
        }
        let all = stems.len();
        let needed = if is_quoted {
            all
        } else {
            (all * 2).div_ceil(3)
        };
        (all > 0).then_some(Self { stems, needed })
    }
}

/// What a policy forbids. Quoted phrases stand for themselves; of the clauses those count that forbid,
/// and where none does and none permits, all of them.
pub(super) fn phrases(prompt: &str) -> Vec<Phrase> {
    let (rest, quoted) = quotations(prompt);
    let clauses = clauses(&rest);
    let forbids = clauses.iter().any(|clause| clause.forbids);
    let permits = clauses.iter().any(|clause| clause.permits);
    let mut found: Vec<Phrase> = Vec::new();
    let mut add = |phrase: Option<Phrase>| {
        if let Some(phrase) = phrase
            && found.len() < MOST_PHRASES
            && !found.contains(&phrase)
        {
            found.push(phrase);
        }
    };
    if forbids || !permits {
        for quotation in &quoted {
            let words: Vec<_> = words(quotation).collect();
            add(Phrase::of(&words, true));
        }
    }
    for clause in clauses.iter().filter(|clause| match forbids {
        true => clause.forbids,
        false => !permits,
    }) {
        for matter in &clause.matters {
            add(Phrase::of(matter, false));
        }
    }
    found
}

/// The clauses of a text. What follows one that forbids and names nothing, or ends in a colon, is its list.
fn clauses(text: &str) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut is_list = false;
    for part in text.split(ends_clause) {
        let mut clause = Clause::read(part);
        if clause.forbids {
            is_list = part.trim_end().ends_with(':') || !says(&clause.matters);
        } else if is_list && !clause.permits {
            clause.forbids = true;
        }
        clauses.push(clause);
    }
    clauses
}

fn says(matters: &[Vec<String>]) -> bool {
    matters.iter().flatten().any(|word| !is_empty(word))
}

/// A clause and what it speaks of.
struct Clause {
    forbids: bool,
    permits: bool,
    matters: Vec<Vec<String>>,
}

impl Clause {
    fn read(text: &str) -> Self {
        let parts = text.split([',', ':', '(', ')', '/']);
        let mut matters: Vec<Vec<String>> = vec![Vec::new()];
        let (mut after, mut permits) = (None, false);
        for part in parts {
            for word in words(part) {
                let forbids = FORBIDS.contains(&word.as_str());
                permits |= PERMITS.contains(&word.as_str());
                if forbids || PARTS.contains(&word.as_str()) {
                    matters.push(Vec::new());
                    if forbids && after.is_none() {
                        after = Some(matters.len() - 1);
                    }
                } else if let Some(last) = matters.last_mut() {
                    last.push(word);
                }
            }
            matters.push(Vec::new());
        }
        let matters = match after {
            // "Loans are forbidden" names its matter before the word.
            Some(at) if says(&matters[at..]) => matters.split_off(at),
            Some(at) => matters[..at].to_vec(),
            None => matters,
        };
        Self {
            forbids: after.is_some(),
            permits: permits && after.is_none(),
            matters,
        }
    }
}

fn ends_clause(c: char) -> bool {
    matches!(c, '.' | ';' | '!' | '?' | '\n' | '\r' | '•')
}

/// The text without its quotations, and those.
fn quotations(text: &str) -> (String, Vec<String>) {
    let (mut rest, mut quoted) = (String::with_capacity(text.len()), Vec::new());
    let mut left = text;
    while let Some((at, open)) = left.char_indices().find(|(_, c)| opens(*c).is_some()) {
        let (before, from) = (&left[..at], at + open.len_utf8());
        let Some(end) = opens(open).and_then(|close| left[from..].find(close)) else {
            break;
        };
        rest.push_str(before);
        rest.push(',');
        quoted.push(left[from..from + end].to_owned());
        let behind = from + end;
        left = &left[behind + left[behind..].chars().next().map_or(0, char::len_utf8)..];
    }
    rest.push_str(left);
    (rest, quoted)
}

fn opens(c: char) -> Option<char> {
    QUOTES
        .iter()
        .find(|(open, _)| *open == c)
        .map(|(_, close)| *close)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(prompt: &str) -> Vec<String> {
        let drawn = phrases(prompt).into_iter();
        drawn.map(|phrase| phrase.stems.join(" ")).collect()
    }

    #[test]
    fn the_matter_of_a_prohibition_is_drawn_from_either_side_of_it() {
        for (prompt, expected) in [
            ("No loans.", &["loan"][..]),
            ("Do not give advice about loans", &["loan"]),
            ("Discussing loans is prohibited", &["loan"]),
            ("Запрещено обсуждать зарплаты", &["зарплат"]),
            ("Кредиты и займы запрещены", &["кредит", "займ"]),
            ("Запрещено: оружие", &["оруж"]),
            (
                "Do not discuss the following:\n- loans\n- wars",
                &["loan", "war"],
            ),
            (
                "Never discuss politics, elections or war.",
                &["politic", "election", "war"],
            ),
            (
                "Be kind. Do not mention «Проект Аврора».",
                &["проект аврор"],
            ),
        ] {
            assert_eq!(drawn(prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn what_is_permitted_is_no_cue() {
        for prompt in [
            "Only questions about our bicycles are allowed",
            "Разрешены только вопросы о велосипедах",
        ] {
            assert!(drawn(prompt).is_empty(), "{prompt}: {:?}", drawn(prompt));
        }
        let both = "Questions about bicycles are allowed. Weapons are forbidden.";
        assert_eq!(drawn(both), ["weapon"]);
    }

    #[test]
    fn a_policy_of_any_length_gives_a_bounded_number_of_phrases() {
        let prompt: String = (0..2_000).map(|n| format!("never word{n}, ")).collect();
        assert_eq!(phrases(&prompt).len(), MOST_PHRASES);
    }
}
