//! The table of words: classes from the word vectors, and which lists a word stands in.

use crate::Options;
use crate::clusters::{self, Class};
use crate::data_file;
use crate::read;
use crate::run::WORDS;
use monitor_detect::training::crf::features::{fold, hash, stem_key, stem_length};
use monitor_detect::training::crf::table::{self, BUCKET_BITS, ENTRY, Entry, MAGIC, Table};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Names that are rarer than this in the register are left out.
const LEAST_FIRST: u64 = 8;
const LEAST_LAST: u64 = 20;
const COMMON_FIRST: u64 = 300;
/// Words up to this rank are common.
const COMMON_RANK: usize = 20_000;

const KINDS: &[&str] = &[
    "ооо",
    "оао",
    "зао",
    "пао",
    "ао",
    "нао",
    "гуп",
    "муп",
    "фгуп",
    "фгбу",
    "фгбоу",
    "гбу",
    "мбу",
    "мбоу",
    "анo",
    "ано",
    "нко",
    "ип",
    "тоо",
    "чоп",
    "тсж",
    "снт",
    "банк",
    "компания",
    "корпорация",
    "холдинг",
    "концерн",
    "фирма",
    "завод",
    "фабрика",
    "комбинат",
    "фонд",
    "институт",
    "университет",
    "академия",
    "школа",
    "колледж",
    "министерство",
    "минфин",
    "агентство",
    "комитет",
    "комиссия",
    "управление",
    "департамент",
    "служба",
    "совет",
    "дума",
    "парламент",
    "суд",
    "прокуратура",
    "полиция",
    "партия",
    "движение",
    "союз",
    "ассоциация",
    "федерация",
    "клуб",
    "команда",
    "театр",
    "музей",
    "больница",
    "поликлиника",
    "клиника",
    "газета",
    "журнал",
    "телеканал",
    "радиостанция",
    "издательство",
    "студия",
    "группа",
    "организация",
    "объединение",
    "общество",
    "центр",
    "лаборатория",
    "бюро",
    "администрация",
    "правительство",
    "мэрия",
    "посольство",
    "штаб",
    "армия",
    "флот",
    "церковь",
    "епархия",
    "магазин",
    "сеть",
    "биржа",
    "авиакомпания",
    "оператор",
    "трест",
    "предприятие",
    "учреждение",
    "кафедра",
    "факультет",
    "редакция",
    "лига",
    "inc",
    "ltd",
    "llc",
    "llp",
    "corp",
    "corporation",
    "company",
    "gmbh",
    "plc",
    "bank",
    "group",
    "holdings",
    "partners",
    "associates",
    "sons",
    "university",
    "institute",
    "college",
    "foundation",
    "agency",
    "ministry",
    "department",
    "committee",
    "association",
    "council",
    "hospital",
    "clinic",
    "school",
    "club",
    "society",
    "union",
    "systems",
    "technologies",
    "solutions",
    "industries",
    "enterprises",
    "labs",
    "laboratories",
    "software",
    "media",
    "capital",
    "ventures",
    "insurance",
    "airlines",
    "motors",
    "pharmaceuticals",
    "logistics",
    "consulting",
    "services",
    "co",
    "ag",
    "sa",
    "nv",
    "bv",
    "ab",
    "oy",
    "spa",
    "srl",
    "pty",
    "pte",
];

pub fn build(options: &Options) -> Vec<u8> {
    let mut entries: BTreeMap<u32, Entry> = BTreeMap::new();
    match &options.navec {
        Some(navec) => {
            let slovnet = options.data.join("slovnet/slovnet_ner_news_v1.tar");
            for class in clusters::classes(navec, &slovnet) {
                add_class(&mut entries, &class);
            }
        }
        None => keep_classes(&mut entries, &data_file::read(&options.out, WORDS)),
    }
    russian_names(&mut entries, &options.data);
    english_names(&mut entries);
    company_words(&mut entries, &options.data);
    diseases(&mut entries, &options.data);
    write(&entries)
}

fn key(hash: u64) -> u32 {
    ((hash >> (64 - BUCKET_BITS)) as u32) << 16 | u32::from(table::fingerprint(hash))
}

fn of(word: &str) -> u64 {
    hash(word.chars().map(fold))
}

fn stem_of(word: &str) -> u64 {
    let letters: Vec<char> = word.chars().map(fold).collect();
    stem_key(hash(letters[..stem_length(&letters)].iter().copied()))
}

fn flag(entries: &mut BTreeMap<u32, Entry>, hash: u64, flags: u16) {
    entries.entry(key(hash)).or_default().flags |= flags;
}

fn add_class(entries: &mut BTreeMap<u32, Entry>, class: &Class) {
    let entry = entries.entry(key(of(&class.word))).or_default();
    (entry.near, entry.role) = (class.near, class.role);
    if class.rank < COMMON_RANK {
        entry.flags |= table::COMMON;
    }
}

fn keep_classes(entries: &mut BTreeMap<u32, Entry>, bytes: &[u8]) {
    let rest = &bytes[MAGIC.len()..];
    let number = |at: usize| u32::from_le_bytes(rest[4 * at..4 * at + 4].try_into().unwrap());
    let body = &rest[4 * ((1 << BUCKET_BITS) + 1)..];
    for bucket in 0..1 << BUCKET_BITS {
        for at in number(bucket)..number(bucket + 1) {
            let entry = &body[at as usize * ENTRY..(at as usize + 1) * ENTRY];
            let half = |at: usize| u16::from_le_bytes([entry[2 * at], entry[2 * at + 1]]);
            if half(1) != 0 {
                let kept = Entry {
                    near: half(1),
                    role: half(2),
                    flags: half(3) & table::COMMON,
                };
                entries.insert((bucket as u32) << 16 | u32::from(half(0)), kept);
            }
        }
    }
}

fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = read::text(path);
    text.lines()
        .skip(1)
        .map(|line| line.split('\t').map(str::to_lowercase).collect())
        .collect()
}

fn russian_names(entries: &mut BTreeMap<u32, Entry>, data: &Path) {
    let folder = data.join("russiannames");
    let count = |row: &[String]| row[2].parse::<u64>().unwrap_or(0);
    let mut first = |name: &str, common: bool| {
        let extra = if common { table::FIRST_COMMON } else { 0 };
        flag(entries, of(name), table::FIRST | extra);
        flag(entries, stem_of(name), table::FIRST_STEM | extra);
    };
    for row in rows(&folder.join("names.tsv.gz")) {
        if count(&row) >= LEAST_FIRST && row[0].chars().count() > 2 {
            first(&row[0], count(&row) >= COMMON_FIRST);
        }
    }
    for name in read::text(&data.join("natasha-dict/first.txt")).lines() {
        if name.chars().count() > 2 {
            first(name, false);
        }
    }
    for row in rows(&folder.join("midnames.tsv.gz")) {
        if count(&row) >= LEAST_FIRST {
            flag(entries, of(&row[0]), table::PATRONYMIC);
        }
    }
    for row in rows(&folder.join("surnames.tsv.gz")) {
        if count(&row) < LEAST_LAST || row[0].chars().count() < 3 {
            continue;
        }
        for form in [&row[0], &row[3]] {
            if form.len() > 4 {
                flag(entries, of(form), table::LAST);
                flag(entries, stem_of(form), table::LAST_STEM);
            }
        }
    }
}

fn english_names(entries: &mut BTreeMap<u32, Entry>) {
    let text = read::text(Path::new("data/names_en.tsv.gz"));
    for line in text.lines() {
        let (kind, name) = line.split_once('\t').expect("kind and name");
        match kind {
            "first" => flag(entries, of(name), table::FIRST),
            _ => flag(entries, of(name), table::LAST),
        }
    }
}

fn company_words(entries: &mut BTreeMap<u32, Entry>, data: &Path) {
    for kind in KINDS {
        flag(entries, of(kind), table::COMPANY_KIND);
        if kind.chars().any(|c| ('а'..='я').contains(&c)) && kind.chars().count() > 4 {
            flag(entries, stem_of(kind), table::COMPANY_KIND);
        }
    }
    let names = read::text(&data.join("presidio-research/companies_and_organizations.csv"));
    let mut seen = HashSet::new();
    for word in names
        .lines()
        .skip(1)
        .flat_map(|line| line.split(|c: char| !c.is_alphanumeric()))
    {
        if word.chars().count() > 2 && seen.insert(word.to_lowercase()) {
            flag(entries, of(word), table::COMPANY_WORD);
        }
    }
}

/// Words of the register of diseases that are no frequent words of the language.
fn diseases(entries: &mut BTreeMap<u32, Entry>, data: &Path) {
    let text = read::text(&data.join("mkb10/1.2.643.5.1.13.13.11.1005_2.27.csv.gz"));
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let name = line.split(';').nth(3).unwrap_or_default().to_lowercase();
        let code = line.split(';').nth(2).unwrap_or_default().trim_matches('"');
        if matches!(
            code.chars().next(),
            Some('V' | 'W' | 'X' | 'Y' | 'Z') | None
        ) {
            continue;
        }
        for word in name.split(|c: char| !c.is_alphabetic()) {
            *count.entry(word.to_owned()).or_default() += 1;
        }
    }
    for (word, _) in count {
        let known = entries
            .get(&key(of(&word)))
            .is_some_and(|entry| entry.flags & table::COMMON != 0);
        if word.chars().count() > 3 && !known {
            flag(entries, of(&word), table::DISEASE);
        }
    }
}

fn write(entries: &BTreeMap<u32, Entry>) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let mut counts = vec![0_u32; (1 << BUCKET_BITS) + 1];
    for key in entries.keys() {
        counts[(key >> 16) as usize + 1] += 1;
    }
    let mut total = 0;
    for count in counts {
        total += count;
        out.extend(total.to_le_bytes());
    }
    for (key, entry) in entries {
        for half in [*key as u16, entry.near, entry.role, entry.flags] {
            out.extend(half.to_le_bytes());
        }
    }
    eprintln!("words: {} entries, {} bytes", entries.len(), out.len());
    assert!(Table::new(&out).is_some());
    out
}
