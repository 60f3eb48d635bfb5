//! The structure of mails and documents: their sentences, and features that show which of them asks an
//! assistant for something unrelated to the rest. The weights decide. A message that is not a mail has no
//! sentences here. The trainer uses this code.

use super::hash::mix;
use crate::guardrails::reading::{Kind, TokenizedText};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A sentence: its tokens, and hashes of what it does in the mail.
pub struct Sentence {
    pub from: usize,
    pub to: usize,
    pub hashes: Vec<u32>,
}

/// Marks that make a mail, and tokens that it has at least.
const FEWEST_MARKS: u32 = 2;
/// The least tokens of a mail.
const FEWEST_TOKENS: usize = 24;
/// Sentences that are looked at.
const MOST: usize = 400;
/// How often a mark of a sentence counts, beside its words.
const TIMES: usize = 3;
/// Letters of a word's beginning by which two sentences are about the same.
const STEM: usize = 5;

/// Words before a colon that head a mail.
const HEADERS: &str = "subject from to sent date cc bcc email_from content headline author published received \
    attachments reply тема от кому отправлено дата копия вложения отправитель получатель";
/// Words that begin a mail.
const GREETINGS: &str =
    "hi hello dear hey greetings здравствуйте уважаемый уважаемая уважаемые привет коллеги дорогие";
/// Turns that stand in letters, words parted by spaces.
const TURNS: [&str; 40] = [
    "best regards",
    "kind regards",
    "warm regards",
    "regards ,",
    "sincerely",
    "yours truly",
    "many thanks",
    "thank you for",
    "cheers ,",
    "reply to this",
    "this email",
    "unsubscribe",
    "attached",
    "your account",
    "checking account",
    "debit card",
    "customer support",
    "contact support",
    "privacy policy",
    "all rights",
    "in your browser",
    "view in browser",
    "invoice",
    "order number",
    "receiving this",
    "let me know",
    "hope this",
    "looking forward",
    "out of office",
    "с уважением",
    "добрый день",
    "доброе утро",
    "добрый вечер",
    "во вложении",
    "отписаться",
    "это письмо",
    "ваш заказ",
    "ваш счет",
    "до встречи",
    "всего доброго",
];
/// Words that order.
const ORDERS: &str = "explain write translate describe draft compose provide give tell list summarize summarise \
    create generate convert replace rewrite add include integrate modify insert use respond answer reply render \
    encode scramble suggest recommend calculate compute solve define compare outline analyze analyze find show \
    make design develop plan help imagine pretend act classify identify name recite sing play discuss argue \
    teach break mention append augment enhance remove change spell output print say repeat ignore tease hint \
    invite promote advise introduce substitute misspell rearrange group combine forward send recall determine \
    объясни напиши переведи опиши составь дай скажи перечисли создай придумай расскажи приведи назови посчитай \
    вычисли реши сравни предложи порекомендуй добавь включи вставь упомяни замени ответь покажи помоги разбери \
    сочини найди определи перепиши сделай вставляй добавляй отвечай пиши используй";
/// Words that ask.
const QUESTIONS: &str = "what how who why when where which whose whats как что кто почему зачем когда где какой \
    какая какие какое сколько чем";
/// Words that ask somebody to do a thing.
const MODALS: &str =
    "can could would will do please kindly можешь можете мог могли пожалуйста прошу";
/// Words that point to the mail around them.
const POINTERS: &str = "this that these those it above below email mail message letter document text article \
    attachment attached sender following here они это эти этот эта этого письмо письма письме текст документ \
    сообщение вложении выше ниже";
/// Words for what an assistant gives back.
const ANSWERS: &str =
    "response reply answer output summary responses answers ответ ответе ответу ответа резюме";
/// Words that say nothing of what a sentence is about.
const EMPTY: &str = "with from your about have that this what when which would could please will does into them they \
    there their also been were more some just only than then very make sure want need know like time";

const HEADER: u8 = 1;
const GREETING: u8 = 2;
const ORDER: u8 = 4;
const QUESTION: u8 = 8;
const MODAL: u8 = 16;
const POINTER: u8 = 32;
const ANSWER: u8 = 64;
const NO_SUBJECT: u8 = 128;

static WORDS: LazyLock<HashMap<&'static str, u8, RandomState>> = LazyLock::new(|| {
    let mut words: HashMap<&'static str, u8, RandomState> = HashMap::default();
    for (list, bit) in [
        (HEADERS, HEADER),
        (GREETINGS, GREETING),
        (ORDERS, ORDER),
        (QUESTIONS, QUESTION),
        (MODALS, MODAL),
        (POINTERS, POINTER),
        (ANSWERS, ANSWER),
        (EMPTY, NO_SUBJECT),
    ] {
        for word in list.split_whitespace() {
            *words.entry(word).or_default() |= bit;
        }
    }
    words
});

/// First words of [`TURNS`], and all of their words.
static TURNS_BY_WORD: LazyLock<HashMap<&'static str, Vec<Vec<&'static str>>, RandomState>> =
    LazyLock::new(|| {
        let mut turns: HashMap<&'static str, Vec<Vec<&'static str>>, RandomState> =
            HashMap::default();
        for turn in TURNS {
            let words: Vec<_> = turn.split_whitespace().collect();
            turns.entry(words[0]).or_default().push(words);
        }
        turns
    });

/// The sentences of a mail; none where the message is not a mail.
pub fn sentences(read: &TokenizedText) -> Vec<Sentence> {
    if read.tokens.len() < FEWEST_TOKENS {
        return Vec::new();
    }
    let bits: Vec<u8> = (0..read.tokens.len())
        .map(|at| WORDS.get(word(read, at)).copied().unwrap_or(0))
        .collect();
    let marks = marks(read, &bits);
    if marks < FEWEST_MARKS {
        return Vec::new();
    }
    let ranges = split(read);
    let subjects: Vec<Vec<u32>> = ranges
        .iter()
        .map(|range| subjects(read, &bits, *range))
        .collect();
    let mut counts: HashMap<u32, u32> = HashMap::default();
    for stem in subjects.iter().flatten() {
        *counts.entry(*stem).or_default() += 1;
    }
    let last = ranges.len() - 1;
    let each = ranges.iter().zip(&subjects).enumerate();
    each.map(|(at, ((from, to), subjects))| {
        let common = subjects.iter().filter(|stem| counts[*stem] > 1).count();
        let place = u32::from(at == 0) + 2 * u32::from(at == last);
        Sentence {
            from: *from,
            to: *to,
            hashes: hashes(read, &bits, (*from, *to), (place, common as u32, marks)),
        }
    })
    .collect()
}

fn word(read: &TokenizedText, at: usize) -> &str {
    read.tokens.get(at).map_or("", |token| read.word(*token))
}

fn marks(read: &TokenizedText, bits: &[u8]) -> u32 {
    let mut marks = 0;
    for (at, bit) in bits.iter().enumerate() {
        let begins = at == 0 || read.tokens[at - 1].kind != Kind::Word;
        if bit & HEADER != 0 && word(read, at + 1) == ":" {
            marks += 1;
        }
        if bit & GREETING != 0 && begins && (1..5).any(|step| word(read, at + step) == ",") {
            marks += 1;
        }
        if let Some(turns) = TURNS_BY_WORD.get(word(read, at)) {
            let stands = |turn: &Vec<&str>| {
                let mut words = turn.iter().enumerate();
                words.all(|(step, expected)| word(read, at + step) == *expected)
            };
            marks += u32::from(turns.iter().any(stands));
        }
    }
    marks
}

/// Where sentences end: behind a full stop that parts no numbers and no address, and at line ends.
fn split(read: &TokenizedText) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut from = 0;
    for at in 0..read.tokens.len() {
        let ends = match (read.tokens[at].kind, word(read, at)) {
            (Kind::Line, _) | (Kind::Sign, "!" | "?" | "|") => true,
            (Kind::Sign, ".") => !is_inside(read, at),
            (Kind::Sign, ":") => at - from <= 2,
            _ => false,
        };
        if !ends {
            continue;
        }
        if (from..=at).any(|at| read.tokens[at].kind == Kind::Word) && out.len() < MOST {
            out.push((from, at + 1));
        }
        from = at + 1;
    }
    if from < read.tokens.len() || out.is_empty() {
        out.push((from.min(read.tokens.len() - 1), read.tokens.len()));
    }
    out
}

fn is_inside(read: &TokenizedText, at: usize) -> bool {
    const ENDINGS: [&str; 14] = [
        "com", "org", "net", "io", "ru", "co", "uk", "xyz", "de", "eu", "example", "info", "site",
        "ai",
    ];
    let numbers = |at: usize| {
        read.tokens
            .get(at)
            .is_some_and(|token| token.kind == Kind::Number)
    };
    let before = at.checked_sub(1).map_or("", |at| word(read, at));
    numbers(at + 1) && at > 0 && numbers(at - 1)
        || ENDINGS.contains(&word(read, at + 1))
        || before == "www"
}

/// What a sentence is about: the beginnings of its longer words.
fn subjects(read: &TokenizedText, bits: &[u8], (from, to): (usize, usize)) -> Vec<u32> {
    let words = (from..to).filter(|at| read.tokens[*at].kind == Kind::Word && bits[*at] == 0);
    let words = words
        .map(|at| word(read, at))
        .filter(|word| word.chars().nth(3).is_some());
    let mut stems: Vec<u32> = words
        .map(|word| {
            word.chars()
                .take(STEM)
                .fold(9, |hash, c| mix(0x60, hash, c as u32))
        })
        .collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}

fn hashes(
    read: &TokenizedText,
    bits: &[u8],
    (from, to): (usize, usize),
    (place, common, marks): (u32, u32, u32),
) -> Vec<u32> {
    let starts = (from..to)
        .find(|at| read.tokens[*at].kind == Kind::Word)
        .unwrap_or(from);
    let has = |bit: u8| (from..to).any(|at| bits[at] & bit != 0);
    let act = act(read, bits, (starts, to));
    let points = u32::from(has(POINTER)) + 2 * u32::from(has(ANSWER));
    let (common, size) = (common.min(3), usize::BITS - (to - from).leading_zeros());
    let first = word(read, starts)
        .chars()
        .fold(3, |hash, c| mix(0x61, hash, c as u32));
    let marks = [
        mix(0x62, act, 0),
        mix(0x63, act, points),
        mix(0x64, act, common),
        mix(0x65, act, place),
        mix(0x66, act << 4 | points << 2 | common, place),
        mix(0x67, act, size),
        mix(0x68, first, common.min(1)),
        mix(0x69, first, points),
        mix(0x6a, act, marks.min(6)),
    ];
    let mut out = Vec::with_capacity(marks.len() * TIMES);
    for mark in marks {
        out.extend([mark; TIMES]);
    }
    out
}

/// What a sentence does: it orders, asks politely for something, or asks a question.
fn act(read: &TokenizedText, bits: &[u8], (starts, to): (usize, usize)) -> u32 {
    let asks = word(read, to - 1) == "?";
    let polite = bits[starts] & MODAL != 0;
    let orders = [starts, starts + 1, starts + 2]
        .iter()
        .take(if polite { 3 } else { 1 })
        .any(|at| *at < to && bits[*at] & ORDER != 0);
    match (orders, polite, asks || bits[starts] & QUESTION != 0) {
        (true, false, _) => 1,
        (true, true, _) => 2,
        (_, true, _) => 3,
        (_, _, true) => 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIL: &str = "Hi Dana,\nyour card was charged $680.00 by www.opaline.com. If you have any \
        questions, just reply to this email. How do solar panels work?\nBest regards, the Opaline team";

    #[test]
    fn a_mail_falls_into_its_sentences_and_a_prompt_has_none() {
        let read = TokenizedText::new(MAIL);
        let told: Vec<String> = sentences(&read)
            .iter()
            .map(|sentence| {
                let words: Vec<_> = (sentence.from..sentence.to)
                    .map(|at| word(&read, at))
                    .collect();
                words.join(" ").trim().to_owned()
            })
            .collect();
        assert_eq!(
            told,
            [
                "hi dana ,",
                "your card was charged $ 000 . 00 by www . opaline . com .",
                "if you have any questions , just reply to this email .",
                "how do solar panels work ?",
                "best regards , the opaline team",
            ]
        );
        let prompt = "Explain how solar panels work, and why they are dark. Use simple words for a \
            class of ten-year-olds, and end with three questions that they can discuss in pairs.";
        assert!(sentences(&TokenizedText::new(prompt)).is_empty());
    }

    #[test]
    fn a_text_of_signs_only_is_not_a_mail() {
        for text in ["subject: ".repeat(40), ".".repeat(90), "a: ".repeat(90)] {
            for sentence in sentences(&TokenizedText::new(&text)) {
                assert!(sentence.from < sentence.to);
            }
        }
    }
}
