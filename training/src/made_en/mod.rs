//! English sentences made for training: frames of our own and the templates of the data folder,
//! filled with names, organizations, addresses and places.

mod companies;
mod places;
mod stock;
mod words;

use crate::corpus::{self, Doc};
use crate::random::Random;
use companies::company;
use monitor_detect::training::crf::model::{ADDRESS, COMPANY, NAME, PLACE};
use places::{address, flat, street};
use std::path::Path;
use stock::{Stock, capital};
use words::{CODES, ORDERS, PRODUCTS, THINGS};

const SENTENCES: usize = 9_000;

pub fn docs(data: &Path) -> Vec<Doc> {
    let mut random = Random::new(41);
    let stock = stock::stock(data);
    let mut frames: Vec<String> = FRAMES
        .lines()
        .map(|line| line.replace("\\n", "\n"))
        .collect();
    frames.retain(|line| !line.is_empty());
    let own = frames.len();
    frames.extend(stock::templates(data));
    let mut out = Vec::new();
    for at in 0..SENTENCES {
        // Every second one is a frame of our own.
        let place = if at % 2 == 0 {
            random.below(own)
        } else {
            own + random.below(frames.len() - own)
        };
        let mut doc = fill(&frames[place], &stock, &mut random);
        doc.group = if place < own {
            String::new()
        } else {
            corpus::bare(&frames[place])
        };
        doc.weight = 0.6;
        out.push(match random.below(8) {
            0 => lower(doc),
            1 => upper_names(doc),
            _ => doc,
        });
    }
    out
}

/// A frame with its slots filled; what belongs to one address is one stretch.
fn fill(frame: &str, stock: &Stock, random: &mut Random) -> Doc {
    let mut doc = Doc::default();
    let mut rest = frame;
    while let Some((before, after)) = rest.split_once("{{") {
        let (slot, after) = after.split_once("}}").expect("slot");
        doc.text.push_str(before);
        let (value, label) = value(slot, stock, random);
        let start = doc.text.len();
        doc.text.push_str(&value);
        let end = doc.text.len();
        let joins = matches!(
            slot,
            "secondary_address"
                | "city"
                | "country"
                | "postcode"
                | "state_abbr"
                | "zipcode"
                | "street_name"
        );
        match doc.spans.last_mut() {
            Some((ADDRESS, _, last))
                if joins
                    && doc.text[*last..start]
                        .chars()
                        .all(|c| c.is_whitespace() || ",>?".contains(c)) =>
            {
                *last = end;
            }
            _ => doc.spans.extend(label.map(|label| (label, start, end))),
        }
        rest = after;
    }
    doc.text.push_str(rest);
    doc
}

fn value(slot: &str, stock: &Stock, random: &mut Random) -> (String, Option<usize>) {
    let first = random.pick(&stock.first).clone();
    let last = last_name(stock, random);
    let digits = |random: &mut Random, count: usize| {
        (0..count)
            .map(|_| char::from(b'0' + random.below(10) as u8))
            .collect::<String>()
    };
    match slot {
        "person" | "name" | "name_male" | "name_female" => {
            let full = match random.below(12) {
                0 => format!(
                    "{first} {}. {last}",
                    capital(&first).chars().next().unwrap_or('J')
                ),
                1 => format!("{}. {last}", first.chars().next().unwrap_or('J')),
                2 => format!("{first} {} {last}", random.pick(&stock.first)),
                3 => format!(
                    "{first} {last} {}",
                    random.pick(&["Jr.", "MD", "Sr.", "PhD", "III"])
                ),
                _ => format!("{first} {last}"),
            };
            (full, Some(NAME))
        }
        slot if slot.starts_with("first_name") => (first, Some(NAME)),
        slot if slot.starts_with("last_name") => (last, Some(NAME)),
        "organization" | "company" => (company(stock, random), Some(COMPANY)),
        "city" | "country" => (random.pick(&stock.cities).clone(), Some(PLACE)),
        "address" => (address(stock, random), Some(ADDRESS)),
        "street_name" => (street(stock, random), Some(ADDRESS)),
        "building_number" => (
            digits(random, 2).trim_start_matches('0').to_owned() + "1",
            Some(ADDRESS),
        ),
        "secondary_address" => (flat(random), Some(ADDRESS)),
        "postcode" | "zipcode" => (digits(random, 5), Some(ADDRESS)),
        "state_abbr" => ((*random.pick(places::STATES)).to_owned(), Some(ADDRESS)),
        "prefix_male" => ((*random.pick(&["Mr.", "Dr.", "Mr"])).to_owned(), None),
        "prefix_female" => (
            (*random.pick(&["Mrs.", "Ms.", "Dr.", "Miss"])).to_owned(),
            None,
        ),
        "nationality" | "nation_woman" => (
            (*random.pick(&[
                "German", "French", "American", "Russian", "Polish", "Italian",
            ]))
            .to_owned(),
            None,
        ),
        "job" => (
            (*random.pick(&[
                "accountant",
                "Sales Manager",
                "engineer",
                "nurse",
                "Software Developer",
            ]))
            .to_owned(),
            None,
        ),
        "year" => (format!("19{}", digits(random, 2)), None),
        "age" => (digits(random, 2), None),
        "product" => ((*random.pick(PRODUCTS)).to_owned(), None),
        "order" => (
            (*random.pick(&ORDERS.split_whitespace().collect::<Vec<_>>())).to_owned(),
            None,
        ),
        "code" => ((*random.pick(CODES)).to_owned(), None),
        "thing" => ((*random.pick(THINGS)).to_owned(), None),
        "number" => (format!("{}", random.below(1_000_000)), None),
        "credit_card_number" => {
            let groups = match random.below(4) {
                0 => vec![16],
                1 => vec![4, 6, 5],
                2 => vec![15],
                _ => vec![4, 4, 4, 4],
            };
            let mark = *random.pick(&[" ", "-"]);
            (
                groups
                    .iter()
                    .map(|count| digits(random, *count))
                    .collect::<Vec<_>>()
                    .join(mark),
                None,
            )
        }
        "email" => (format!("{}@example.com", first.to_lowercase()), None),
        "url" => (format!("http://www.{}.com/", last.to_lowercase()), None),
        _ => (format!("{}-{}", digits(random, 3), digits(random, 5)), None),
    }
}

fn last_name(stock: &Stock, random: &mut Random) -> String {
    let last = random.pick(&stock.last).clone();
    match random.below(30) {
        0 => format!("{last}-{}", random.pick(&stock.last)),
        1 => format!(
            "{} {last}",
            random.pick(&["van", "de", "von", "Van der", "ten", "Del", "Mac", "di"])
        ),
        2 => format!("O'{last}"),
        3 => format!("Mc{last}"),
        _ => last,
    }
}

fn lower(doc: Doc) -> Doc {
    let text = doc.text.to_lowercase();
    if text.len() == doc.text.len() {
        Doc { text, ..doc }
    } else {
        doc
    }
}

fn upper_names(mut doc: Doc) -> Doc {
    for (label, start, end) in &doc.spans {
        let upper = doc.text[*start..*end].to_uppercase();
        if *label == NAME && upper.len() == end - start {
            doc.text.replace_range(*start..*end, &upper);
        }
    }
    doc
}

/// Sentences with slots, one a line; `\n` is the end of a line.
const FRAMES: &str = include_str!("../../data/frames_en.txt");
