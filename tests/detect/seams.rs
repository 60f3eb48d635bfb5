//! Values over the places where a message was put together or is read in portions: they are found however much
//! of them nobody sees, and what two sentences only happen to make is none.

use monitor_detect::{CleanType, Compiled, DatacleanRules, Engine, Message, Rules};

/// Type and text of every find in a message of these parts.
fn finds(parts: &[String]) -> Vec<(String, String)> {
    let text = parts.join("\n");
    let mut part_breaks = Vec::new();
    for part in &parts[..parts.len() - 1] {
        part_breaks.push(part_breaks.last().map_or(0, |last| last + 1) + part.len());
    }
    let rules = Compiled::new(Rules {
        dataclean: Some(DatacleanRules {
            clean_type: CleanType::Detection,
            ..DatacleanRules::default()
        }),
        ..Rules::default()
    });
    let message = Message {
        text: &text,
        part_breaks: &part_breaks,
    };
    let report = Engine::default().analyze(message, &rules, &|| 0);
    let cut = |start: usize, end: usize| text.chars().skip(start).take(end - start).collect();
    let entities = report.dataclean.entities.iter();
    entities
        .map(|find| (find.kind.to_string(), cut(find.start, find.end)))
        .collect()
}

fn owned(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

#[test]
fn a_value_split_behind_a_dot_is_found() {
    for (parts, kind, value) in [
        (
            &["write to ivan@example.", "org please"][..],
            "EMAILS",
            "ivan@example.\norg",
        ),
        (
            &["write to ivan@mail.", "example.", "org please"],
            "EMAILS",
            "ivan@mail.\nexample.\norg",
        ),
        (
            &["the server 10.20.", "30.40 is down"],
            "IP",
            "10.20.\n30.40",
        ),
        (
            &["the server 10.", "20.", "30.", "40 is down"],
            "IP",
            "10.\n20.\n30.\n40",
        ),
        (
            &["call me: +7 912 345.", "67.89"],
            "PHONE_NUMBER",
            "+7 912 345.\n67.89",
        ),
    ] {
        let found = finds(&owned(parts));
        assert!(
            found.contains(&(kind.to_owned(), value.to_owned())),
            "{parts:?}: {found:?}"
        );
    }
    for parts in [
        ["Please read the file report.", "so that we can talk"],
        ["We were 17.", "It was cold"],
        ["Ask ivan@example.org.", "Please do it today"],
    ] {
        let found = finds(&owned(&parts));
        assert!(
            found.iter().all(|(_, value)| !value.contains('\n')),
            "{parts:?}: {found:?}"
        );
    }
}

#[test]
fn what_nobody_sees_separates_no_value_at_a_border() {
    let unseen = "\u{200b}\u{ad}\u{2060}".repeat(600);
    let card = format!("4276{unseen} 5493 60{unseen}34 4563");
    let found = |parts: &[String]| {
        let found = finds(parts).into_iter();
        found.filter(|(kind, _)| kind == "BANK_CARD_NUMBER").count()
    };
    // Wherever the first border of portions falls.
    for head in (42_000..58_000).step_by(1_600) {
        let text = format!("{} {card} and more", "word ".repeat(head / 5));
        assert_eq!(found(&[text]), 1, "{head}");
    }
    let parts = |between: &str| {
        let (head, tail) = (
            format!("card 4276 5493{between}"),
            format!("{between} 6034 4563"),
        );
        [head, tail]
    };
    assert_eq!(found(&parts(&unseen)), 1);
    let [head, tail] = parts("");
    let empty = vec![String::new(); 3_000];
    assert_eq!(found(&[vec![head], empty, vec![tail]].concat()), 1);
}

#[test]
fn a_value_over_three_parts_is_found_wherever_it_stands_among_thousands() {
    let filler: Vec<String> = (0..4_000).map(|at| format!(" some words {at}x ")).collect();
    for at in (3_300..3_700).step_by(7) {
        let mut parts = filler.clone();
        parts[at] = "card 4276 5493".to_owned();
        parts[at + 1] = " 6034".to_owned();
        parts[at + 2] = " 4563".to_owned();
        let found = finds(&parts);
        let expected = (
            "BANK_CARD_NUMBER".to_owned(),
            "4276 5493\n 6034\n 4563".to_owned(),
        );
        assert!(found.contains(&expected), "{at}");
    }
}

#[test]
fn a_break_is_a_border_to_one_value_and_nothing_to_another() {
    let card = ["4276 5493 60", "34 4563"];
    let value = "4276 5493 60\n34 4563";
    for (before, behind) in [
        (&["My card is"][..], &[][..]),
        (&[], &["thanks"]),
        (&["My card is"], &["please charge it"]),
        (&["I want 2"], &["1 time"]),
        (&["1234 "], &[" 5678"]),
        (&["it costs $"], &["%"]),
        (&["ref_"], &["_x"]),
        (&["one", "two", "3"], &["4", "five", "six"]),
        (&["Моя карта"], &["спасибо"]),
    ] {
        let found = finds(&owned(&[before, &card, behind].concat()));
        let expected = ("BANK_CARD_NUMBER".to_owned(), value.to_owned());
        assert!(
            found.contains(&expected),
            "{before:?} {behind:?}: {found:?}"
        );
    }
    for (parts, kind, value) in [
        (
            &["call 2", "+7 912 345", "-67-89", "1 time"][..],
            "PHONE_NUMBER",
            "+7 912 345\n-67-89",
        ),
        (
            &["call me", "8 916 123", "-45-67", "now"],
            "PHONE_NUMBER",
            "8 916 123\n-45-67",
        ),
        (
            &["write to:", "anna@exam", "ple.c", "om", "4 times"],
            "EMAILS",
            "anna@exam\nple.c\nom",
        ),
        (
            &["my INN is", "77526", "01811", "ok"],
            "INN",
            "77526\n01811",
        ),
        (
            &["СНИЛС 777-741", "-215 45", "вот"],
            "SNILS",
            "777-741\n-215 45",
        ),
        (
            &["the server", "10.20", ".30.40", "is down"],
            "IP",
            "10.20\n.30.40",
        ),
    ] {
        let found = finds(&owned(parts));
        let expected = (kind.to_owned(), value.to_owned());
        assert!(found.contains(&expected), "{parts:?}: {found:?}");
    }
    // Digit by digit, between digits.
    let digits: Vec<String> = "2 4276549360344563 2"
        .split(' ')
        .flat_map(|word| match word.len() {
            1 => vec![word.to_owned()],
            _ => word.chars().map(String::from).collect(),
        })
        .collect();
    let found = finds(&digits);
    assert!(
        found.iter().any(|(kind, _)| kind == "BANK_CARD_NUMBER"),
        "{found:?}"
    );
}

#[test]
fn a_part_of_blanks_separates_no_value() {
    for blank in [" ", "\n", " \t", "\u{a0}", " \u{200b} "] {
        for parts in [
            &["4276 5493 60", blank, "34 4563"][..],
            &["4276 5493 ", blank, "6034 4563"],
            &[
                "my card is",
                blank,
                "4276 5493 60",
                blank,
                "",
                blank,
                "34 4563",
                "ok",
            ],
        ] {
            let found = finds(&owned(parts));
            let card = found.iter().find(|(kind, _)| kind == "BANK_CARD_NUMBER");
            assert!(card.is_some(), "{parts:?}: {found:?}");
        }
    }
    let apart = finds(&owned(&["4276 5493", " ", "6034 4563"]));
    assert!(apart.iter().any(|(kind, _)| kind == "BANK_CARD_NUMBER"));
}

#[test]
fn what_stands_beside_a_break_is_no_value() {
    for parts in [
        &["in 4276", "5493 rows", "6034 columns", "4563 cells"][..],
        &["one", "two", "three", "2024", "01", "15"],
        &["We are 5", "at table 12", "since 10", "30"],
    ] {
        let found = finds(&owned(parts));
        let across = found.iter().any(|(_, value)| value.contains('\n'));
        assert!(!across, "{parts:?}: {found:?}");
    }
}
