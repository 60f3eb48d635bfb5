//! Runs one part of detection over ordinary messages, for a clock or a profiler: `speed PART LANGUAGE TIMES`, in the
//! project's folder. PART is `patterns` (those that need no tagger), `all` (the 21 patterns), `prompt` or `answer`
//! (guardrails); LANGUAGE is `en` or `ru`. Two counts of instructions, of 1 and of 3 times, differ by two runs.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use monitor_detect::rules::GuardrailsRules;
use monitor_detect::{Compiled, Engine, LocalDetectors, Rules};
use monitor_model::Stage;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Messages of these files of the corpus are prose.
const PROSE: [&str; 6] = [
    "everyday",
    "fiction",
    "history_politics",
    "law",
    "medicine",
    "work_mails",
];
/// One portion of a text.
const BYTES: usize = 56 * 1024;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [part, language, times] = words.as_slice() else {
        panic!("speed PART LANGUAGE TIMES");
    };
    let text = prose(language);
    let (engine, local) = (Engine::default(), LocalDetectors::new());
    let all = Compiled::new(Rules::default());
    let guardrails = |stage| {
        let rules = Rules {
            dataclean: None,
            guardrails: Some(GuardrailsRules::default()),
            ..Rules::default()
        };
        Compiled::of(stage, rules)
    };
    let (prompt, answer) = (guardrails(Stage::PreCall), guardrails(Stage::PostCall));
    let run = || {
        let text = black_box(text.as_str());
        match part.as_str() {
            "patterns" => drop(black_box(local.find(text, |_| true))),
            "all" => drop(black_box(engine.sensitive_data(text, &all, &|| 0))),
            "prompt" => drop(black_box(engine.guardrails(text, &prompt))),
            "answer" => drop(black_box(engine.guardrails(text, &answer))),
            other => panic!("{other} is no part"),
        }
    };
    // The first time unpacks the weights.
    run();
    let mut best = Duration::MAX;
    for _ in 0..times.parse().expect("a number of times") {
        let begin = Instant::now();
        run();
        best = best.min(begin.elapsed());
    }
    let rate = text.len() as f64 / best.as_secs_f64() / 1e6;
    println!("{part} {language}: {} bytes, {rate:.2} MB/s", text.len());
}

/// As many messages as are one portion, some of each file in turn.
fn prose(language: &str) -> String {
    let read = |file: &&str| {
        let path = format!("training/corpus/{language}/{file}.jsonl");
        let rows = std::fs::read_to_string(path).unwrap();
        let text = |row: &str| {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            row["text"].as_str().unwrap().to_owned()
        };
        rows.lines().map(text).collect::<Vec<_>>()
    };
    let files: Vec<Vec<String>> = PROSE.iter().map(read).collect();
    let mut text = String::new();
    for number in 0.. {
        let before = text.len();
        for message in files.iter().filter_map(|file| file.get(number)) {
            text.push_str(message);
            text.push_str("\n\n");
        }
        if text.len() >= BYTES || text.len() == before {
            break;
        }
    }
    text.truncate(text.floor_char_boundary(BYTES));
    text
}
