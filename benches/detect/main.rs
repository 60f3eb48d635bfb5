//! What the detectors cost on one core: the pattern tier on mixed prose, the whole engine on messages of
//! one kilobyte, and texts made to be slow, whose time must grow as they do. What is found
//! and missed is `report`'s. Run: `cargo bench --bench detect [-- quick]`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod guard;
mod ordinary;
mod rates;
mod report;
mod score;
mod tokens;

use monitor_detect::{Compiled, Encoding, Engine, LocalDetectors, Rules};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// Goals in megabytes per second and milliseconds (the bars of the detection report).
const PATTERNS_MB_S: f64 = 60.0;
const ENGINE_P99_MS: f64 = 5.0;
const LINEAR_RATIO: f64 = 2.6;

const RUSSIAN: &str = "Добрый день! Подскажите, пожалуйста, как лучше составить план переезда офиса: нам нужно \
    перевезти мебель, серверы и архив, а сотрудники должны продолжать работу. Бюджет согласован — около \
    трёх миллионов, подрядчик выбран, осталось расписать этапы и ответственных. Раньше мы делали это в 2019 \
    году, тогда ушло 14 дней, и главной трудностью оказались лифты. Вопросы присылайте на office@example.ru. ";
const ENGLISH: &str = "Please rewrite the following summary so that it reads well for people who have never \
    seen the product: the service keeps a record of every request, shows who asked what, and stops what \
    should not leave the company. It was released in 2023, version 4.1, and is used by 120 teams. The old \
    manual is at docs.example.com, section 7, and the author can be reached on weekdays after 10:30. ";
const NUMBERS: &str = "ООО «Вектор», ИНН 7752601811, КПП 770701001, ОГРН 1037749746506, тел. +7 912 345-67-89, \
    карта 4276 5493 6034 4563 до 12/27, CVC 123, паспорт 45 08 123456, СНИЛС 777-741-215 45, хост 10.0.0.1. ";

/// Units of the texts made to be slow.
const SLOW: &[&str] = &[
    "7",
    "A",
    "@",
    "1 ",
    "1 2 ",
    "a.",
    "a@a.",
    "8 916 ",
    "45 08 ",
    "CVC ",
    "ИНН ",
    "a\u{430}",
    "\u{200b}1",
    "1:",
];

/// How long to measure.
struct Scale {
    samples: usize,
    bytes: usize,
    messages: usize,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    if has("report") {
        let data = words.iter().skip_while(|word| *word != "--data").nth(1);
        let data = data.map_or("training/dev", String::as_str);
        return report::run(Path::new(data), Path::new("docs"));
    }
    if has("ordinary") {
        let shown = words.iter().skip_while(|word| *word != "ordinary").nth(1);
        return ordinary::run(shown.map(String::as_str));
    }
    let scale = match has("--bench") && !has("quick") {
        true => Scale {
            samples: 15,
            bytes: 1 << 20,
            messages: 20_000,
        },
        false => Scale {
            samples: 3,
            bytes: 1 << 14,
            messages: 50,
        },
    };
    patterns(&scale);
    engine(&scale);
    linear(&scale);
    tokens::speed(&scale, &[RUSSIAN, ENGLISH]);
    guard::speed(&[RUSSIAN, ENGLISH, NUMBERS], scale.messages);
}

/// The pattern tier without masking and token counts, on texts short enough to run undisturbed.
fn patterns(scale: &Scale) {
    const SHORTER: usize = 16;
    let local = LocalDetectors::new();
    let bytes = scale.bytes / SHORTER;
    println!("| pattern tier, {bytes} bytes | MB/s | goal |\n|---|---:|---:|");
    let odd = format!("{RUSSIAN}\u{200b}{ENGLISH}");
    let dense = NUMBERS.to_owned();
    for (name, unit) in [
        ("prose, Russian and English", format!("{RUSSIAN}{ENGLISH}")),
        (
            "the same with numbers in one sentence of nine",
            format!("{RUSSIAN}{ENGLISH}{NUMBERS}"),
        ),
        ("the same with an unseen character", odd),
        ("numbers only", dense),
    ] {
        let text = filled(&unit, bytes);
        let time = best(scale.samples * SHORTER, || {
            black_box(local.find(black_box(&text), |_| true));
        });
        let rate = text.len() as f64 / time.as_secs_f64() / 1e6;
        println!("| {name} | {rate:.1} | {PATTERNS_MB_S:.0} |");
    }
}

/// Everything that rules without any settings ask for, one kilobyte at a time.
fn engine(scale: &Scale) {
    let (engine, rules) = (Engine::default(), Compiled::new(Rules::default()));
    engine.warm_up(Encoding::default());
    let text = filled(&format!("{RUSSIAN}{NUMBERS}{ENGLISH}"), 1 << 10);
    let mut times: Vec<Duration> = Vec::with_capacity(scale.messages);
    for _ in 0..scale.messages {
        let begin = Instant::now();
        black_box(engine.analyze(black_box(&text), &rules, &|| 0));
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    let at = |share: f64| {
        let place = (times.len() as f64 * share) as usize;
        times
            .get(place)
            .map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    println!("\n| engine, 1 KiB | ms | goal |\n|---|---:|---:|");
    println!("| p50 | {:.3} | |", at(0.5));
    println!("| p99 | {:.3} | {ENGINE_P99_MS:.0} |", at(0.99));
}

/// Twice the text takes about twice the time.
fn linear(scale: &Scale) {
    let local = LocalDetectors::new();
    println!("\n| made to be slow | MB/s | time of twice the text | goal |\n|---|---:|---:|---:|");
    for unit in SLOW {
        let (once, twice) = (filled(unit, scale.bytes), filled(unit, scale.bytes * 2));
        let find = |text: &str| {
            black_box(local.find(black_box(text), |_| true));
        };
        let samples = scale.samples.min(5);
        let time = best(samples, || find(&once)).as_secs_f64();
        let ratio = best(samples, || find(&twice)).as_secs_f64() / time;
        let rate = once.len() as f64 / time / 1e6;
        println!("| {unit:?} | {rate:.1} | {ratio:.2} | {LINEAR_RATIO} |");
    }
}

/// The unit repeated up to this many bytes, on a character's border.
fn filled(unit: &str, bytes: usize) -> String {
    let mut text = unit.repeat(bytes / unit.len() + 1);
    text.truncate(text.floor_char_boundary(bytes));
    text
}

/// The best of some runs: on a busy machine the others measure the neighbors.
fn best(samples: usize, run: impl Fn()) -> Duration {
    let sample = || {
        let begin = Instant::now();
        run();
        begin.elapsed()
    };
    (0..samples).map(|_| sample()).min().unwrap_or_default()
}
