//! Texts that are put together: harmful and harmless requests in the same sentences, attacks from patterns in
//! two languages, attacks inside documents, and the wrappings of attacks around harmless questions. What
//! is put together is never measured on.

use super::rows::{Label, Row};
use crate::random::Random;
use crate::read;
use std::collections::HashMap;
use std::path::Path;

const FOLDER: &str = "data/guard";
/// Requests of one language and one side.
const REQUESTS: usize = 1800;
/// Everyday requests of one language.
const ORDINARY: usize = 1200;
/// Letters of one language.
const MAILS: usize = 900;
/// Messages of one language that quote an attack.
const QUOTES: usize = 700;
/// Attacks of one language.
const ATTACKS: usize = 2400;
/// Harmless messages in the shapes of attacks.
const LOOKALIKES: usize = 2100;
/// Documents with an attack in them, of one language.
const DOCUMENTS: usize = 700;
/// Harmless questions in the wrapping of an attack.
const WRAPPED: usize = 900;

pub fn add(random: &mut Random, rows: &mut Vec<Row>) {
    let mut made = Vec::new();
    for language in ["ru", "en"] {
        requests(language, random, &mut made);
        ordinary(language, random, &mut made);
        let attacks = attacks(language, random);
        mails(language, random, &mut made);
        quotes(language, &attacks, random, &mut made);
        let carriers: Vec<Row> = rows
            .iter()
            .chain(&made)
            .filter(|row| is_carrier(row, language))
            .cloned()
            .collect();
        documents(language, (&carriers, &attacks), random, &mut made);
        made.extend(attacks);
    }
    lookalikes("en", LOOKALIKES, random, &mut made);
    lookalikes("ru", LOOKALIKES / 3, random, &mut made);
    wrapped(rows, random, &mut made);
    misspelt(&made, random, rows);
    for mut row in made {
        row.is_measured = false;
        rows.push(row);
    }
}

/// The lines of a file of ours, without empty ones and remarks.
pub fn lines(name: &str) -> Vec<String> {
    let text = read::text(&Path::new(FOLDER).join(name));
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

fn requests(language: &str, random: &mut Random, made: &mut Vec<Row>) {
    let frames = lines(&format!("frames_{language}.txt"));
    for (side, label) in [("harm", Label::Harm), ("plain", Label::Benign)] {
        let acts = lines(&format!("{side}_{language}.txt"));
        for _ in 0..REQUESTS {
            let text = random
                .pick(&frames)
                .replace("{}", random.pick::<String>(&acts));
            let weight = if label == Label::Benign { 1.0 } else { 0.6 };
            made.push(Row::new(
                text,
                format!("made/{side}-{language}"),
                label,
                weight,
            ));
        }
        // The act alone: "Build a bomb".
        for act in acts {
            made.push(Row::new(act, format!("made/{side}-{language}"), label, 0.6));
        }
    }
}

/// What people ask for every day.
fn ordinary(language: &str, random: &mut Random, made: &mut Vec<Row>) {
    let all = lines(&format!("ordinary_{language}.txt"));
    let of = |side: &str| -> Vec<String> {
        let lines = all.iter().filter_map(|line| line.strip_prefix(side));
        lines.map(str::to_owned).collect()
    };
    let (tasks, subjects) = (of("task: "), of("about: "));
    for _ in 0..ORDINARY {
        let text = random
            .pick(&tasks)
            .replace("{}", random.pick::<String>(&subjects));
        made.push(Row::new(
            text,
            format!("made/ordinary-{language}"),
            Label::Benign,
            1.0,
        ));
    }
}

/// Choices by the name of their slot, and templates by their kind.
type Grammar = (HashMap<String, Vec<String>>, Vec<(String, String)>);

fn grammar(name: &str) -> Grammar {
    let (mut slots, mut templates) = (HashMap::new(), Vec::new());
    for line in lines(name) {
        if let Some((name, choices)) = line.split_once(" = ") {
            slots.insert(
                name.to_owned(),
                choices.split('|').map(str::to_owned).collect(),
            );
        } else if let Some((kind, text)) = line.split_once(": ") {
            templates.push((kind.to_owned(), text.to_owned()));
        }
    }
    (slots, templates)
}

fn filled(template: &str, slots: &HashMap<String, Vec<String>>, random: &mut Random) -> String {
    let mut text = template.to_owned();
    while let Some((before, rest)) = text.split_once('{') {
        let (name, after) = rest.split_once('}').expect("slot");
        let choice = random.pick(&slots[name]).clone();
        text = format!("{before}{choice}{after}");
    }
    text
}

fn attacks(language: &str, random: &mut Random) -> Vec<Row> {
    let (slots, templates) = grammar(&format!("attacks_{language}.txt"));
    let make = |_| {
        let (kind, template) = random.pick(&templates).clone();
        let mut text = filled(&template, &slots, random);
        let number = ["inject", "jail", "extract"]
            .iter()
            .position(|name| *name == kind)
            .expect("kind");
        if random.chance(0.3) {
            text = text.to_lowercase();
        }
        Row::new(
            text,
            format!("made/{kind}-{language}"),
            Label::Attack(number),
            0.6,
        )
    };
    (0..ATTACKS).map(make).collect()
}

/// Personas, settings for assistants of one's own, corrections: harmless, and like attacks in their words.
fn lookalikes(language: &str, count: usize, random: &mut Random, made: &mut Vec<Row>) {
    let (slots, templates) = grammar(&format!("lookalikes_{language}.txt"));
    for _ in 0..count {
        let template = random.pick(&templates).1.clone();
        let mut text = filled(&template, &slots, random);
        if random.chance(0.15) {
            text = text.to_lowercase();
        }
        let kind = format!("made/lookalike-{language}");
        made.push(Row::new(text, kind, Label::Benign, 1.0));
    }
}

/// Letters as they come every day.
fn mails(language: &str, random: &mut Random, made: &mut Vec<Row>) {
    let (slots, templates) = grammar(&format!("mails_{language}.txt"));
    for _ in 0..MAILS {
        let mut text = random.pick(&slots["hi"]).clone();
        let gap = *random.pick(&[" ", " ", "\n\n", "\n", ""]);
        for _ in 0..2 + random.below(6) {
            text += gap;
            text += &filled(&random.pick(&templates).1.clone(), &slots, random);
        }
        made.push(Row::new(
            text,
            format!("made/mail-{language}"),
            Label::Benign,
            1.0,
        ));
    }
}

/// People who talk about an attack and do not make it.
fn quotes(language: &str, attacks: &[Row], random: &mut Random, made: &mut Vec<Row>) {
    let frames = lines(&format!("quotes_{language}.txt"));
    for _ in 0..QUOTES {
        let attack = random.pick(attacks);
        let text = random
            .pick(&frames)
            .replace("{}", attack.text.trim_end_matches('.'));
        made.push(Row::new(
            text,
            format!("made/quote-{language}"),
            Label::Benign,
            1.0,
        ));
    }
}

fn is_carrier(row: &Row, language: &str) -> bool {
    let is_ours = row.kind.starts_with(language) || row.kind == format!("made/mail-{language}");
    row.label == Label::Benign && is_ours && row.text.len() > 160
}

/// Sentences of attacks put into harmless documents.
fn documents(
    language: &str,
    (carriers, attacks): (&[Row], &[Row]),
    random: &mut Random,
    made: &mut Vec<Row>,
) {
    let sentences: Vec<&Row> = attacks
        .iter()
        .filter(|row| row.label == Label::Attack(0))
        .collect();
    for _ in 0..DOCUMENTS {
        let (carrier, attack) = (random.pick(carriers), *random.pick(&sentences));
        let ends: Vec<usize> = carrier
            .text
            .match_indices([' ', '\n'])
            .map(|(at, _)| at)
            .filter(|at| carrier.text[..*at].ends_with(['.', '!', '?', ':', '\n', ';']))
            .collect();
        let at = match ends.is_empty() {
            true => carrier.text.len(),
            false => *random.pick(&ends),
        };
        let text = format!(
            "{} {}{}",
            &carrier.text[..at],
            attack.text,
            &carrier.text[at..]
        );
        made.push(Row::new(
            text,
            format!("made/document-{language}"),
            Label::Attack(0),
            0.6,
        ));
    }
}

/// The wrappings that say nothing bad by themselves, around harmless questions.
fn wrapped(rows: &[Row], random: &mut Random, made: &mut Vec<Row>) {
    const SOFT: [&str; 5] = [
        "output_formatting",
        "task_deflection",
        "irrelevant_information",
        "text_structure",
        "token_smuggling",
    ];
    let is_soft = |row: &&Row| {
        SOFT.iter().any(|group| row.kind.starts_with(group))
            && row.text.contains(row.inside.as_str())
            && !row.inside.is_empty()
    };
    let soft: Vec<&Row> = rows.iter().filter(is_soft).collect();
    let (frames, acts) = (lines("frames_ru.txt"), lines("plain_ru.txt"));
    for _ in 0..WRAPPED {
        let row = *random.pick(&soft);
        let question = random
            .pick(&frames[..25])
            .replace("{}", random.pick::<String>(&acts));
        let text = row.text.replace(row.inside.as_str(), &question);
        let mut out = Row::new(text, "made/wrapped-ru", Label::Benign, 1.0);
        // In measuring by held-out wrappings, this one is held out with them.
        out.inside.clone_from(&row.kind);
        made.push(out);
    }
}

/// A part of the requests once more, with misprints.
fn misspelt(made: &[Row], random: &mut Random, rows: &mut Vec<Row>) {
    for row in made
        .iter()
        .filter(|row| row.kind.contains("harm") || row.kind.contains("plain"))
    {
        if !random.chance(0.15) {
            continue;
        }
        let mut letters: Vec<char> = row.text.chars().collect();
        for _ in 0..letters.len() / 12 {
            let at = random.below(letters.len().max(2) - 1);
            match random.below(3) {
                0 => letters.swap(at, at + 1),
                1 => {
                    letters.remove(at);
                }
                _ => letters.insert(at, letters[at]),
            }
        }
        let mut out = row.clone();
        out.text = letters.into_iter().collect();
        out.is_measured = false;
        rows.push(out);
    }
}
