//! Names of English organizations.

use super::stock::Stock;
use crate::random::Random;

pub(super) fn company(stock: &Stock, random: &mut Random) -> String {
    let last = |random: &mut Random| random.pick(&stock.last).clone();
    let (a, b, c) = (last(random), last(random), last(random));
    match random.below(12) {
        0 => format!("{a}, {b} and {c}"),
        1 => format!("{a}-{b}"),
        2 => format!(
            "{a} {}",
            random.pick(&[
                "LLC", "Inc", "Ltd", "PLC", "Group", "and Sons", "& Co.", "GmbH", "Inc."
            ])
        ),
        3 => format!("{a} & {b}"),
        4 => {
            let suffix = random.pick(&[
                "Bank",
                "Systems",
                "Partners",
                "Holdings",
                "Labs",
                "Airlines",
                "Insurance",
                "Logistics",
                "Media",
            ]);
            format!("{} {suffix}", random.pick(WORDS))
        }
        5 => format!(
            "{} {} {}",
            random.pick(WORDS),
            random.pick(WORDS),
            random.pick(&["Corp.", "Inc.", "Ltd", "LLC", "Corporation"])
        ),
        _ => random.pick(&stock.companies).clone(),
    }
}

const WORDS: &[&str] = &[
    "Blue",
    "Northern",
    "Summit",
    "Apex",
    "Global",
    "Pacific",
    "Silver",
    "Granite",
    "Quantum",
    "Evergreen",
    "Vertex",
    "Pioneer",
    "Harbor",
    "Cedar",
    "Bright",
    "United",
    "First",
    "Delta",
    "Atlas",
    "Crystal",
    "Iron",
    "Lunar",
    "Solar",
    "Prime",
    "Nova",
    "Coastal",
    "Metro",
    "Digital",
    "Green",
    "Royal",
    "Falcon",
    "Orion",
    "Redwood",
    "Stone",
];
