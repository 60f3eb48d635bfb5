//! What the models are worth on kinds of texts they were not fitted to: scores of every held-out text, the
//! thresholds that follow, and tables.

use super::linear::{ATTACK, Column, HARM};
use super::rows::{Label, Row};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Margins of one text under models that have not seen its kind.
pub struct Scored<'r> {
    pub row: &'r Row,
    pub attack: f32,
    pub harm: f32,
    /// 0 Latin, 1 Cyrillic.
    pub script: usize,
}

/// The share of held-out harmless messages of each script (Latin, Cyrillic) that each of the two models
/// may flag. Cyrillic requests are few patterns that are known well: more can be asked for.
const FLAGGED: [[f64; 2]; 2] = [[0.010, 0.007], [0.006, 0.003]];

/// Threshold and slope of the two heads.
pub fn columns(scored: &[Scored<'_>]) -> [Column; 2] {
    let heads: [fn(&Scored<'_>) -> f32; 2] = [|text| text.attack, |text| text.harm];
    let is_right: [fn(&Label) -> bool; 2] = [
        |label| matches!(label, Label::Attack(_)),
        |label| *label == Label::Harm,
    ];
    [ATTACK, HARM].map(|head| {
        let margin = heads[head];
        let thresholds = [0, 1].map(|script| {
            let benign = scored
                .iter()
                .filter(|text| is_hard(text.row) && text.script == script);
            let mut benign: Vec<f32> = benign.map(margin).collect();
            benign.sort_by(|a, b| b.total_cmp(a));
            benign[(benign.len() as f64 * FLAGGED[head][script]) as usize]
        });
        let pairs: Vec<(f32, bool)> = scored
            .iter()
            .filter(|text| text.row.label == Label::Benign || is_right[head](&text.row.label))
            .map(|text| {
                (
                    margin(text) - thresholds[text.script],
                    text.row.label != Label::Benign,
                )
            })
            .collect();
        Column {
            thresholds,
            slope: slope(&pairs),
            ..Column::default()
        }
    })
}

/// Messages that the thresholds are set on: the corpus and the English hard ones.
fn is_hard(row: &Row) -> bool {
    row.label == Label::Benign
        && (row.kind.starts_with("ru/") || row.kind.starts_with("en/"))
        && row.is_measured
        && !matches!(
            row.kind.as_str(),
            "en/generated" | "en/posts" | "en/stack" | "ru/news"
        )
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

/// Whether a text is flagged by either.
pub fn is_flagged(text: &Scored<'_>, [attack, harm]: &[Column; 2]) -> bool {
    text.attack >= attack.thresholds[text.script] || text.harm >= harm.thresholds[text.script]
}

/// Recall at several shares of flagged harmless messages.
pub fn curve(scored: &[Scored<'_>], columns: &[Column; 2]) -> String {
    let highest = |text: &Scored<'_>| {
        (text.attack - columns[0].thresholds[text.script])
            .max(text.harm - columns[1].thresholds[text.script])
    };
    let mut benign: Vec<f32> = scored
        .iter()
        .filter(|text| {
            is_hard(text.row) || text.row.kind.contains(' ') && text.row.label == Label::Benign
        })
        .map(highest)
        .collect();
    benign.sort_by(|a, b| b.total_cmp(a));
    let mut out = String::new();
    for share in [0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1] {
        let limit = benign[(benign.len() as f64 * share) as usize];
        let recall = |keep: &dyn Fn(&Row) -> bool| {
            let all: Vec<_> = scored.iter().filter(|text| keep(text.row)).collect();
            all.iter().filter(|text| highest(text) > limit).count() as f64 / all.len().max(1) as f64
        };
        let is_attack = |row: &Row| matches!(row.label, Label::Attack(_));
        let is_ru = |row: &Row| {
            row.text.chars().any(|c| ('а'..='я').contains(&c)) || row.kind.contains("smuggling")
        };
        let _ = writeln!(
            out,
            "{share}: {limit:.2} attack en {:.3} ru {:.3} harm {:.3} {:.3}",
            recall(&|row| is_attack(row) && !is_ru(row)),
            recall(&|row| is_attack(row) && is_ru(row)),
            recall(&|row| row.label == Label::Harm && !is_ru(row)),
            recall(&|row| row.label == Label::Harm && is_ru(row))
        );
    }
    out
}

/// Kind to flagged, all.
pub fn table(
    scored: &[Scored<'_>],
    columns: &[Column; 2],
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
