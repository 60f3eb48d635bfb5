//! The training of the guardrails: cross-validation by kinds for the thresholds, then all texts for the weights.

use super::fit::{DOUBLING, Seen, Weights, fit};
use super::linear::{ATTACK, Column, HARM, HEADS};
use super::measure::{self, Scored};
use super::rows::{self, Label, Row};
use crate::random::Random;
use crate::{Options, read};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

const FOLDS: usize = 5;
const SEED: u64 = 7;

pub fn run(options: &Options) {
    let started = Instant::now();
    let rows = rows::all(&options.data, &mut Random::new(SEED));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    rows.iter()
        .for_each(|row| *counts.entry(&row.kind).or_default() += 1);
    eprintln!(
        "{} texts of {} kinds, {:?}",
        rows.len(),
        counts.len(),
        started.elapsed()
    );
    let seen: Vec<Seen> = rows.iter().map(|row| Seen::of(&row.text)).collect();
    eprintln!("features after {:?}", started.elapsed());
    let scored = cross_validate(&rows, &seen);
    let columns = measure::columns(&scored);
    let tables =
        measure::print(&measure::table(&scored, &columns)) + &measure::curve(&scored, &columns);
    println!("{tables}\n{columns:?}");
    eprintln!("folds after {:?}", started.elapsed());
    let all: Vec<_> = rows.iter().zip(&seen).collect();
    let weights = fit(&all, SEED);
    let dev = dev(options, &weights, &columns);
    println!("{dev}");
    let mut heads = [Column::default(); HEADS];
    for (head, column) in heads.iter_mut().enumerate() {
        if let Some(found) = columns.get(head) {
            *column = *found;
        }
        column.bias = weights.bias.get(head).copied().unwrap_or(0.0);
        column.doubling = DOUBLING;
    }
    if let Some(folder) = &options.folds {
        fs::create_dir_all(folder).expect("folder");
        fs::write(folder.join("guard.md"), tables).expect("tables");
    } else {
        let folder = options.out.join("../../guardrails/weights");
        fs::create_dir_all(&folder).expect("folder");
        fs::write(folder.join("model.bin"), weights.write(&heads)).expect("weights");
        fs::write("data/guard/measured.md", tables).expect("tables");
        fs::write(
            "../docs/guardrails.svg",
            measure::picture(&scored, &columns),
        )
        .expect("picture");
    }
    eprintln!("ready after {:?}", started.elapsed());
}

fn hash(text: &str) -> usize {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish() as usize
}

/// Scores of every measured text by weights that have seen neither its kind nor what is inside it.
fn cross_validate<'r>(rows: &'r [Row], seen: &[Seen]) -> Vec<Scored<'r>> {
    let kinds: BTreeSet<&str> = rows.iter().map(|row| row.kind.as_str()).collect();
    let order: Vec<&str> = kinds.into_iter().collect();
    // Both languages of a kind are held out together.
    let topic = |kind: &str| {
        kind.trim_start_matches("ru/")
            .trim_start_matches("en/")
            .to_owned()
    };
    let topics: Vec<String> = order
        .iter()
        .map(|kind| topic(kind))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let fold_of = |row: &Row| topics.binary_search(&topic(&row.kind)).unwrap_or(0) % FOLDS;
    let inside_of = |row: &Row| match row.inside.is_empty() || row.kind.starts_with("made") {
        true => None,
        false => Some(hash(&row.inside) % 2),
    };
    let mut out = Vec::new();
    for fold in 0..FOLDS {
        let side = fold % 2;
        let is_kept = |row: &Row| match row.is_measured {
            true => {
                fold_of(row) != fold && (row.label == Label::Harm || inside_of(row) != Some(side))
            }
            // A harmless question in a wrapping that is held out.
            false => {
                row.inside.is_empty()
                    || topics.binary_search(&topic(&row.inside)).unwrap_or(0) % FOLDS != fold
            }
        };
        let kept: Vec<_> = rows
            .iter()
            .zip(seen)
            .filter(|(row, _)| is_kept(row))
            .collect();
        let weights = fit(&kept, SEED + fold as u64);
        for (row, seen) in rows.iter().zip(seen) {
            let is_asked =
                row.label == Label::Harm || inside_of(row).is_none_or(|other| other == side);
            if row.is_measured && fold_of(row) == fold && is_asked {
                out.push(Scored {
                    row,
                    attack: weights.best(seen, ATTACK),
                    harm: weights.best(seen, HARM),
                    script: usize::from(seen.is_cyrillic()),
                });
            }
        }
        eprintln!("fold {fold}: {} texts", kept.len());
    }
    out
}

fn dev(options: &Options, weights: &Weights, columns: &[Column; 2]) -> String {
    let rows: Vec<Row> = read::json_lines(&options.data.join("dev/dev_guard.jsonl"))
        .iter()
        .map(|row| {
            let field = |name: &str| row[name].as_str().unwrap_or_default();
            let label = match field("label") {
                "attack" => Label::Attack(0),
                "harmful" => Label::Harm,
                _ => Label::Benign,
            };
            Row::new(
                field("text"),
                format!("{} {}", field("lang"), field("kind")),
                label,
                1.0,
            )
        })
        .collect();
    let scored: Vec<Scored<'_>> = rows
        .iter()
        .map(|row| {
            let seen = Seen::of(&row.text);
            Scored {
                row,
                attack: weights.best(&seen, ATTACK),
                harm: weights.best(&seen, HARM),
                script: usize::from(seen.is_cyrillic()),
            }
        })
        .collect();
    let mut out = measure::print(&measure::table(&scored, columns));
    out += &measure::curve(&scored, columns);
    out
}
