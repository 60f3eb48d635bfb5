//! The training of the guardrails: cross-validation by kinds for the thresholds, then all texts for the weights.

use super::fit::{DOUBLING, Seen, Weights, fit};
use super::letters::{self, Letter};
use super::measure::{self, LetterScored, Scored};
use super::rows::{self, Label, Row};
use super::{rates, sentences};
use crate::random::Random;
use crate::{Options, data_file, read};
use monitor_detect::training::linear::{ATTACK, Column, FOREIGN, HARM, HEADS};
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
    let letters = letters::all(&rows, &mut Random::new(SEED + 1));
    let letters: Vec<(Letter, Seen)> = letters
        .into_iter()
        .map(|letter| {
            let seen = Seen::of(&letter.text);
            (letter, seen)
        })
        .collect();
    eprintln!("{} letters after {:?}", letters.len(), started.elapsed());
    let (scored, asked) = cross_validate(&rows, &seen, &letters);
    let columns = measure::columns(&scored, &asked);
    let tables = measure::print(&measure::table(&scored, &columns))
        + &measure::letters(&asked, &columns)
        + &measure::curve(&scored, &columns);
    println!("{tables}\n{columns:?}");
    eprintln!("folds after {:?}", started.elapsed());
    let all: Vec<_> = rows.iter().zip(&seen).collect();
    let mut weights = fit(&all, SEED);
    let all: Vec<_> = letters
        .iter()
        .map(|(letter, seen)| (letter, seen))
        .collect();
    sentences::fit(&mut weights, &all, SEED);
    println!("{}", dev(options, &weights, &columns));
    write(options, &weights, &columns, &scored, &tables);
    eprintln!("ready after {:?}", started.elapsed());
}

fn write(
    options: &Options,
    weights: &Weights,
    columns: &[Column; 3],
    scored: &[Scored<'_>],
    tables: &str,
) {
    let mut heads = [Column::default(); HEADS];
    for (head, column) in [ATTACK, HARM, FOREIGN].into_iter().zip(columns) {
        heads[head] = *column;
    }
    for (head, column) in heads.iter_mut().enumerate() {
        column.bias = weights.bias.get(head).copied().unwrap_or(0.0);
        column.doubling = DOUBLING;
    }
    if let Some(folder) = &options.folds {
        fs::create_dir_all(folder).expect("folder");
        fs::write(folder.join("guard.md"), tables).expect("tables");
        let errors = measure::errors(scored, columns);
        return fs::write(folder.join("errors.tsv"), errors).expect("errors");
    }
    data_file::write(&options.out, "guardrails.bin", &weights.write(&heads));
    fs::write("data/guard/measured.md", tables).expect("tables");
    fs::write("../docs/guardrails.svg", measure::picture(scored, columns)).expect("picture");
    let table = options.out.join("../src/guardrails/rates.tsv");
    rates::write(&table, scored, columns);
}

fn hash(text: &str) -> usize {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish() as usize
}

/// Scores of every measured text by weights that have seen neither its kind nor what is inside it.
fn cross_validate<'r>(
    rows: &'r [Row],
    seen: &[Seen],
    letters: &[(Letter, Seen)],
) -> (Vec<Scored<'r>>, Vec<LetterScored>) {
    // What is put together does not change the folds.
    let measured = rows.iter().filter(|row| row.is_measured);
    let kinds: BTreeSet<&str> = measured.map(|row| row.kind.as_str()).collect();
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
    let (mut out, mut asked) = (Vec::new(), Vec::new());
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
        let mut weights = fit(&kept, SEED + fold as u64);
        asked.extend(held_out_letters(&mut weights, letters, fold));
        for (row, seen) in rows.iter().zip(seen) {
            let is_asked =
                row.label == Label::Harm || inside_of(row).is_none_or(|other| other == side);
            if row.is_measured && fold_of(row) == fold && is_asked {
                out.push(Scored {
                    row,
                    judged: weights.judge(seen),
                    script: seen.script(),
                });
            }
        }
        eprintln!("fold {fold}: {} texts", kept.len());
    }
    (out, asked)
}

/// Fits the sentences of letters of the other folds, and scores those of this one: neither the kind of what
/// was put in nor the letter it was put into is known.
fn held_out_letters(
    weights: &mut Weights,
    letters: &[(Letter, Seen)],
    fold: usize,
) -> Vec<LetterScored> {
    let is_carrier_out = |letter: &Letter| letter.carrier % FOLDS == fold;
    let is_kind_out =
        |letter: &Letter| letter.asked.is_some() && hash(&letter.kind) % FOLDS == fold;
    let kept: Vec<_> = letters
        .iter()
        .filter(|(letter, _)| !is_carrier_out(letter) && !is_kind_out(letter))
        .map(|(letter, seen)| (letter, seen))
        .collect();
    sentences::fit(weights, &kept, SEED + fold as u64);
    let out = letters.iter().filter(|(letter, _)| match letter.asked {
        Some(_) => is_kind_out(letter) && is_carrier_out(letter),
        None => is_carrier_out(letter),
    });
    out.map(|(letter, seen)| LetterScored {
        kind: letter.kind.clone(),
        is_asked: letter.asked.is_some(),
        margin: weights.foreign(&seen.readings[0]),
        script: seen.script(),
    })
    .collect()
}

fn dev(options: &Options, weights: &Weights, columns: &[Column; 3]) -> String {
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
                judged: weights.judge(&seen),
                script: seen.script(),
            }
        })
        .collect();
    let mut out = measure::print(&measure::table(&scored, columns));
    out += &measure::curve(&scored, columns);
    out
}
