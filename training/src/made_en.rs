//! English sentences made for training: frames of our own and the templates of the data folder,
//! filled with names, organisations, addresses and places.

use crate::corpus::{self, Doc};
use crate::model::{ADDRESS, COMPANY, NAME, PLACE};
use crate::random::Random;
use crate::read;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const SENTENCES: usize = 9_000;

/// What slots are filled with.
struct Stock {
    first: Vec<String>,
    last: Vec<String>,
    companies: Vec<String>,
    cities: Vec<String>,
}

pub fn docs(data: &Path) -> Vec<Doc> {
    let mut random = Random::new(41);
    let stock = stock(data);
    let mut frames: Vec<String> = FRAMES
        .lines()
        .map(|line| line.replace("\\n", "\n"))
        .collect();
    frames.retain(|line| !line.is_empty());
    let own = frames.len();
    frames.extend(templates(data));
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

fn stock(data: &Path) -> Stock {
    let names = read::text(Path::new("data/names_en.tsv.gz"));
    let of = |kind: &str| -> Vec<String> {
        let lines = names.lines().filter_map(|line| line.split_once('\t'));
        lines
            .filter(|(found, _)| *found == kind)
            .map(|(_, name)| capital(name))
            .collect()
    };
    let (mut first, mut last) = (of("first"), of("last"));
    last.truncate(20_000);
    let text = read::text(&data.join("russiannames/surnames.tsv.gz"));
    last.extend(
        text.lines()
            .skip(1)
            .step_by(60)
            .take(2500)
            .map(|line| latin(line.split('\t').next().unwrap_or_default())),
    );
    let text = read::text(&data.join("russiannames/names.tsv.gz"));
    first.extend(
        text.lines()
            .skip(1)
            .take(500)
            .map(|line| latin(line.split('\t').next().unwrap_or_default())),
    );
    last.extend(
        WORLD_LAST
            .split_whitespace()
            .cycle()
            .take(4000)
            .map(str::to_owned),
    );
    first.extend(
        WORLD_FIRST
            .split_whitespace()
            .cycle()
            .take(2000)
            .map(str::to_owned),
    );
    let rows = read::text(&data.join("presidio-research/generated_large.json"));
    let rows: Value = serde_json::from_str(&rows).expect("JSON");
    let mut cities = BTreeSet::new();
    for span in rows
        .as_array()
        .expect("rows")
        .iter()
        .flat_map(|row| row["spans"].as_array().expect("spans"))
    {
        let value = span["entity_value"].as_str().unwrap_or_default();
        if span["entity_type"] == "LOCATION" && value.chars().next().is_some_and(char::is_uppercase)
        {
            cities.insert(value.to_owned());
        }
    }
    cities.extend(CITIES.split(',').map(|city| city.trim().to_owned()));
    let companies = read::text(&data.join("presidio-research/companies_and_organizations.csv"));
    let companies = companies
        .lines()
        .skip(1)
        .map(|line| line.trim().trim_matches('"').to_owned());
    Stock {
        first,
        last,
        companies: companies
            .filter(|name| name.len() > 2 && name.len() < 50)
            .collect(),
        cities: cities.into_iter().collect(),
    }
}

fn templates(data: &Path) -> Vec<String> {
    let text = read::text(&data.join("presidio-research/templates.txt"));
    text.lines()
        .filter(|line| line.contains("{{"))
        .map(|line| line.replace("\\n", "\n").replace("\\,", ","))
        .collect()
}

fn capital(name: &str) -> String {
    let mut chars = name.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + chars.as_str())
        .unwrap_or_default()
}

fn latin(name: &str) -> String {
    const LETTERS: [&str; 32] = [
        "a", "b", "v", "g", "d", "e", "zh", "z", "i", "y", "k", "l", "m", "n", "o", "p", "r", "s",
        "t", "u", "f", "kh", "ts", "ch", "sh", "shch", "", "y", "", "e", "yu", "ya",
    ];
    let letter = |c: char| match c {
        'а'..='я' => LETTERS[c as usize - 'а' as usize],
        'ё' => "e",
        _ => "",
    };
    capital(&name.to_lowercase().chars().map(letter).collect::<String>())
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
        "state_abbr" => ((*random.pick(STATES)).to_owned(), Some(ADDRESS)),
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

fn company(stock: &Stock, random: &mut Random) -> String {
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

fn street(stock: &Stock, random: &mut Random) -> String {
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

fn flat(random: &mut Random) -> String {
    let number = 1 + random.below(990);
    format!(
        "{} {number}",
        random.pick(&["Apt.", "Suite", "Unit", "Flat", "Apt", "Floor", "#", "Room"])
    )
}

fn address(stock: &Stock, random: &mut Random) -> String {
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

const STATES: &[&str] = &[
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
const PRODUCTS: &[&str] = &[
    "Windows",
    "Excel",
    "Python",
    "Kubernetes",
    "PostgreSQL",
    "JavaScript",
    "Rust",
    "Linux",
    "Docker",
    "Photoshop",
    "Outlook",
    "Android",
    "Word",
    "PowerPoint",
    "React",
    "Git",
    "Bash",
    "Terraform",
    "Chrome",
    "MacBook",
    "iPhone",
];
const CITIES: &str = "London, Paris, Berlin, New York, Los Angeles, Chicago, Houston, Madrid, Rome, Tokyo, Sydney, Toronto, Moscow, Vienna, Prague, Warsaw, Lisbon, Dublin, Oslo, Helsinki, Amsterdam, Brussels, Athens, Istanbul, Cairo, Mumbai, Delhi, Beijing, Shanghai, Seoul, Singapore, Bangkok, Boston, Seattle, Denver, Austin, Dallas, Miami, Atlanta, Phoenix, Manchester, Leeds, Bristol, Glasgow, Munich, Hamburg, Milan, Naples, Barcelona, Germany, France, Italy, Spain, Canada, Australia, Japan, China, India, Brazil, Mexico, Russia, Sweden, Norway, Poland, United States, United Kingdom, California, Texas";
const WORLD_LAST: &str = "Müller Schmidt Fischer Weber Dubois Lefèvre Moreau García Fernández Rossi Bianchi Novák Svoboda Kowalski Wiśniewski Nagy Szabó Horváth Popescu Ionescu Jovanović Petrović Nielsen Hansen Johansson Lindqvist Virtanen Korhonen Silva Santos Oliveira Tanaka Suzuki Yamamoto Kim Park Nguyen Tran Wang Li Zhang Chen Singh Patel Sharma Khan Ali Hussain Okafor Mensah Mbeki Cohen Levi Yılmaz Kaya Papadopoulos Ivanova Smirnova Kuznetsova Petrova Shevchenko Bondarenko Þórsson Ōno Čapek Łukasz Żak Đorđević Åkesson Øster Ñíguez Kovács Tóth Varga Krüger Schäfer Böhm";
const WORLD_FIRST: &str = "Jürgen François Zoë José María Jesús Miloš Tomáš Péter István László Øyvind Søren Åsa Björn Łukasz Paweł Małgorzata Agnieszka Giulia Matteo Lucía Íñigo João Inês Nuno Yuki Haruto Sakura Min-jun Wei Ling Xiu Priya Arjun Rahul Ananya Mohammed Fatima Aisha Omar Chinedu Amara Kwame Olga Dmitri Svetlana Natalia Sergei Ivan Ekaterina Mehmet Ayşe Eleni Giorgos Ion Elena Bogdan Zlatan Marija Goran";
const ORDERS: &str = "Describe Rewrite Convert Explain Summarise Summarize Translate List Write Create Generate Find Fix Give Tell Show Compare Classify Extract Imagine Pretend Act Provide Suggest Make Compose Design Develop Outline Identify Discuss Analyze Answer Calculate Draft Edit Improve Help Ignore Forget Repeat Print Sort Remove Add Replace Plan Evaluate Predict Recommend Simplify";
const CODES: &[&str] = &[
    "Room", "Order", "Error", "Ticket", "Version", "Flight", "Invoice", "Status", "Code", "Page",
    "Chapter", "IMEI", "ISBN", "Hash", "Commit", "Build", "Port", "Line", "Step", "Tracking",
    "Serial", "Account", "CVV", "SKU", "Case", "Bus", "Level",
];
const THINGS: &[&str] = &[
    "the following text",
    "this sentence",
    "a short story",
    "the main idea",
    "three examples",
    "a list of movies",
    "a poem about autumn",
    "the code below",
    "an essay on climate change",
    "a marketing plan",
    "the benefits of exercise",
    "ways to save money",
    "the plot of the novel",
    "a SQL query",
    "a job description",
    "the history of jazz",
    "legitimate strategies",
    "a dialogue between two friends",
    "the rules of chess",
    "a secret hideout",
    "a fictional city",
];
/// Sentences with slots, one a line; `\n` is the end of a line.
const FRAMES: &str = include_str!("../data/frames_en.txt");
