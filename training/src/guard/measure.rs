//! What the models are worth on kinds of texts they were not fitted to: scores of every held-out text, the
//! thresholds that follow, and tables.

use super::fit::Judged;
use super::rows::{Label, Row};
use monitor_detect::training::linear::features::Script;
use monitor_detect::training::linear::{ATTACK, Column, FOREIGN, HARM};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Margins of one text under models that have not seen its kind.
pub struct Scored<'r> {
    pub row: &'r Row,
    pub judged: Judged,
    /// See `Script`.
    pub script: usize,
}

/// The share of held-out harmless messages of each script (Latin, Cyrillic, code) that each of the two
/// models may flag. Cyrillic requests are few patterns that are known well: more can be asked for.
const FLAGGED: [[f64; Script::ALL]; 2] = [[0.005, 0.0015, 0.008], [0.003, 0.0015, 0.004]];

/// The share of harmless messages that the sentences of letters may flag.
const FLAGGED_FOREIGN: f64 = 0.001;

/// The heads that decide, and where their margins stand.
const DECIDING: [(usize, fn(&Judged) -> f32); 3] = [
    (ATTACK, |judged| judged.attack),
    (HARM, |judged| judged.harm),
    (FOREIGN, |judged| judged.foreign),
];

/// Threshold and slope of the three heads that decide: attack, harm, foreign.
pub fn columns(scored: &[Scored<'_>], letters: &[LetterScored]) -> [Column; 3] {
    DECIDING.map(|(head, margin)| {
        let thresholds = [0, 1, 2].map(|script| {
            let benign = scored
                .iter()
                .filter(|text| is_hard(text) && text.script == script);
            let mut benign: Vec<f32> = benign.map(|text| margin(&text.judged)).collect();
            benign.sort_by(|a, b| b.total_cmp(a));
            let share = FLAGGED
                .get(head)
                .map_or(FLAGGED_FOREIGN, |shares| shares[script]);
            let limit = benign
                .get((benign.len() as f64 * share) as usize)
                .copied()
                .unwrap_or(0.0);
            match head {
                FOREIGN => limit.max(letter_limit(letters, script)),
                _ => limit,
            }
        });
        Column {
            thresholds,
            slope: match head {
                FOREIGN => slope(&letter_pairs(letters, thresholds)),
                _ => slope(&pairs(scored, head, margin, thresholds)),
            },
            ..Column::default()
        }
    })
}

fn pairs(
    scored: &[Scored<'_>],
    head: usize,
    margin: fn(&Judged) -> f32,
    thresholds: [f32; Script::ALL],
) -> Vec<(f32, bool)> {
    let is_right = |label: &Label| match label {
        Label::Attack(_) => head == ATTACK,
        Label::Harm => head == HARM,
        Label::Benign => false,
    };
    let known = scored
        .iter()
        .filter(|text| text.row.label == Label::Benign || is_right(&text.row.label));
    known
        .map(|text| {
            let rise = margin(&text.judged) - thresholds[text.script];
            (rise, text.row.label != Label::Benign)
        })
        .collect()
}

/// A letter under models that know neither its kind nor what it was made of.
pub struct LetterScored {
    pub kind: String,
    pub is_asked: bool,
    pub margin: f32,
    pub script: usize,
}

/// The share of harmless letters, and of letters with a request about them, that may be flagged.
const FLAGGED_LETTERS: f64 = 0.002;

fn letter_limit(letters: &[LetterScored], script: usize) -> f32 {
    let harmless = letters
        .iter()
        .filter(|letter| !letter.is_asked && letter.script == script);
    let mut margins: Vec<f32> = harmless.map(|letter| letter.margin).collect();
    margins.sort_by(|a, b| b.total_cmp(a));
    margins
        .get((margins.len() as f64 * FLAGGED_LETTERS) as usize)
        .copied()
        .unwrap_or(0.0)
}

fn letter_pairs(letters: &[LetterScored], thresholds: [f32; Script::ALL]) -> Vec<(f32, bool)> {
    let pairs = letters
        .iter()
        .map(|letter| (letter.margin - thresholds[letter.script], letter.is_asked));
    pairs.collect()
}

/// What of the letters is flagged, by the kind of what was put in.
pub fn letters(letters: &[LetterScored], columns: &[Column; 3]) -> String {
    let mut kinds: BTreeMap<(usize, bool, &str), (usize, usize)> = BTreeMap::new();
    for letter in letters {
        let entry = kinds
            .entry((letter.script, letter.is_asked, &letter.kind))
            .or_default();
        entry.0 += usize::from(letter.margin >= columns[2].thresholds[letter.script]);
        entry.1 += 1;
    }
    let mut out =
        String::from("\n| letters | what is in them | texts | flagged |\n|---|---|---:|---:|\n");
    for ((script, is_asked, kind), (flagged, all)) in kinds {
        let script = ["Latin", "Cyrillic", "code"][script];
        let kind = match (kind, is_asked) {
            ("plain", _) => "nothing else",
            ("task", _) => "a request about the letter",
            (kind, _) => kind,
        };
        let share = flagged as f64 / all.max(1) as f64;
        let _ = writeln!(out, "| {script} | {kind} | {all} | {share:.3} |");
    }
    out
}

/// Messages that the thresholds are set on: the corpus and the English hard ones.
fn is_hard(text: &Scored<'_>) -> bool {
    let row = text.row;
    row.label == Label::Benign
        && (row.kind.starts_with("ru/") || row.kind.starts_with("en/"))
        && row.is_measured
        && !matches!(row.kind.as_str(), "en/generated" | "en/posts" | "ru/news")
        && (row.kind != "en/stack" || text.script == Script::Code as usize)
        // Tests of this project quote attacks.
        && !row.kind.starts_with("en/source-tests")
}

/// Prompts as people write them: the corpus and the English hard ones, without news, posts and sources.
pub fn is_prompt(row: &Row) -> bool {
    const OTHERS: [&str; 6] = ["generated", "posts", "stack", "source", "news", "prose"];
    let kind = row
        .kind
        .strip_prefix("en/")
        .or(row.kind.strip_prefix("ru/"));
    row.label == Label::Benign
        && kind.is_some_and(|kind| !OTHERS.iter().any(|other| kind.starts_with(other)))
}

/// The slope at which scores come nearest to what share of them is right.
fn slope(pairs: &[(f32, bool)]) -> f32 {
    let loss = |slope: f32| -> f64 {
        let each = pairs.iter().map(|(margin, right)| {
            let guess = f64::from(1.0 / (1.0 + (-slope * margin).exp())).clamp(1e-6, 1.0 - 1e-6);
            if *right {
                -guess.ln()
            } else {
                -(1.0 - guess).ln()
            }
        });
        each.sum()
    };
    let choices: Vec<f32> = (1..40).map(|step| step as f32 * 0.1).collect();
    choices
        .into_iter()
        .min_by(|a, b| loss(*a).total_cmp(&loss(*b)))
        .unwrap_or(1.0)
}

/// Whether a text is flagged by any of them.
pub fn is_flagged(text: &Scored<'_>, columns: &[Column; 3]) -> bool {
    above(text, columns) >= 0.0
}

/// A group of texts that should be flagged.
type Group = (&'static str, &'static str, fn(&Scored<'_>) -> bool);

const GROUPS: [Group; 4] = [
    ("attacks, Latin script", "#c33", |text| {
        is_attack(text) && text.script != 1
    }),
    ("attacks, Cyrillic", "#e90", |text| {
        is_attack(text) && text.script == 1
    }),
    ("harmful requests, English", "#38c", |text| {
        text.row.label == Label::Harm && text.script != 1
    }),
    ("harmful requests, Russian", "#3a5", |text| {
        text.row.label == Label::Harm && text.script == 1
    }),
];

fn is_attack(text: &Scored<'_>) -> bool {
    matches!(text.row.label, Label::Attack(_))
}

/// How far the highest of the margins lies above its threshold.
fn above(text: &Scored<'_>, columns: &[Column; 3]) -> f32 {
    let each = DECIDING.iter().zip(columns);
    each.map(|((_, margin), column)| margin(&text.judged) - column.thresholds[text.script])
        .fold(f32::NEG_INFINITY, f32::max)
}

/// The shares of flagged harmless messages and of flagged texts of each group, with the thresholds moved
/// together.
fn curves(
    scored: &[Scored<'_>],
    columns: &[Column; 3],
    is_harmless: fn(&Row) -> bool,
) -> Vec<(f64, [f64; 4])> {
    let sorted = |keep: &dyn Fn(&Scored<'_>) -> bool| {
        let kept = scored.iter().filter(|text| keep(text));
        let mut values: Vec<f32> = kept.map(|text| above(text, columns)).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values
    };
    let benign = sorted(&|text| is_harmless(text.row));
    let groups = GROUPS.map(|(_, _, is_one)| sorted(&is_one));
    let steps = (0..=100).map(|step| f64::from(step) / 1000.0);
    let point = |share: f64| {
        let limit = benign[((benign.len() - 1) as f64 * share) as usize];
        let recall = |values: &Vec<f32>| {
            values.partition_point(|value| *value > limit) as f64 / values.len().max(1) as f64
        };
        let recalls = groups.each_ref().map(recall);
        (share, recalls)
    };
    steps.map(point).collect()
}

/// Recall at several shares of flagged harmless messages, all of them and prompts only.
pub fn curve(scored: &[Scored<'_>], columns: &[Column; 3]) -> String {
    let all = curve_of("harmless messages", scored, columns, |row| {
        row.label == Label::Benign
    });
    all + &curve_of("ordinary prompts", scored, columns, is_prompt)
}

fn curve_of(
    name: &str,
    scored: &[Scored<'_>],
    columns: &[Column; 3],
    is_harmless: fn(&Row) -> bool,
) -> String {
    if !scored.iter().any(|text| is_harmless(text.row)) {
        return String::new();
    }
    let mut out = format!(
        "\n| {name} flagged | attacks, Latin | Cyrillic | harmful, English | Russian |\n|---:|---:|---:|---:|---:|\n",
    );
    for (share, [a, b, c, d]) in curves(scored, columns, is_harmless) {
        if [0.002, 0.005, 0.01, 0.02, 0.05, 0.1]
            .iter()
            .any(|told| (told - share).abs() < 1e-9)
        {
            let _ = writeln!(out, "| {share:.3} | {a:.3} | {b:.3} | {c:.3} | {d:.3} |");
        }
    }
    out
}

/// The same as a picture, up to one harmless message of ten.
pub fn picture(scored: &[Scored<'_>], columns: &[Column; 3]) -> String {
    const LEFT: f64 = 50.0;
    const WIDE: f64 = 400.0;
    const HIGH: f64 = 260.0;
    let x = |share: f64| LEFT + share * 10.0 * WIDE;
    let y = |recall: f64| 20.0 + (1.0 - recall) * HIGH;
    let mut body = String::new();
    for tenth in 0..=10 {
        let (share, recall) = (f64::from(tenth) / 100.0, f64::from(tenth) / 10.0);
        let _ = writeln!(
            body,
            "<line x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{1:.0}\" y2=\"{1:.0}\" stroke=\"#ddd\"/>\
            <text x=\"8\" y=\"{1:.0}\">{recall:.1}</text><text x=\"{2:.0}\" y=\"298\">{tenth} %</text>",
            LEFT + WIDE,
            y(recall),
            x(share) - 8.0
        );
    }
    let points = curves(scored, columns, is_prompt);
    for (number, (name, colour, _)) in GROUPS.iter().enumerate() {
        let line: String = points
            .iter()
            .map(|(share, recalls)| format!("{:.1},{:.1} ", x(*share), y(recalls[number])))
            .collect();
        let _ = writeln!(
            body,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{line}\"/>\
            <text x=\"480\" y=\"{}\" fill=\"{colour}\">{name}</text>",
            40 + number * 20
        );
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"680\" height=\"320\" font-family=\"sans-serif\" font-size=\"12\">\n\
        <rect width=\"680\" height=\"320\" fill=\"#fff\"/>\n<text x=\"50\" y=\"14\">recall on kinds held out, by the share of ordinary prompts flagged</text>\n{body}</svg>\n"
    )
}

/// Kind to flagged, all.
pub fn table(
    scored: &[Scored<'_>],
    columns: &[Column; 3],
) -> BTreeMap<(u8, String), (usize, usize)> {
    let mut out: BTreeMap<(u8, String), (usize, usize)> = BTreeMap::new();
    for text in scored {
        let group = match text.row.label {
            Label::Attack(_) => 0,
            Label::Harm => 1,
            Label::Benign => 2,
        };
        let entry = out.entry((group, text.row.kind.clone())).or_default();
        entry.0 += usize::from(is_flagged(text, columns));
        entry.1 += 1;
    }
    out
}

/// The tables as text.
pub fn print(table: &BTreeMap<(u8, String), (usize, usize)>) -> String {
    let mut out = String::new();
    for (group, name) in ["attacks", "harmful requests", "harmless messages"]
        .iter()
        .enumerate()
    {
        let rows: Vec<_> = table
            .iter()
            .filter(|((other, _), _)| usize::from(*other) == group)
            .collect();
        let (flagged, all) = rows
            .iter()
            .fold((0, 0), |sum, (_, row)| (sum.0 + row.0, sum.1 + row.1));
        let share = |flagged: usize, all: usize| flagged as f64 / all.max(1) as f64;
        let _ = writeln!(out, "\n| {name} | texts | flagged |\n|---|---:|---:|");
        for ((_, kind), (flagged, all)) in rows {
            let _ = writeln!(out, "| {kind} | {all} | {:.3} |", share(*flagged, *all));
        }
        let _ = writeln!(out, "| **all** | {all} | **{:.3}** |", share(flagged, all));
    }
    out
}

/// What was judged wrongly, one text a line: missed ones, and harmless ones that were flagged.
pub fn errors(scored: &[Scored<'_>], columns: &[Column; 3]) -> String {
    let mut out = String::new();
    for text in scored {
        if is_flagged(text, columns) == (text.row.label == Label::Benign) {
            let start: String = text.row.text.chars().take(300).collect();
            let (kind, above) = (&text.row.kind, above(text, columns));
            let _ = writeln!(out, "{:?}\t{kind}\t{above:.2}\t{start:?}", text.row.label);
        }
    }
    out
}
