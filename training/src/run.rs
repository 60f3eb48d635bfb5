//! The whole training: table of words, one chain for each language, or a cross-validation instead.

use crate::chain::{self, Chain, Example};
use crate::corpus::{self, Doc};
use crate::decode;
use crate::features::{facts, hash};
use crate::model::{ADDRESS, COMPANY, Model, NAME};
use crate::table::Table;
use crate::token::{sentences, tokens};
use crate::{Options, made_en, made_ru, read, words};
use serde_json::json;
use std::collections::HashMap;
use std::fs;

const FOLDS: u64 = 5;
const EPOCHS: usize = 12;
const SEED: u64 = 20;

pub fn run(options: &Options) {
    let path = options.out.join("words.bin");
    fs::create_dir_all(&options.out).expect("folder");
    if options.folds.is_none() && options.only.as_deref().is_none_or(|only| only == "words") {
        fs::write(&path, words::build(options)).expect("words.bin");
    }
    let bytes = read::bytes(&path);
    let table = Table::new(&bytes).expect("words.bin");
    for (language, gold, made) in corpora(options) {
        if options.only.as_deref().is_some_and(|only| only != language) {
            continue;
        }
        eprintln!("{language}: {} labelled texts, {} made", gold.len(), made.len());
        match &options.folds {
            Some(folds) => {
                let lines = cross_validate(options, &table, (language, &gold, &made));
                fs::create_dir_all(folds).expect("folder");
                fs::write(folds.join(format!("{language}.jsonl")), lines).expect("folds");
            }
            None => {
                let all: Vec<&Doc> = gold.iter().chain(&made).collect();
                let weights = train(&all, &table).write();
                fs::write(options.out.join(format!("{language}.bin")), weights).expect("weights");
            }
        }
    }
}

fn corpora(options: &Options) -> [(&'static str, Vec<Doc>, Vec<Doc>); 2] {
    let mut english = corpus::english_generated(&options.data);
    english.extend(corpus::english_noisy(&options.data));
    let mut russian = made_ru::docs();
    if std::env::var("NOSILVER").is_err() {
        russian.extend(corpus::russian_silver());
    }
    [
        ("ru", corpus::russian(&options.data), russian),
        ("en", english, made_en::docs(&options.data)),
    ]
}

fn examples(docs: &[&Doc], table: &Table) -> Vec<Example> {
    let mut out = Vec::new();
    for doc in docs {
        let tokens = tokens(&doc.text);
        let facts = facts(&doc.text, &tokens, table);
        let mut labels = vec![0; tokens.len()];
        let mut spans = doc.spans.clone();
        spans.sort_by_key(|(_, start, end)| std::cmp::Reverse(end - start));
        for (label, start, end) in &spans {
            let inside = |token: &crate::token::Token| {
                let common = token.end.min(*end).saturating_sub(token.start.max(*start));
                common * 2 > token.end - token.start
            };
            let places: Vec<usize> = (0..tokens.len()).filter(|at| inside(&tokens[*at])).collect();
            if places.iter().any(|at| labels[*at] != 0) {
                continue;
            }
            let mut next = *label;
            for at in places {
                labels[at] = next;
                next = if *label == crate::model::PLACE { *label } else { label + 1 };
            }
        }
        for (from, to) in sentences(&doc.text, &tokens) {
            let mut labels = labels[from..to].to_vec();
            if let Some(first) = labels.first_mut().filter(|label| matches!(label, 2 | 4 | 6)) {
                *first -= 1;
            }
            out.push(Example { facts: facts[from..to].to_vec(), labels, weight: doc.weight, early: doc.weight < 0.45 });
        }
    }
    out
}

fn train(docs: &[&Doc], table: &Table) -> Chain {
    let examples = examples(docs, table);
    let tokens: usize = examples.iter().map(|example| example.labels.len()).sum();
    eprintln!("{} sentences, {tokens} tokens", examples.len());
    chain::train(&examples, std::env::var("EPOCHS").ok().and_then(|e| e.parse().ok()).unwrap_or(EPOCHS), SEED)
}

fn cross_validate(options: &Options, table: &Table, (language, gold, made): (&str, &[Doc], &[Doc])) -> String {
    let mut ids: HashMap<String, String> = HashMap::new();
    if language == "en" {
        for row in read::json_lines(&options.data.join("dev/dev_pii_en.jsonl")) {
            let doc = corpus::labelled(&row);
            ids.insert(doc.text, doc.id);
        }
    }
    let mut out = String::new();
    let fold_of = |doc: &Doc| hash(doc.group.chars()) % FOLDS;
    for fold in 0..FOLDS {
        let kept = gold.iter().filter(|doc| fold_of(doc) != fold);
        let kept: Vec<&Doc> = kept.chain(made.iter().filter(|doc| doc.group.is_empty() || fold_of(doc) != fold)).collect();
        let weights = train(&kept, table).write();
        let model = Model::new(&weights).expect("weights");
        for doc in gold.iter().filter(|doc| fold_of(doc) == fold) {
            let id = if doc.id.starts_with("fre") { Some(&doc.id) } else { ids.get(&doc.text) };
            let Some(id) = id else { continue };
            out += &find(id, &doc.text, &model, table);
            out.push('\n');
        }
    }
    out
}

fn find(id: &str, text: &str, model: &Model, table: &Table) -> String {
    let tokens = tokens(text);
    let facts = facts(text, &tokens, table);
    let points = read::code_points(text);
    let point = |byte: usize| points.partition_point(|at| *at < byte);
    let mut entities = Vec::new();
    for (from, to) in sentences(text, &tokens) {
        for run in decode::runs(&model.label(&facts[from..to])) {
            let Some((start, end)) = decode::bytes(text, &tokens[from..to], run) else { continue };
            let kind = match run.label {
                NAME => "NAME",
                COMPANY => "COMPANY",
                ADDRESS => "ADDRESS",
                _ => continue,
            };
            entities.push(json!({"type": kind, "start": point(start), "end": point(end)}));
        }
    }
    json!({"id": id, "entities": entities}).to_string()
}
