//! Insults and threats, by words and whom they are said to: a curse alone is a mood, said to somebody it is an
//! insult. Words only: irony and contempt in polite words are not found.

use super::reading::{Kind, Read};
use super::text::Text;
use super::{Category, Finding, Guardrail};

/// The guardrail of insults and threats.
pub(super) struct Toxicity;

/// Tokens between an insult and the one it is said to.
const NEAR: usize = 4;

const INSULTS: &[&str] = &[
    "idiot",
    "moron",
    "imbecile",
    "stupid",
    "dumbass",
    "bastard",
    "asshole",
    "bitch",
    "scumbag",
    "retard",
    "loser",
    "faggot",
    "nigger",
    "whore",
    "slut",
    "cunt",
    "dickhead",
    "worthless",
    "pathetic",
    "идиот",
    "дебил",
    "кретин",
    "тупиц",
    "тупой",
    "тупая",
    "придур",
    "ублюд",
    "мраз",
    "сволоч",
    "тварь",
    "подон",
    "гнид",
    "дура",
    "дурак",
    "козел",
    "урод",
    "говн",
    "мудак",
    "мудил",
    "шлюх",
    "сук",
    "пидор",
    "пидар",
    "чмо",
    "ничтожеств",
    "выродок",
    "жирн",
    "чурк",
];
const CURSES: &[&str] = &[
    "fuck",
    "shit",
    "motherfuck",
    "бля",
    "хуй",
    "хуе",
    "хуя",
    "пизд",
    "еба",
    "ебу",
    "нахуй",
    "нахер",
    "заеб",
    "уеб",
    "ебл",
];
const ADDRESSED: &[&str] = &[
    "you",
    "your",
    "youre",
    "u",
    "ты",
    "тебя",
    "тебе",
    "твой",
    "твоя",
    "вы",
    "вас",
    "вам",
    "тобой",
    "сам",
];
const THREATS: &[&[&str]] = &[
    &[
        "i",
        "will|ill|gonna|going",
        "kill|hurt|destroy|find|murder|beat|rape",
        "you",
    ],
    &["i|we", "know", "where", "you", "live"],
    &["kill", "yourself"],
    &["go", "die|kill|hang"],
    &[
        "я",
        "тебя|вас",
        "убью|найду|зарежу|закопаю|прибью|уничтожу|порву|изобью",
    ],
    &["убью|зарежу|закопаю|прибью|порву", "тебя|вас"],
    &["убей", "себя"],
    &["сдохни|повесься|убейся"],
];

impl Guardrail for Toxicity {
    fn category(&self) -> Category {
        Category::Toxicity
    }

    fn check(&self, text: &Text<'_>) -> Option<Finding> {
        let words = Words::of(text.read());
        let find = |score, reason| Some(Finding { score, reason });
        if words.threatens() {
            return find(0.8, "threat");
        }
        let insults = words.places(INSULTS, true);
        let said = insults
            .iter()
            .filter(|at| words.is_said_to_somebody(**at))
            .count();
        let curses = words.places(CURSES, true);
        match (said, insults.len(), curses.len()) {
            (2.., ..) => find(0.8, "insult"),
            (1, ..) => find(0.65, "insult"),
            (_, _, curses) if curses > 0 && words.is_said_to_somebody(words.first(CURSES)) => {
                find(0.55, "obscenity")
            }
            (_, 1.., 1..) => find(0.4, "obscenity"),
            (_, _, 1..) => find(0.3, "obscenity"),
            (_, 1.., _) => find(0.2, "rude_word"),
            _ => None,
        }
    }
}

/// The words of a message and which of them are quoted.
struct Words<'r> {
    words: Vec<(&'r str, bool)>,
}

impl<'r> Words<'r> {
    fn of(read: &'r Read) -> Self {
        let mut is_quoted = false;
        let mut words = Vec::new();
        for token in &read.tokens {
            let word = read.word(*token);
            match token.kind {
                Kind::Sign if word == "\"" => is_quoted = !is_quoted,
                Kind::Line => is_quoted = false,
                Kind::Word => words.push((word, is_quoted)),
                _ => {}
            }
        }
        Self { words }
    }

    /// Places of words that are not quoted and begin so.
    fn places(&self, stems: &[&str], unquoted: bool) -> Vec<usize> {
        let is_one = |(word, quoted): &(&str, bool)| {
            !(unquoted && *quoted) && stems.iter().any(|stem| word.starts_with(stem))
        };
        (0..self.words.len())
            .filter(|at| is_one(&self.words[*at]))
            .collect()
    }

    fn first(&self, stems: &[&str]) -> usize {
        self.places(stems, true).first().copied().unwrap_or(0)
    }

    fn is_said_to_somebody(&self, at: usize) -> bool {
        let near = at.saturating_sub(NEAR)..self.words.len().min(at + NEAR);
        self.words[near]
            .iter()
            .any(|(word, _)| ADDRESSED.contains(word))
    }

    fn threatens(&self) -> bool {
        let is = |at: usize, choices: &str| {
            let word = self.words.get(at).filter(|(_, quoted)| !quoted);
            word.is_some_and(|(word, _)| choices.split('|').any(|choice| choice == *word))
        };
        let stands = |at: usize, threat: &[&str]| {
            threat
                .iter()
                .enumerate()
                .all(|(step, word)| is(at + step, word))
        };
        (0..self.words.len()).any(|at| THREATS.iter().any(|threat| stands(at, threat)))
    }
}
