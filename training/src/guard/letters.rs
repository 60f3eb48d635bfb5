//! Letters with a request in them that has nothing to do with the letter, and letters as they are, alone or
//! with a request about them. What is put together is learned from; how much of it is found is measured on
//! requests of kinds and letters that were held out.

use super::fit::Seen;
use super::made;
use super::rows::{Label, Row};
use crate::random::Random;
use monitor_detect::training::reading::TokenizedText;

/// Letters of one language and one sort.
const LETTERS: usize = 1500;
/// Letters of this many bytes at most carry something.
const LONGEST: usize = 4000;

/// A letter.
pub struct Letter {
    pub text: String,
    /// The kind of the request that was put in; "plain" and "task" are harmless.
    pub kind: String,
    /// Which letter it was made of.
    pub carrier: usize,
    /// The tokens that were put in.
    pub asked: Option<(usize, usize)>,
}

/// Letters of both languages.
pub fn all(rows: &[Row], random: &mut Random) -> Vec<Letter> {
    let mut out = Vec::new();
    for language in ["en", "ru"] {
        let carriers = carriers(rows, language);
        let requests = requests(rows, language);
        let tasks = made::lines(&format!("tasks_{language}.txt"));
        for (number, text) in carriers.iter().enumerate() {
            out.push(Letter {
                text: (*text).clone(),
                kind: "plain".to_owned(),
                carrier: number,
                asked: None,
            });
        }
        for _ in 0..LETTERS {
            let (kind, request) = random.pick(&requests).clone();
            out.push(joined(&carriers, (kind, request), random));
            let task = random.pick(&tasks).clone();
            out.push(joined(&carriers, ("task".to_owned(), task), random));
        }
    }
    out
}

fn carriers<'r>(rows: &'r [Row], language: &str) -> Vec<&'r String> {
    let is_ours = |row: &&Row| {
        row.label == Label::Benign
            && (row.kind.starts_with(language) || row.kind == format!("made/mail-{language}"))
            && row.text.len() < LONGEST
            && !row.text.contains('{')
    };
    let ours = rows.iter().filter(is_ours).map(|row| &row.text);
    ours.filter(|text| !Seen::of(text).readings[0].sentences.is_empty())
        .collect()
}

/// Requests with their kinds: the project's own, and harmless prompts.
fn requests(rows: &[Row], language: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut kind = String::new();
    for line in made::lines(&format!("foreign_{language}.txt")) {
        match line.strip_prefix("= ") {
            Some(name) => kind = format!("foreign/{name}"),
            // The project's own count twice: they are what such requests look like.
            None => out.extend([(kind.clone(), line.clone()), (kind.clone(), line)]),
        }
    }
    let prompts = rows.iter().filter(|row| {
        let is_prompt =
            row.kind.starts_with("en/wildguard") || row.kind == format!("made/ordinary-{language}");
        is_prompt && row.label == Label::Benign && row.text.len() < 140
    });
    let prompts = prompts.filter(|row| language == "en" || row.kind.starts_with("made"));
    let mut prompts: Vec<_> = prompts
        .map(|row| ("foreign/prompts".to_owned(), row.text.clone()))
        .collect();
    prompts.truncate(out.len());
    out.extend(prompts);
    out
}

/// A request before, behind or inside a letter.
fn joined(carriers: &[&String], (kind, request): (String, String), random: &mut Random) -> Letter {
    let carrier = random.below(carriers.len());
    let text = carriers[carrier];
    // A request about the letter does not stand inside it.
    let at = match random.below(if kind == "task" { 2 } else { 3 }) {
        0 => 0,
        1 => text.len(),
        _ => inside(text, random),
    };
    let gap = *random.pick(&[" ", " ", "\n", "\n\n"]);
    let (before, behind) = text.split_at(at);
    let before = if at == 0 {
        String::new()
    } else {
        format!("{before}{gap}")
    };
    let behind = if behind.is_empty() {
        String::new()
    } else {
        format!("{gap}{behind}")
    };
    let from = TokenizedText::new(&before).tokens.len();
    let to = TokenizedText::new(&format!("{before}{request}")).tokens.len();
    Letter {
        text: format!("{before}{request}{behind}"),
        asked: (kind != "task").then_some((from, to)),
        kind,
        carrier,
    }
}

/// A place where a sentence ends.
fn inside(text: &str, random: &mut Random) -> usize {
    let ends: Vec<usize> = text
        .match_indices([' ', '\n'])
        .map(|(at, _)| at)
        .filter(|at| text[..*at].ends_with(['.', '!', '?', '\n']))
        .collect();
    match ends.is_empty() {
        true => text.len(),
        false => *random.pick(&ends),
    }
}
