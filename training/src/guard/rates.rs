//! What each threshold of a category costs and gives, on texts of kinds that were held out: the rows of
//! `crates/detect/src/guardrails/rates.tsv` about the categories that are learned.

use super::measure::{Scored, is_prompt};
use super::rows::Label;
use monitor_detect::training::linear::Column;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Steps between no score and a full one.
const STEPS: u32 = 20;
const ATTACKS: [&str; 3] = ["prompt_injection", "jailbreak", "system_prompt_extraction"];

/// Writes the rows of the learned categories; those of others stay.
pub fn write(path: &Path, scored: &[Scored<'_>], columns: &[Column; 3]) {
    let harms = scored[0].judged.shares.map(|(name, _)| name);
    let categories: Vec<&str> = ATTACKS.into_iter().chain(harms).collect();
    let mut rows = String::new();
    for category in &categories {
        for step in 1..STEPS {
            let threshold = f64::from(step) / f64::from(STEPS);
            let [mut ordinary, mut flagged, mut wanted, mut found] = [0_u32; 4];
            for text in scored {
                let is_found = u32::from(f64::from(score(text, category, columns)) >= threshold);
                if is_prompt(text.row) {
                    ordinary += 1;
                    flagged += is_found;
                } else if is_wanted(text, category) {
                    wanted += 1;
                    found += is_found;
                }
            }
            let _ = writeln!(
                rows,
                "{category}\t{threshold:.2}\t{ordinary}\t{flagged}\t{wanted}\t{found}"
            );
        }
    }
    let old = fs::read_to_string(path).unwrap_or_default();
    let others = old.lines().filter(|line| {
        let name = line.split('\t').next().unwrap_or_default();
        !categories.contains(&name)
    });
    for line in others {
        let _ = writeln!(rows, "{line}");
    }
    fs::write(path, rows).expect("rates");
}

/// The score that the product gives for a category.
fn score(text: &Scored<'_>, category: &str, [attack, harm, foreign]: &[Column; 3]) -> f32 {
    let of = |column: &Column, margin: f32| {
        1.0 / (1.0 + (-column.slope * (margin - column.thresholds[text.script])).exp())
    };
    let judged = &text.judged;
    let Some(kind) = ATTACKS.iter().position(|name| *name == category) else {
        let share = judged.shares.iter().find(|(name, _)| *name == category);
        return of(harm, judged.harm) * share.map_or(0.0, |share| share.1);
    };
    let (attack, foreign) = (of(attack, judged.attack), of(foreign, judged.foreign));
    let highest = judged.kinds.iter().copied().fold(f32::MIN, f32::max);
    let own = (2.0 * (judged.kinds[kind] - highest)).exp();
    match foreign > attack {
        true if kind == 0 => foreign,
        true => 0.0,
        false => attack * own,
    }
}

/// What a category should find: attacks of its kind, harmful requests that are about it most.
fn is_wanted(text: &Scored<'_>, category: &str) -> bool {
    match text.row.label {
        Label::Attack(kind) => ATTACKS[kind] == category,
        Label::Harm => text
            .judged
            .shares
            .contains(&(category_name(text, category), 1.0)),
        Label::Benign => false,
    }
}

/// The category's name as the shares have it; empty for what is none of them.
fn category_name(text: &Scored<'_>, category: &str) -> &'static str {
    let own = text
        .judged
        .shares
        .iter()
        .find(|(name, _)| *name == category);
    own.map_or("", |(name, _)| name)
}
