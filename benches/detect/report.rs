//! `cargo bench --bench detect -- report [--data DIR]`: runs every detector over the development sets
//! and writes the measured part of `docs/detection.md` and its picture. The figures are those of this build; nothing is
//! carried over from an earlier report.

use super::guard;
use super::score::{self, Gold, Mark, Region, Score};
use monitor_detect::{Compiled, Engine, Rules};
use monitor_gateway::config::Services;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;
use support::markdown::wrapped;

/// A development set: file, what it is, and the least F1 (IoU) that each type should reach.
struct Set {
    file: &'static str,
    about: &'static str,
    goals: &'static [(&'static str, f64)],
}

const SETS: [Set; 3] = [
    Set {
        file: "dev_ids.jsonl",
        about: "800 messages, Russian and English, all 21 types, made from templates; about 210 of them \
                are near misses without any finding",
        goals: &[
            ("BANK_CARD_NUMBER", 0.98),
            ("CVC", 0.98),
            ("DATE", 0.88),
            ("DOMAIN", 0.99),
            ("EMAILS", 0.99),
            ("INN", 0.98),
            ("IP", 0.99),
            ("KPP", 0.98),
            ("MONEY", 0.85),
            ("OGRN", 0.98),
            ("OGRNIP", 0.98),
            ("PASSPORT_NUMBER", 0.98),
            ("PHONE_NUMBER", 0.90),
            ("SNILS", 0.98),
            ("JOB_ROLE", 0.55),
            ("DIAGNOSIS", 0.50),
        ],
    },
    Set {
        file: "dev_pii_en.jsonl",
        about: "600 English messages made from templates; here ADDRESS includes parts of an address and \
                DOMAIN is the whole URL",
        goals: &[
            ("ADDRESS", 0.70),
            ("BANK_CARD_NUMBER", 0.98),
            ("COMPANY", 0.50),
            ("EMAILS", 0.99),
            ("IP", 0.99),
            ("NAME", 0.85),
            ("PHONE_NUMBER", 0.90),
        ],
    },
    Set {
        file: "dev_ner_ru.jsonl",
        about: "122 Russian news texts. The tagger was trained on these texts too, so this table shows \
                what it has learned, not how it performs on new texts; training/README.md has the \
                command for cross-validation",
        goals: &[("NAME", 0.94), ("COMPANY", 0.70)],
    },
];

/// What one set came to.
struct Outcome {
    set: &'static Set,
    scores: BTreeMap<String, Score>,
    bytes: usize,
    seconds: f64,
    records: usize,
}

/// What encloses the report on its page.
const BEGIN: &str = "<!-- report -->";
const END: &str = "<!-- /report -->";

/// Scores every set in `data` and writes the report into its page in `docs`.
pub(crate) fn run(data: &Path, docs: &Path) {
    let engine = Engine::new(Services::default());
    let rules = Compiled::new(Rules::default());
    engine.warm_up(rules.rules().encoding);
    let outcomes: Vec<_> = SETS
        .iter()
        .map(|set| outcome(&engine, &rules, set, &data.join(set.file)))
        .collect();
    std::fs::create_dir_all(docs).unwrap();
    let text = report(&outcomes)
        + &super::ordinary::section(&engine, &rules)
        + &guard::report(&engine, data)
        + &super::rates::section(&engine, &super::ordinary::texts());
    let text = wrapped(&text);
    print!("{text}");
    let page = docs.join("detection.md");
    let before = std::fs::read_to_string(&page).unwrap();
    std::fs::write(page, replaced(&before, &text)).unwrap();
    std::fs::write(docs.join("detection.svg"), picture(&outcomes)).unwrap();
}

/// The page with this report in place of the one it holds.
fn replaced(page: &str, report: &str) -> String {
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    format!("{head}{BEGIN}\n{report}{END}{tail}")
}

fn outcome(engine: &Engine, rules: &Compiled, set: &'static Set, path: &Path) -> Outcome {
    let gold = score::read(path);
    let mut scores = BTreeMap::new();
    let start = Instant::now();
    let found: Vec<_> = gold.iter().map(|gold| find(engine, rules, gold)).collect();
    let seconds = start.elapsed().as_secs_f64();
    for (gold, found) in gold.iter().zip(&found) {
        score::add(&mut scores, gold, found);
    }
    Outcome {
        set,
        scores,
        bytes: gold.iter().map(|gold| gold.text.len()).sum(),
        seconds,
        records: gold.len(),
    }
}

fn find(engine: &Engine, rules: &Compiled, gold: &Gold) -> Vec<Mark> {
    let (report, errors) = engine.sensitive_data(&gold.text, rules, &|| 0);
    assert!(errors.is_empty(), "{errors:?}");
    let mark = |entity: monitor_model::Entity| Mark {
        region: Region {
            start: entity.start,
            end: entity.end,
        },
        kind: entity.kind.to_string(),
    };
    report.entities.into_iter().map(mark).collect()
}

fn report(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "A finding counts as correct when its type is correct and its borders are equal (exact), or overlap by at\n\
         least half of their union (IoU). Goals are for F1 (IoU). Sets made from templates say little about real\n\
         texts: a figure near 1 on them shows that there are rules, not that the rules are complete.\n\n\
         ![F1 of each type](detection.svg)\n",
    );
    for outcome in outcomes {
        let Outcome { set, records, .. } = outcome;
        // Said here and kept in docs/performance.md: the page holds what does not depend on the machine.
        let rate = outcome.bytes as f64 / 1e6 / outcome.seconds;
        eprintln!("{}: all patterns, {rate:.1} MB/s on one core", set.file);
        // Writing to a string has no failing case.
        let _ = writeln!(
            text,
            "\n### {}\n\n{records} texts: {}.\n\n\
             | type | labeled | precision | recall | F1 exact | F1 IoU | goal |\n\
             |---|---:|---:|---:|---:|---:|---|",
            set.file, set.about
        );
        for (kind, score) in &outcome.scores {
            text.push_str(&row(set, kind, score));
        }
        let _ = writeln!(
            text,
            "\nMacro F1 (IoU) of the labeled types: {:.3}.",
            macro_f1(outcome)
        );
    }
    text
}

fn row(set: &Set, kind: &str, score: &Score) -> String {
    let iou = score.iou;
    let labelled = iou.right + iou.missed;
    if labelled == 0 {
        return match iou.wrong {
            0 => String::new(),
            wrong => format!("| {kind} | 0 | | | | | {wrong} false |\n"),
        };
    }
    let goal = match set.goals.iter().find(|(name, _)| *name == kind) {
        Some((_, goal)) if iou.f1() >= *goal => format!("≥ {goal}, met"),
        Some((_, goal)) => format!("≥ {goal}, **missed**"),
        None => String::new(),
    };
    format!(
        "| {kind} | {labelled} | {:.3} | {:.3} | {:.3} | {:.3} | {goal} |\n",
        iou.precision(),
        iou.recall(),
        score.exact.f1(),
        iou.f1()
    )
}

fn labelled(outcome: &Outcome) -> impl Iterator<Item = (&String, &Score)> {
    let scores = outcome.scores.iter();
    scores.filter(|(_, score)| score.iou.right + score.iou.missed > 0)
}

fn macro_f1(outcome: &Outcome) -> f64 {
    let all: Vec<f64> = labelled(outcome).map(|(_, score)| score.iou.f1()).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// One bar per type and set, with a line where the goal is.
fn picture(outcomes: &[Outcome]) -> String {
    const ROW: usize = 18;
    const LEFT: usize = 150;
    const WIDE: f64 = 400.0;
    let (mut body, mut y) = (String::new(), 10);
    for outcome in outcomes {
        y += ROW;
        let _ = writeln!(
            body,
            "<text x=\"4\" y=\"{y}\" font-weight=\"bold\">{}</text>",
            outcome.set.file
        );
        for (kind, score) in labelled(outcome) {
            y += ROW;
            let (f1, top) = (score.iou.f1(), y - 12);
            let _ = writeln!(
                body,
                "<text x=\"4\" y=\"{y}\">{kind}</text>\
                 <rect x=\"{LEFT}\" y=\"{top}\" width=\"{:.0}\" height=\"13\" fill=\"#3b7dd8\"/>\
                 <text x=\"{:.0}\" y=\"{y}\">{f1:.3}</text>",
                f1 * WIDE,
                LEFT as f64 + WIDE + 8.0
            );
            if let Some((_, goal)) = outcome.set.goals.iter().find(|(name, _)| name == kind) {
                let x = LEFT as f64 + goal * WIDE;
                let _ = writeln!(
                    body,
                    "<line x1=\"{x:.0}\" x2=\"{x:.0}\" y1=\"{top}\" y2=\"{}\" stroke=\"#c33\" stroke-width=\"2\"/>",
                    top + 13
                );
            }
        }
    }
    let height = y + ROW;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"620\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"620\" height=\"{height}\" \
         fill=\"#fff\"/>\n<text x=\"4\" y=\"14\">F1 (IoU) of each type; red: the goal</text>\n{body}</svg>\n"
    )
}
