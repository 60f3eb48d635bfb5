//! The whole training: table of words, one chain for each language, or a cross-validation instead.

use crate::chain::{self, Chain, Example, Lift};
use crate::corpus::{self, Doc};
use crate::{Options, data_file, made_en, made_ru, read, tables};
use monitor_detect::training::crf::features::{facts, hash};
use monitor_detect::training::crf::model::Model;
use monitor_detect::training::crf::table::Table;
use monitor_detect::training::lexicon::Lexicon;
use monitor_detect::training::pipeline::{FindKind, Tagger};
use monitor_detect::training::token::{sentences, tokens};
use serde_json::json;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Name lists and classes of words.
pub const WORDS: &str = "tagger_words.bin";
const FOLDS: u64 = 5;
const EPOCHS: usize = 12;
const SEED: u64 = 20;

pub fn run(options: &Options) {
    if let Some(path) = &options.scan {
        return scan(options, path);
    }
    if options.only.as_deref() == Some("guard") {
        return crate::guard::run(options);
    }
    if options.only.as_deref() == Some("vocabularies") {
        return crate::vocabulary::run(options);
    }
    if options.folds.is_none() && options.only.as_deref().is_none_or(|only| only == "words") {
        data_file::write(&options.out, WORDS, &tables::build(options));
    }
    let bytes = data_file::read(&options.out, WORDS);
    let table = Table::new(&bytes).expect("words");
    for (language, gold, made) in corpora(options) {
        if options.only.as_deref().is_some_and(|only| only != language) {
            continue;
        }
        eprintln!(
            "{language}: {} labelled texts, {} made",
            gold.len(),
            made.len()
        );
        match &options.folds {
            Some(folds) => {
                let lines = cross_validate(options, &table, language, &gold, &made);
                fs::create_dir_all(folds).expect("folder");
                fs::write(folds.join(format!("{language}.jsonl")), lines).expect("folds");
            }
            None => {
                let all: Vec<&Doc> = gold.iter().chain(&made).collect();
                let weights = train(&all, &table).write(&lift(language));
                data_file::write(&options.out, &format!("tagger_{language}.bin"), &weights);
            }
        }
    }
}

fn corpora(options: &Options) -> [(&'static str, Vec<Doc>, Vec<Doc>); 2] {
    let mut english = corpus::english_generated(&options.data);
    english.extend(corpus::english_noisy(&options.data));
    english.extend(corpus::english_without(&options.data));
    let mut russian = made_ru::docs(&options.data);
    russian.extend(corpus::russian_silver());
    [
        ("ru", corpus::russian(&options.data), russian),
        ("en", english, made_en::docs(&options.data)),
    ]
}

fn lift(language: &str) -> Lift {
    match language {
        "ru" => Lift {
            name: 0.3,
            company: 1.1,
        },
        _ => Lift {
            name: 0.8,
            company: 0.6,
        },
    }
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
            let inside = |token: &monitor_detect::training::token::Token| {
                let common = token.end.min(*end).saturating_sub(token.start.max(*start));
                common * 2 > token.end - token.start
            };
            let places: Vec<usize> = (0..tokens.len())
                .filter(|at| inside(&tokens[*at]))
                .collect();
            if places.iter().any(|at| labels[*at] != 0) {
                continue;
            }
            let mut next = *label;
            for at in places {
                labels[at] = next;
                next = if *label == monitor_detect::training::crf::model::PLACE {
                    *label
                } else {
                    label + 1
                };
            }
        }
        for (from, to) in sentences(&doc.text, &tokens) {
            let mut labels = labels[from..to].to_vec();
            if let Some(first) = labels
                .first_mut()
                .filter(|label| matches!(label, 2 | 4 | 6))
            {
                *first -= 1;
            }
            out.push(Example {
                facts: facts[from..to].to_vec(),
                labels,
                weight: doc.weight,
                early: doc.weight < 0.45,
            });
        }
    }
    out
}

fn train(docs: &[&Doc], table: &Table) -> Chain {
    let examples = examples(docs, table);
    let tokens: usize = examples.iter().map(|example| example.labels.len()).sum();
    eprintln!("{} sentences, {tokens} tokens", examples.len());
    chain::train(&examples, EPOCHS, SEED)
}

fn cross_validate(
    options: &Options,
    table: &Table,
    language: &str,
    gold: &[Doc],
    made: &[Doc],
) -> String {
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
        let kept: Vec<&Doc> = kept
            .chain(
                made.iter()
                    .filter(|doc| doc.group.is_empty() || fold_of(doc) != fold),
            )
            .collect();
        let weights = train(&kept, table).write(&lift(language));
        let model = Model::new(&weights).expect("weights");
        let tagger = Tagger {
            table: *table,
            russian: model.clone(),
            english: model,
            lexicon: Lexicon::build(),
        };
        for doc in gold.iter().filter(|doc| fold_of(doc) == fold) {
            let id = if doc.id.starts_with("fre") {
                Some(&doc.id)
            } else {
                ids.get(&doc.text)
            };
            let Some(id) = id else { continue };
            out += &line(id, &doc.text, &tagger);
            out.push('\n');
        }
    }
    out
}

/// The finds of one text as a line for the scorer.
fn line(id: &str, text: &str, tagger: &Tagger) -> String {
    let points = read::code_points(text);
    let point = |byte: usize| points.partition_point(|at| *at < byte);
    let entities = tagger.find(text).into_iter().map(|find| {
        let kind = match find.kind {
            FindKind::Name => "NAME",
            FindKind::Company => "COMPANY",
            FindKind::Address => "ADDRESS",
            FindKind::JobRole => "JOB_ROLE",
            FindKind::Diagnosis => "DIAGNOSIS",
        };
        json!({"type": kind, "start": point(find.start), "end": point(find.end)})
    });
    json!({"id": id, "entities": entities.collect::<Vec<_>>()}).to_string()
}

fn scan(options: &Options, path: &Path) {
    let file = |name: &str| data_file::read(&options.out, name);
    let (table, russian, english) = (file(WORDS), file("tagger_ru.bin"), file("tagger_en.bin"));
    let started = Instant::now();
    let tagger = Tagger {
        table: Table::new(&table).expect("words"),
        russian: Model::new(&russian).expect("Russian"),
        english: Model::new(&english).expect("English"),
        lexicon: Lexicon::build(),
    };
    eprintln!("ready after {:?}", started.elapsed());
    let rows = read::json_lines(path);
    let (mut bytes, mut spent) = (0, 0.0);
    for (at, row) in rows.iter().enumerate() {
        let text = row["text"].as_str().expect("text");
        let started = Instant::now();
        std::hint::black_box(tagger.find(text));
        spent += started.elapsed().as_secs_f64();
        bytes += text.len();
        let id = row["id"]
            .as_str()
            .map_or_else(|| at.to_string(), str::to_owned);
        println!("{}", line(&id, text, &tagger));
    }
    eprintln!("{bytes} bytes, {:.2} MB/s", bytes as f64 / spent / 1e6);
}
