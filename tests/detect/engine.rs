//! The engine as its callers use it: masking, token counts, offsets, and hostile texts.

use monitor_detect::{
    CleanType, Compiled, DatacleanRules, Encoding, Engine, MaskStyle, PatternName, Report, Rules,
};
use monitor_model::Status;
use std::time::{Duration, Instant};

const TEXT: &str = "Карта 4276 5493 6034 4563, почта a@b.ru, ещё раз A@B.ru";

fn analyze(text: &str, clean_type: CleanType, mask_style: MaskStyle) -> Report {
    let dataclean = DatacleanRules {
        clean_type,
        mask_style,
        ..DatacleanRules::default()
    };
    let rules = Rules {
        dataclean: Some(dataclean),
        ..Rules::default()
    };
    Engine::default().analyze(text, &rules.into(), &|| 0)
}

fn cleaned(clean_type: CleanType, mask_style: MaskStyle) -> Option<String> {
    let report = analyze(TEXT, clean_type, mask_style);
    report.dataclean.cleaned_text.map(|text| text.to_string())
}

#[test]
fn contract_25_every_clean_type_and_mask_style() {
    for (clean_type, mask_style, expected) in [
        (
            CleanType::Masking,
            MaskStyle::Label,
            "Карта [BANK_CARD_NUMBER], почта [EMAILS], ещё раз [EMAILS]",
        ),
        (
            CleanType::Masking,
            MaskStyle::X,
            "Карта xxxxxxxxxxxxxxxxxxx, почта xxxxxx, ещё раз xxxxxx",
        ),
        (
            CleanType::Masking,
            MaskStyle::Length,
            "Карта [BANK_CARD_NUMBER:19], почта [EMAILS:6], ещё раз [EMAILS:6]",
        ),
        (
            CleanType::Masking,
            MaskStyle::Pseudonym,
            "Карта [BANK_CARD_NUMBER_1], почта [EMAILS_1], ещё раз [EMAILS_1]",
        ),
        (
            CleanType::Deletion,
            MaskStyle::Label,
            "Карта, почта, ещё раз",
        ),
        (CleanType::Detection, MaskStyle::Label, TEXT),
    ] {
        assert_eq!(cleaned(clean_type, mask_style).as_deref(), Some(expected));
    }
}

#[test]
fn contract_37_entities_carry_code_points_of_the_original_text_and_never_the_text() {
    let report = analyze(TEXT, CleanType::Masking, MaskStyle::Label);
    let places: Vec<_> = report
        .dataclean
        .entities
        .iter()
        .map(|e| (&*e.kind, e.start, e.end))
        .collect();
    assert_eq!(
        places,
        [
            ("BANK_CARD_NUMBER", 6, 25),
            ("EMAILS", 33, 39),
            ("EMAILS", 49, 55)
        ]
    );
    let types: Vec<_> = report
        .dataclean
        .types
        .iter()
        .map(|t| (t.kind.as_str(), t.count))
        .collect();
    assert_eq!(types, [("BANK_CARD_NUMBER", 1), ("EMAILS", 2)]);
    assert!(!format!("{:?}", report.dataclean.entities).contains("4276"));
}

#[test]
fn contract_24_tokens_use_the_encoding_of_the_rules() {
    let count = |encoding| {
        let rules = Rules {
            encoding,
            ..Rules::default()
        };
        Engine::default()
            .analyze("Привет, как дела?", &rules.into(), &|| 0)
            .tokens
            .count
    };
    assert_eq!(
        count(Encoding::O200kBase),
        Encoding::O200kBase.count("Привет, как дела?")
    );
    assert!(count(Encoding::O200kBase) < count(Encoding::Cl100kBase));
}

#[test]
fn contract_26_every_pattern_is_looked_for_without_a_failure() {
    let engine = Engine::default();
    for name in PatternName::every() {
        let dataclean = DatacleanRules {
            patterns: Some(vec![name.into()]),
            ..DatacleanRules::default()
        };
        let report = engine.analyze(
            "x",
            &Compiled::new(Rules {
                dataclean: Some(dataclean),
                ..Rules::default()
            }),
            &|| 0,
        );
        assert_eq!(
            (report.status, report.errors.len()),
            (Status::Success, 0),
            "{name}"
        );
    }
}

#[test]
fn an_empty_text_is_valid_and_holds_nothing() {
    let report = analyze("", CleanType::Masking, MaskStyle::Label);
    assert_eq!((report.status, report.tokens.count), (Status::Success, 0));
    assert_eq!(report.dataclean.cleaned_text.as_deref(), Some(""));
    assert!(!report.dataclean.flagged);
}

/// Repeated to 200 kB each.
const HOSTILE: &[&str] = &[
    "a",
    "@",
    "a@",
    "a@a.",
    "1",
    "1 ",
    "1-",
    "1.",
    ":",
    "::",
    "a:",
    "1.1.1.",
    "+7",
    "+7 ",
    "8 ",
    "(",
    "4444 ",
    "инн ",
    "ИНН 1",
    "é@",
    "\u{a0}1",
    "\u{2011}7",
    "1/",
    "тел 1",
    "a'",
    "..",
    "x@y.рф.",
    "+44 ",
    "+1 2 ",
    "A",
    "1 2 ",
    "7.",
    "a.b",
    "a.b+",
    "a.b_",
    "..a",
    "CVC ",
    "CVC 1",
    "123 (",
    "12/26 123 ",
    "45 08 ",
    "4508 № ",
    "паспорт 1",
    "AB 1",
    "1234AB",
    "КПП 7",
    "/770701001",
    "a\u{430}",
    "\u{200b}",
    "\u{200b}7",
    "７ ",
    "1\u{336}",
    "é\u{430}",
    "5 мая ",
    "5 ",
    "до 5",
    "$1",
    "1.1.24 ",
    "два ",
    "мая",
    "P1",
    "с 5 по ",
    "года, ",
];

#[test]
fn hostile_texts_are_answered_in_linear_time_and_without_a_failure() {
    let rules = Compiled::new(Rules::default());
    let engine = Engine::default();
    engine.warm_up(Encoding::default());
    for unit in HOSTILE {
        let text = unit.repeat(200_000 / unit.len());
        let started = Instant::now();
        let report = engine.analyze(&text, &rules, &|| 0);
        // Quadratic work on 200 kB takes minutes; linear work takes a fraction of a second in any build.
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{unit:?}: {:?}",
            started.elapsed()
        );
        assert_eq!(report.errors, Vec::<String>::new(), "{unit:?}");
    }
}

#[test]
fn every_cut_of_a_text_is_analysed_without_a_failure() {
    let text = "ИНН/КПП 7752601811/770701001 +7 (912) 345‑67‑89 é@пример.рф [2001:db8::1]:443 СНИЛС 777-741-215 45";
    let engine = Engine::default();
    let rules = Compiled::new(Rules::default());
    let cuts: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    for (index, from) in cuts.iter().enumerate() {
        for to in &cuts[index..] {
            let report = engine.analyze(&text[*from..*to], &rules, &|| 0);
            assert_eq!(
                report.errors,
                Vec::<String>::new(),
                "{:?}",
                &text[*from..*to]
            );
        }
    }
}
