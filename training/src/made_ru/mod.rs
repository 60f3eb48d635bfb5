//! Russian sentences made for training: frames of our own, filled with declined names, organizations
//! and places; and sentences without any, full of capitals.

mod companies;
mod declension;
mod words;

use crate::corpus::Doc;
use crate::random::Random;
use crate::read;
use companies::company;
use declension::{Case, first, patronymic, surname};
use monitor_detect::training::crf::model::{COMPANY, NAME, PLACE};
use std::path::Path;
use words::{CODES, JOBS, OBJECTS, ORDERS, TOWNS, WARES};

const SENTENCES: usize = 6_000;

struct Person {
    first: String,
    middle: String,
    last: String,
    woman: bool,
}

struct Stock {
    first: [Vec<String>; 2],
    middle: [Vec<String>; 2],
    last: [Vec<String>; 2],
}

pub fn docs(data: &Path) -> Vec<Doc> {
    let stock = stock(&data.join("russiannames"));
    let mut random = Random::new(43);
    let frames: Vec<String> = FRAMES
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.replace("\\n", "\n"))
        .collect();
    (0..SENTENCES)
        .map(|_| {
            let frame = &frames[random.below(frames.len())];
            let mut doc = fill(frame, &stock, &mut random);
            doc.weight = 0.5;
            if random.chance(0.12) {
                Doc {
                    text: doc.text.to_lowercase(),
                    ..doc
                }
            } else {
                doc
            }
        })
        .collect()
}

fn stock(folder: &Path) -> Stock {
    let rows = |file: &str| -> Vec<Vec<String>> {
        let text = read::text(&folder.join(file));
        text.lines()
            .skip(1)
            .map(|line| line.split('\t').map(str::to_owned).collect())
            .collect()
    };
    let by = |rows: &[Vec<String>], most: usize| -> [Vec<String>; 2] {
        ["m", "f"].map(|gender| {
            let kept = rows.iter().filter(|row| {
                row[1] == gender
                    && row[0].chars().count() > 2
                    && row[0].chars().all(char::is_alphabetic)
            });
            kept.take(most).map(|row| row[0].clone()).collect()
        })
    };
    let surnames = rows("surnames.tsv.gz");
    let known = surnames
        .iter()
        .filter(|row| row.len() > 3 && !row[3].is_empty() && row[0].chars().count() > 3);
    let pairs: Vec<_> = known.take(40_000).collect();
    Stock {
        first: by(&rows("names.tsv.gz"), 900),
        middle: by(&rows("midnames.tsv.gz"), 400),
        last: [
            pairs.iter().map(|row| row[0].clone()).collect(),
            pairs.iter().map(|row| row[3].clone()).collect(),
        ],
    }
}

fn person(stock: &Stock, random: &mut Random) -> Person {
    let gender = random.below(2);
    // Frequent names are drawn more often.
    let pick = |random: &mut Random, from: &[String]| {
        let most = if random.chance(0.5) {
            from.len().min(60)
        } else {
            from.len()
        };
        from[random.below(most)].clone()
    };
    Person {
        first: pick(random, &stock.first[gender]),
        middle: pick(random, &stock.middle[gender]),
        last: stock.last[gender][random.below(stock.last[gender].len())].clone(),
        woman: gender == 1,
    }
}

fn fill(frame: &str, stock: &Stock, random: &mut Random) -> Doc {
    let mut doc = Doc::default();
    let mut rest = frame;
    while let Some((before, after)) = rest.split_once('{') {
        let (slot, after) = after.split_once('}').expect("slot");
        doc.text.push_str(before);
        let (kind, case) = slot.split_once(':').unwrap_or((slot, "n"));
        let case = match case {
            "g" => Case::Genitive,
            "d" => Case::Dative,
            "i" => Case::Instrumental,
            "a" => Case::Accusative,
            _ => Case::Nominative,
        };
        let (value, label) = match kind {
            "N" => (full(&person(stock, random), case, random), Some(NAME)),
            "F" => {
                let person = person(stock, random);
                (first(&person.first, person.woman, case), Some(NAME))
            }
            "L" => {
                let person = person(stock, random);
                (surname(&person.last, person.woman, case), Some(NAME))
            }
            "C" => (company(stock, random), Some(COMPANY)),
            "P" => ((*random.pick(TOWNS)).to_owned(), Some(PLACE)),
            "V" => (
                (*random.pick(&ORDERS.split_whitespace().collect::<Vec<_>>())).to_owned(),
                None,
            ),
            "O" => ((*random.pick(OBJECTS)).to_owned(), None),
            "X" => ((*random.pick(CODES)).to_owned(), None),
            "W" => ((*random.pick(WARES)).to_owned(), None),
            "J" => ((*random.pick(JOBS)).to_owned(), None),
            _ => (format!("{}", 1 + random.below(9000)), None),
        };
        let start = doc.text.len();
        doc.text.push_str(&value);
        doc.spans
            .extend(label.map(|label| (label, start, doc.text.len())));
        rest = after;
    }
    doc.text.push_str(rest);
    doc
}

fn full(person: &Person, case: Case, random: &mut Random) -> String {
    let first = first(&person.first, person.woman, case);
    let last = surname(&person.last, person.woman, case);
    let middle = patronymic(&person.middle, person.woman, case);
    let letter = |name: &str| name.chars().next().unwrap_or('А');
    let (a, b) = (letter(&person.first), letter(&person.middle));
    match random.below(12) {
        0 => format!("{last} {a}. {b}."),
        1 => format!("{last} {a}.{b}."),
        2 => format!("{a}. {b}. {last}"),
        3 => format!("{a}.{b}. {last}"),
        4 => format!("{a}. {last}"),
        5 | 6 => format!("{last} {first} {middle}"),
        7 => format!("{first} {middle} {last}"),
        8 => format!("{last} {first}"),
        9 => format!("{first} {middle}"),
        _ => format!("{first} {last}"),
    }
}

/// Sentences with slots, one a line; `\n` is the end of a line.
const FRAMES: &str = include_str!("../../data/frames_ru.txt");
