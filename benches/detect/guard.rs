//! Guardrails in figures: the development set by kind (recall of attacks and harmful requests, flags of
//! harmless messages), and what a verdict costs. The figures of kinds held out are the trainer's
//! (`training/data/guard/measured.md`) and are only shown here.

use monitor_detect::rules::GuardrailsRules;
use monitor_detect::{Compiled, Engine, Rules};
use monitor_model::Stage;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// Messages per second and milliseconds.
const MESSAGES_A_SECOND: f64 = 5_000.0;
const P99_MS: f64 = 2.0;

#[derive(Deserialize)]
struct Row {
    text: String,
    lang: String,
    label: String,
    kind: String,
}

/// Guardrails of one direction, and nothing else.
pub(crate) fn rules(stage: Stage) -> Compiled {
    let rules = Rules {
        dataclean: None,
        guardrails: Some(GuardrailsRules::default()),
        ..Rules::default()
    };
    Compiled::of(stage, rules)
}

/// The part of the report about guardrails; without the set in `data`, only what the trainer measured.
pub(crate) fn report(engine: &Engine, data: &Path) -> String {
    let mut text = String::from(
        "\n### Guardrails: kinds held out\n\nMeasured by the trainer (`training/README.md`): each kind is scored \
         by models that were trained without it (five folds), and for wrapped Russian attacks also without the \
         questions inside them. A text is flagged when the score of a model (attack, harm or foreign request) \
         reaches its threshold. Texts composed for the training are not measured, with one exception: letters with \
         an inserted request that has nothing to do with the letter, where the models had seen neither the kind of \
         request nor the letter. Ordinary prompts are the corpus and the hard English ones; harmless messages are \
         these and news, posts, code and this project's tests, which quote attacks.\n\n![Recall by flagged harmless messages](guardrails.svg)\n",
    );
    text += &std::fs::read_to_string("training/data/guard/measured.md").unwrap();
    let Ok(lines) = std::fs::read_to_string(data.join("dev_guard.jsonl")) else {
        return text + "\nThe development set dev_guard.jsonl was not in the folder of this run.\n";
    };
    let mut kinds: BTreeMap<(String, String, String), (u32, u32)> = BTreeMap::new();
    let rules = rules(Stage::PreCall);
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let row: Row = serde_json::from_str(line).unwrap();
        let (report, errors) = engine.guardrails(&row.text, &rules);
        assert!(errors.is_empty(), "{errors:?}");
        let all = (row.label.clone(), "all".to_owned(), String::new());
        for key in [(row.label, row.lang, row.kind), all] {
            let count = kinds.entry(key).or_default();
            count.0 += u32::from(report.flagged);
            count.1 += 1;
        }
    }
    text += "\n### Guardrails: dev_guard.jsonl\n\nMeasured with the weights of this build, which were trained on no text \
             of this set and on no near copy of one. The kinds are sources of the training data, so most of them \
             are known to the models; the figures above say more about new kinds.\n\n| label | language | kind | texts | flagged |\n|---|---|---|---:|---:|\n";
    for ((label, language, kind), (flagged, all)) in kinds {
        let share = f64::from(flagged) / f64::from(all);
        let _ = writeln!(
            text,
            "| {label} | {language} | {kind} | {all} | {share:.3} |"
        );
    }
    text
}

/// Messages of 300 bytes and of 4 KiB, and the first one of a process.
pub(crate) fn speed(units: &[&str], messages: usize) {
    println!("\n| guardrails | measured | goal |\n|---|---:|---:|");
    let rules = rules(Stage::PreCall);
    let begin = Instant::now();
    let engine = Engine::default();
    black_box(engine.guardrails("Hello, what can you do?", &rules));
    println!(
        "| engine built and first message, ms | {:.1} | 50 |",
        ms(begin.elapsed())
    );
    let short: Vec<String> = units.iter().map(|unit| super::filled(unit, 300)).collect();
    let begin = Instant::now();
    for number in 0..messages {
        black_box(engine.guardrails(black_box(&short[number % short.len()]), &rules));
    }
    let rate = messages as f64 / begin.elapsed().as_secs_f64();
    println!("| 300 bytes, messages/s | {rate:.0} | {MESSAGES_A_SECOND:.0} |");
    let long: Vec<String> = units.iter().map(|unit| super::filled(unit, 4096)).collect();
    let mut times = Vec::with_capacity(messages / 4);
    for number in 0..messages / 4 {
        let begin = Instant::now();
        black_box(engine.guardrails(black_box(&long[number % long.len()]), &rules));
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    let p99 = times
        .get(times.len() * 99 / 100)
        .copied()
        .unwrap_or_default();
    println!("| 4 KiB, p99, ms | {:.3} | {P99_MS:.0} |", ms(p99));
    beside(&units.concat(), messages / 40);
}

/// The whole engine on 64 KiB with guardrails beside dataclean, against both one after the other.
fn beside(unit: &str, messages: usize) {
    let (engine, text) = (Engine::default(), super::filled(unit, 64 << 10));
    let both = Rules {
        guardrails: Some(GuardrailsRules::default()),
        ..Rules::default()
    };
    let (both, alone) = (Compiled::new(both), Compiled::new(Rules::default()));
    let guard = rules(Stage::PreCall);
    let time = |run: &dyn Fn()| super::best(messages.clamp(3, 20), run);
    let together = time(&|| drop(black_box(engine.analyze(&text, &both, &|| 0))));
    let first = time(&|| drop(black_box(engine.analyze(&text, &alone, &|| 0))));
    let second = time(&|| drop(black_box(engine.guardrails(&text, &guard))));
    println!(
        "| 64 KiB with dataclean and tokens, ms | {:.2} | {:.2} one after the other |",
        ms(together),
        ms(first + second)
    );
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
