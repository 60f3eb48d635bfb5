//! English streets and whole addresses.

use super::stock::Stock;
use crate::random::Random;

pub(super) fn street(stock: &Stock, random: &mut Random) -> String {
    let number = 1 + random.below(900);
    match random.below(5) {
        0 => format!(
            "{number} {} {}",
            random.pick(&["Rue", "Via", "Calle", "Avenida", "Rua", "ul.", "Boulevard"]),
            random.pick(&stock.last)
        ),
        1 => format!(
            "{}{} {number}",
            random.pick(&stock.last),
            random.pick(&["strasse", "straat", "gatan", "vej", "gata", "katu", "veien"])
        ),
        2 => format!(
            "{number} {} {}",
            random.pick(&["North", "East", "Old", "West", "New"]),
            random.pick(STREETS)
        ),
        _ => format!(
            "{number} {} {}",
            random.pick(&stock.last),
            random.pick(STREETS)
        ),
    }
}

pub(super) fn flat(random: &mut Random) -> String {
    let number = 1 + random.below(990);
    format!(
        "{} {number}",
        random.pick(&["Apt.", "Suite", "Unit", "Flat", "Apt", "Floor", "#", "Room"])
    )
}

pub(super) fn address(stock: &Stock, random: &mut Random) -> String {
    let digits = |random: &mut Random, count: usize| {
        (0..count)
            .map(|_| char::from(b'0' + random.below(10) as u8))
            .collect::<String>()
    };
    let street = street(stock, random);
    let city = random.pick(&stock.cities).clone();
    let code = digits(random, 5);
    let state = *random.pick(STATES);
    match random.below(11) {
        0 => format!("{street}, {city}, {state} {code}"),
        1 => format!("{street}\n {}\n {city}\n {code}", flat(random)),
        2 => format!(
            "{}, {street}, {city} {}{} {}{}",
            flat(random),
            random.pick(&["SW", "BS", "LS", "EC", "M"]),
            random.below(20),
            random.below(9),
            random.pick(&["AA", "TR", "PU", "XD"])
        ),
        3 => format!(
            "{street} {} {city} {}",
            flat(random),
            random.pick(&stock.cities)
        ),
        4 => format!("{street}, {city}"),
        5 => format!("{street}"),
        6 => format!(
            "Unit {} Box {}\nDPO AP {code}",
            digits(random, 4),
            digits(random, 4)
        ),
        7 => format!(
            "PSC {}, Box {}\nAPO {} {code}",
            digits(random, 4),
            digits(random, 4),
            random.pick(&["AE", "AA", "AP"])
        ),
        8 => format!("P.O. Box {}, {city}, {state} {code}", digits(random, 4)),
        9 => format!("{street}\n{city}, {state} {code}"),
        _ => format!("{street}, {}, {city} {code}", flat(random)),
    }
}

pub(super) const STATES: &[&str] = &[
    "CA", "NY", "TX", "MA", "WA", "IL", "FL", "PA", "OH", "GA", "NC", "MI", "AZ", "CO",
];
const STREETS: &[&str] = &[
    "Street",
    "St",
    "St.",
    "Avenue",
    "Ave",
    "Road",
    "Rd",
    "Lane",
    "Drive",
    "Court",
    "Boulevard",
    "Blvd",
    "Way",
    "Place",
    "Square",
    "Terrace",
    "Crescent",
    "Highway",
    "Parkway",
    "Close",
    "Gardens",
    "Row",
    "Walk",
    "Hill",
];
