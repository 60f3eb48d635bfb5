//! The texts the guardrails learn from: what each is, of which kind, and how much it counts.

use super::made;
use super::near::Near;
use crate::random::Random;
use crate::read;
use monitor_detect::training::cues::table::CueKind;
use monitor_detect::training::{cues, reading::TokenizedText};
use std::path::Path;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// 0 injection, 1 jailbreak, 2 extraction.
    Attack(usize),
    Harm,
    Benign,
}

/// One text.
#[derive(Clone)]
pub struct Row {
    pub text: String,
    /// Texts of one kind are on one side of a split.
    pub kind: String,
    pub label: Label,
    pub weight: f32,
    /// An attack whose harmful request can be read, so that it is one too.
    pub is_harmful: bool,
    /// What was asked inside a wrapped attack: on one side of a split too.
    pub inside: String,
    /// Takes part in measuring.
    pub is_measured: bool,
}

impl Row {
    pub fn new(
        text: impl Into<String>,
        kind: impl Into<String>,
        label: Label,
        weight: f32,
    ) -> Self {
        Self {
            text: text.into(),
            kind: kind.into(),
            label,
            weight,
            is_harmful: false,
            inside: String::new(),
            is_measured: true,
        }
    }
}

/// Texts of one source that are taken at most.
const MOST: usize = 1500;

/// Everything there is to learn from, without what stands in the development set.
pub fn all(data: &Path, random: &mut Random) -> Vec<Row> {
    let mut near = Near::default();
    for row in read::json_lines(&data.join("dev/dev_guard.jsonl")) {
        near.keep_out(row["text"].as_str().unwrap_or_default());
    }
    let mut rows = Vec::new();
    benign(data, &mut rows);
    attacks_en(data, random, &mut rows);
    attacks_ru(data, &mut rows);
    harmful(data, &mut rows);
    // Attacks of one wrapping are alike on purpose: of these, only the very same text is left out.
    rows.retain(|row| match row.inside.is_empty() {
        true => !near.is_out(&row.text) && near.is_new(&row.text),
        false => !near.is_the_same(&row.text),
    });
    made::add(random, &mut rows);
    rows
}

fn benign(data: &Path, rows: &mut Vec<Row>) {
    for language in ["ru", "en"] {
        let mut files: Vec<_> = std::fs::read_dir(Path::new("corpus").join(language))
            .expect("corpus")
            .map(|entry| entry.expect("corpus").path())
            .collect();
        files.sort();
        for file in files {
            let name = file
                .file_stem()
                .expect("name")
                .to_string_lossy()
                .into_owned();
            for row in read::json_lines(&file) {
                let text = row["text"].as_str().expect("text");
                rows.push(Row::new(
                    text,
                    format!("{language}/{name}"),
                    Label::Benign,
                    4.0,
                ));
            }
        }
    }
    let text = read::text(&data.join("injecguard/wildguard_train.json"));
    let list: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for row in list.as_array().expect("rows") {
        let text = row["prompt"].as_str().expect("prompt");
        // One origin, but no one kind of texts: a part of it is held out at a time.
        let part = rows.len() % 5;
        rows.push(Row::new(
            text,
            format!("en/wildguard-{part}"),
            Label::Benign,
            2.0,
        ));
    }
    for (name, bytes) in read::tar(&data.join("factrueval/factrueval-2016-devset.tar.gz")) {
        if name.ends_with(".txt") {
            let text = String::from_utf8(bytes).expect("UTF-8");
            for part in text.split("\n\n").filter(|part| part.len() > 80) {
                rows.push(Row::new(part.trim(), "ru/news", Label::Benign, 1.5));
            }
        }
    }
    for row in read::json_lines(Path::new("data/silver_ru.jsonl.gz")) {
        let field = |name: &str| row[name].as_str().unwrap_or_default();
        if field("src") != "hive" {
            rows.push(Row::new(
                field("text"),
                format!("ru/prose-{}", field("src").to_lowercase()),
                Label::Benign,
                1.5,
            ));
        }
    }
    let text = read::text(&data.join("presidio-research/generated_large.json"));
    let list: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for row in list.as_array().expect("rows") {
        let text = row["full_text"].as_str().expect("text");
        rows.push(Row::new(text, "en/generated", Label::Benign, 0.5));
    }
    let mut words = Vec::new();
    for line in read::text(&data.join("wnut17/wnut17train.conll")).lines() {
        match line.split_once('\t') {
            Some((word, _)) if !word.trim().is_empty() => words.push(word.to_owned()),
            _ if words.len() > 4 => rows.push(Row::new(
                std::mem::take(&mut words).join(" "),
                "en/posts",
                Label::Benign,
                0.3,
            )),
            _ => words.clear(),
        }
    }
    for row in read::json_lines(Path::new("data/guard/code.jsonl.gz")) {
        let field = |name: &str| row[name].as_str().unwrap_or_default();
        let kind = format!("en/source-{}", field("kind"));
        rows.push(Row::new(field("text"), kind, Label::Benign, 1.0));
    }
    for row in read::json_lines(&data.join("bipia/code_train.jsonl")) {
        for field in ["context", "code", "error"] {
            let lines = row[field].as_array().map(Vec::as_slice).unwrap_or_default();
            let lines: Vec<_> = lines.iter().filter_map(|line| line.as_str()).collect();
            if !lines.is_empty() {
                rows.push(Row::new(lines.join("\n"), "en/stack", Label::Benign, 0.7));
            }
        }
    }
}

fn attacks_en(data: &Path, random: &mut Random, rows: &mut Vec<Row>) {
    let mut all = read::json_lines(&data.join("prompt-armor/known_attacks_train.jsonl.gz"));
    random.shuffle(&mut all);
    let mut counts = std::collections::HashMap::new();
    for row in all {
        let field = |name: &str| row[name].as_str().unwrap_or_default();
        let (text, source, category) = (field("text"), field("source"), field("category"));
        let hits = cues::find(&TokenizedText::new(text));
        let has = |kind| hits.iter().any(|hit| hit.kind == kind);
        let has_any =
            has(CueKind::Injection) || has(CueKind::Jailbreak) || has(CueKind::Extraction);
        // Harmless role-plays and questions stand in these two under the name of attacks.
        // So do, in these, letters and puzzles that say nothing to a model.
        let is_mixed = matches!(
            source,
            "jackhhao/jailbreak" | "trustai/in-the-wild" | "llmail-inject" | "satml-ctf-2024"
        );
        if is_mixed && !has_any {
            continue;
        }
        let count: &mut usize = counts.entry(source.to_owned()).or_default();
        if *count >= MOST {
            continue;
        }
        *count += 1;
        let kind = match (source, category) {
            (_, "system_prompt_leak") => 2,
            ("lakera/gandalf" | "satml-ctf-2024", _) if has(CueKind::Extraction) => 2,
            (_, "jailbreak" | "identity_override") if source != "llmail-inject" => 1,
            _ => 0,
        };
        let weight = match (source, has_any) {
            ("satml-ctf-2024" | "llmail-inject", _) => 0.5,
            ("safeguard/injection" | "protectai/validation", false) => 0.5,
            _ => 1.0,
        };
        rows.push(Row::new(text, source, Label::Attack(kind), weight));
    }
    for file in ["text_attack_train.json", "code_attack_train.json"] {
        let list: serde_json::Value =
            serde_json::from_str(&read::text(&data.join("bipia").join(file))).expect("JSON");
        for (name, texts) in list.as_object().expect("kinds") {
            let is_told = matches!(
                name.as_str(),
                "Information Retrieval"
                    | "Content Creation"
                    | "Learning and Tutoring"
                    | "Language Translation"
                    | "Programming Help"
            );
            // A plain question is no attack where it stands alone.
            for text in texts.as_array().expect("texts").iter().filter(|_| !is_told) {
                let text = text.as_str().expect("text");
                rows.push(Row::new(
                    text,
                    format!("bipia/{}", file.split('_').next().unwrap_or_default()),
                    Label::Attack(0),
                    0.7,
                ));
            }
        }
    }
}

fn attacks_ru(data: &Path, rows: &mut Vec<Row>) {
    for file in [
        "RegularAttacks_train.jsonl.gz",
        "ModelAttacks_train.jsonl.gz",
    ] {
        for row in read::json_lines(&data.join("hivetracered").join(file)) {
            let field = |name: &str| row[name].as_str().unwrap_or_default();
            let (inside, name, group) = (
                field("base_prompt"),
                field("attack_name"),
                field("attack_type"),
            );
            let mut out = Row::new(
                field("prompt"),
                format!("{group}/{name}"),
                Label::Attack(1),
                1.0,
            );
            inside.clone_into(&mut out.inside);
            out.is_harmful = group != "roleplay";
            if group == "context_switching" {
                out.label = Label::Attack(0);
            }
            rows.push(out);
        }
    }
    let text = read::text(&data.join("hivetracered/system_prompt_extraction_ru_train.csv"));
    for row in csv(&text).iter().skip(1) {
        rows.push(Row::new(&*row[0], "ru/extraction", Label::Attack(2), 1.0));
    }
}

fn harmful(data: &Path, rows: &mut Vec<Row>) {
    let text = read::text(&data.join("hivetracered/prompts_train.csv"));
    let table = csv(&text);
    let place = |name: &str| {
        table[0]
            .iter()
            .position(|column| column == name)
            .expect("column")
    };
    let (prompt, chapter) = (place("Prompt"), place("Chapter"));
    for row in table
        .iter()
        .skip(1)
        .filter(|row| row.len() == table[0].len())
    {
        let number: String = row[chapter].chars().filter(char::is_ascii_digit).collect();
        let mut out = Row::new(&*row[prompt], format!("chapter-{number}"), Label::Harm, 1.0);
        out.inside.clone_from(&row[prompt]);
        rows.push(out);
    }
    for row in csv(&read::text(
        &data.join("harmful-behaviors/advbench_train.csv"),
    ))
    .iter()
    .skip(1)
    {
        rows.push(Row::new(&*row[0], "advbench", Label::Harm, 1.5));
    }
    for line in read::text(&data.join("harmful-behaviors/malicious_instruct_train.txt")).lines() {
        rows.push(Row::new(
            line.trim(),
            "malicious_instruct",
            Label::Harm,
            1.5,
        ));
    }
}

/// A table of comma-separated values with quotes.
fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut is_quoted) =
        (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut field)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            '\r' if !is_quoted => {}
            '\u{feff}' => {}
            c => field.push(c),
        }
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows
}
