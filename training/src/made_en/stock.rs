//! What slots of English sentences are filled with, read from the data folder.

use crate::read;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// What slots are filled with.
pub(super) struct Stock {
    pub(super) first: Vec<String>,
    pub(super) last: Vec<String>,
    pub(super) companies: Vec<String>,
    pub(super) cities: Vec<String>,
}

pub(super) fn stock(data: &Path) -> Stock {
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

pub(super) fn templates(data: &Path) -> Vec<String> {
    let text = read::text(&data.join("presidio-research/templates.txt"));
    text.lines()
        .filter(|line| line.contains("{{"))
        .map(|line| line.replace("\\n", "\n").replace("\\,", ","))
        .collect()
}

pub(super) fn capital(name: &str) -> String {
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

const CITIES: &str = "London, Paris, Berlin, New York, Los Angeles, Chicago, Houston, Madrid, Rome, Tokyo, Sydney, Toronto, Moscow, Vienna, Prague, Warsaw, Lisbon, Dublin, Oslo, Helsinki, Amsterdam, Brussels, Athens, Istanbul, Cairo, Mumbai, Delhi, Beijing, Shanghai, Seoul, Singapore, Bangkok, Boston, Seattle, Denver, Austin, Dallas, Miami, Atlanta, Phoenix, Manchester, Leeds, Bristol, Glasgow, Munich, Hamburg, Milan, Naples, Barcelona, Germany, France, Italy, Spain, Canada, Australia, Japan, China, India, Brazil, Mexico, Russia, Sweden, Norway, Poland, United States, United Kingdom, California, Texas";
const WORLD_LAST: &str = "Müller Schmidt Fischer Weber Dubois Lefèvre Moreau García Fernández Rossi Bianchi Novák Svoboda Kowalski Wiśniewski Nagy Szabó Horváth Popescu Ionescu Jovanović Petrović Nielsen Hansen Johansson Lindqvist Virtanen Korhonen Silva Santos Oliveira Tanaka Suzuki Yamamoto Kim Park Nguyen Tran Wang Li Zhang Chen Singh Patel Sharma Khan Ali Hussain Okafor Mensah Mbeki Cohen Levi Yılmaz Kaya Papadopoulos Ivanova Smirnova Kuznetsova Petrova Shevchenko Bondarenko Þórsson Ōno Čapek Łukasz Żak Đorđević Åkesson Øster Ñíguez Kovács Tóth Varga Krüger Schäfer Böhm";
const WORLD_FIRST: &str = "Jürgen François Zoë José María Jesús Miloš Tomáš Péter István László Øyvind Søren Åsa Björn Łukasz Paweł Małgorzata Agnieszka Giulia Matteo Lucía Íñigo João Inês Nuno Yuki Haruto Sakura Min-jun Wei Ling Xiu Priya Arjun Rahul Ananya Mohammed Fatima Aisha Omar Chinedu Amara Kwame Olga Dmitri Svetlana Natalia Sergei Ivan Ekaterina Mehmet Ayşe Eleni Giorgos Ion Elena Bogdan Zlatan Marija Goran";
