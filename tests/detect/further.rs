//! The further patterns, which rules have to name: their tables of examples, that nothing changes where no rule names
//! one, and which of two finds stands.

use super::fixtures::{Fixture, all_found, check, enough_rows, fixture};
use monitor_detect::{CleanType, Compiled, DatacleanRules, Engine, MaskStyle, PatternName, Rules};

const FEWEST_ROWS: usize = 12;

fn rules(patterns: impl IntoIterator<Item = PatternName>) -> Rules {
    let patterns = patterns.into_iter().map(Into::into).collect();
    Rules {
        dataclean: Some(DatacleanRules {
            patterns: Some(patterns),
            mask_style: MaskStyle::Pseudonym,
            clean_type: CleanType::Masking,
            ..DatacleanRules::default()
        }),
        ..Rules::default()
    }
}

#[test]
fn every_further_pattern_alone_finds_its_good_examples_and_no_near_miss() {
    check(PatternName::further(), |name| rules([name]));
}

#[test]
fn beside_all_others_every_pattern_finds_what_it_finds_alone() {
    check(PatternName::further(), |_| rules(PatternName::every()));
    // Those of §2.8 keep their finds.
    check(PatternName::all(), |_| rules(PatternName::every()));
}

#[test]
fn every_table_has_enough_rows_of_both_kinds_and_none_twice() {
    enough_rows(PatternName::further(), FEWEST_ROWS);
}

/// CONTRACT 27: patterns missing means the 21 of §2.8.
#[test]
fn contract_27_rules_that_name_no_pattern_find_no_further_one() {
    let engine = Engine::default();
    let [by_default, named] = [Rules::default(), rules(PatternName::all())].map(Compiled::new);
    let tables = PatternName::further().map(fixture);
    for row in tables.flat_map(Fixture::rows) {
        let finds = all_found(&engine, &row.text, &by_default);
        let is_further = |(kind, _): &(String, String)| {
            kind.parse::<PatternName>()
                .is_ok_and(PatternName::is_further)
        };
        assert!(!finds.iter().any(is_further), "{:?}: {finds:?}", row.text);
        let same = all_found(&engine, &row.text, &named);
        assert_eq!(finds, same, "{:?}", row.text);
    }
}

/// CONTRACT 25: one winner per span.
#[test]
fn contract_25_the_word_beside_a_number_decides_what_it_is() {
    let engine = Engine::default();
    let is_word = |name: &PatternName| {
        let words = ["ADDRESS", "COMPANY", "DIAGNOSIS", "JOB_ROLE", "NAME"];
        words.contains(&name.as_str())
    };
    let rules = Compiled::new(rules(PatternName::every().filter(|name| !is_word(name))));
    for (text, cleaned) in [
        // The same digits are a card and a policy.
        ("Карта 2202786791897610", "Карта [BANK_CARD_NUMBER_1]"),
        ("Полис ОМС 2202786791897610", "Полис ОМС [OMS_POLICY_1]"),
        ("паспорт 45 08 345678", "паспорт [PASSPORT_NUMBER_1]"),
        ("ВУ 45 08 345678", "ВУ [DRIVER_LICENSE_1]"),
        // Digits inside an account are no card of their own.
        ("IBAN DE77718449530967118138", "IBAN [IBAN_1]"),
        (
            "iban GB30WEST05621020265517, GB30 WEST 0562 1020 2655 17",
            "iban [IBAN_1], [IBAN_1]",
        ),
        (
            "redis://:hunter22@10.0.0.5:6379/0 up",
            "[CONNECTION_STRING_1] up",
        ),
    ] {
        let report = engine.analyze(text, &rules, &|| 0);
        let told = report.dataclean.cleaned_text.as_deref();
        assert_eq!(told, Some(cleaned), "{text}");
    }
}
