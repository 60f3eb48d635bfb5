//! Judging a growing text (CONTRACT 41): whatever follows, what is settled stays as it was found.

use monitor_detect::{LocalDetectors, PatternName, Span};
use std::path::Path;

/// Parts of texts that touch each other in every way: labels before and behind, numbers in groups,
/// addresses, other alphabets, characters of four bytes.
const PARTS: &[&str] = &[
    "ИНН ",
    "7752601811",
    "778190937816",
    "77 52 601811",
    "/770701001",
    " / 770701",
    " (ИНН)",
    " - это ИНН компании ",
    "СНИЛС ",
    "777-741-215 45",
    "53888539361",
    "808-414-852 07",
    "2200 1244 6450 7773",
    "4276549360344563",
    "371432466573959",
    "карта ",
    "заказ ",
    "тел. ",
    "+7 912 345-67-89",
    "8 (495) 123-45-67",
    "89161234567",
    "(495) 123-45-67",
    "455 6186",
    "123-45-67",
    " office",
    " x123",
    "x12",
    "call ",
    " рублей",
    "10.0.0.1",
    "8.8.8.8",
    "версия ",
    "2001:db8::1",
    "fe80::1%eth0",
    "12:30",
    "адрес:",
    "ivan.petrov+1@mail.example.ru",
    "почта@пример.рф",
    "a@b.ru.Жду",
    "git@host.org:team",
    "https://u:p@host.ru/",
    "o'brien@mail.ie",
    "@",
    ".",
    ",",
    " ",
    "  ",
    "\n",
    ";",
    "-",
    "+",
    "(",
    ")",
    "/",
    ":",
    "'",
    "x",
    "😀",
    "é",
    "слово ",
    "word ",
    "dad ",
    "это было давно и неправда ",
    "1",
    "42",
    "2024",
    "до ",
    "by ",
    "с ",
    "5 мая",
    " 2024 г.",
    "12.03.2025",
    " и ",
    " по ",
    "срок ",
    "May 5",
    "th",
    " тыс. ",
    "руб.",
    "$",
    "€5",
    "1 000",
    "полтора ",
    "миллиона ",
    "дня",
    "часа ",
    "two weeks",
    "PT5M",
    "2024-05-03T10:15",
    ":00Z",
    "XIX в.",
    "в пятницу",
    "конца ",
    "до н. э.",
    "1234567890123456789012345",
    "deadbeef",
    "КПП ",
    " (КПП)",
    "7814AB001",
    "ОГРН ",
    "1037749746506",
    "316776176031372",
    "паспорт ",
    "passport ",
    "45 08",
    "4508",
    " № ",
    " номер ",
    "123456",
    "AB ",
    "K1234567",
    " выдан",
    "CVC ",
    "123",
    " (CVC)",
    " is my cvv",
    " код безопасности",
    " 12/26 ",
    "Amex ",
    "CID ",
    "1234",
    "example.com",
    "docs.rs",
    "/path",
    ":80",
    "+tag",
    "_",
    "https://",
    "пример.рф",
    "..",
    "\u{200b}",
    "ехаm",
    "ИH",
    "Н ",
    "7 7 5 2 ",
    "6 0 1 8 1 1",
    "１２",
    "1\u{336}",
];

/// Numbers that come in the same order in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn generated(count: usize) -> Vec<String> {
    let mut random = Random(0x5eed);
    let mut text = || {
        let parts = 2 + random.below(7);
        let part = |_| PARTS[random.below(PARTS.len())];
        (0..parts).map(part).collect::<String>()
    };
    (0..count).map(|_| text()).collect()
}

/// The rows of a pattern's fixture.
fn rows(name: PatternName) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pii");
    let file = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
    let table: toml::Table = toml::from_str(&file).unwrap();
    let rows = ["positive", "negative"].map(|kind| table[kind].as_array().unwrap());
    let texts = rows.into_iter().flatten().map(|row| row["text"].as_str());
    texts.map(|text| text.unwrap().to_owned()).collect()
}

/// Every row of the fixtures, and some behind another.
fn fixtures() -> Vec<String> {
    let mut texts: Vec<String> = LocalDetectors::new().names().flat_map(rows).collect();
    let pairs = texts.windows(2).step_by(5).map(|two| two.join(" "));
    let pairs: Vec<String> = pairs.collect();
    texts.extend(pairs);
    texts
}

fn until(finds: &[Span], end: usize) -> Vec<Span> {
    let inside = finds.iter().filter(|find| find.end <= end);
    inside.copied().collect()
}

/// Checks every prefix of a text against the whole.
pub(super) fn check(local: &LocalDetectors, text: &str, among: &dyn Fn(PatternName) -> bool) {
    let whole = local.find(text, among);
    let mut before = 0;
    for (place, c) in text.char_indices() {
        let end = place + c.len_utf8();
        let prefix = &text[..end];
        let settled = local.stable_until(prefix, among);
        assert!(
            before <= settled && settled <= end,
            "{prefix:?}: {before} then {settled}"
        );
        assert!(text.is_char_boundary(settled), "{prefix:?}: {settled}");
        let crosses = |find: &&Span| find.start < settled && settled < find.end;
        assert_eq!(
            whole.iter().find(crosses),
            None,
            "{prefix:?} of {text:?}: {settled}"
        );
        let now = until(&local.find(prefix, among), settled);
        assert_eq!(
            now,
            until(&whole, settled),
            "{prefix:?} of {text:?}: {settled}"
        );
        before = settled;
    }
}

#[test]
fn what_is_settled_in_a_prefix_is_what_the_whole_text_says() {
    let local = LocalDetectors::new();
    for text in fixtures().iter().chain(&generated(2500)) {
        check(&local, text, &|_| true);
    }
}

#[test]
fn each_pattern_alone_is_settled_on_its_own() {
    let local = LocalDetectors::new();
    for name in local.names() {
        for text in rows(name).iter().chain(&generated(150)) {
            check(&local, text, &|other| other == name);
        }
    }
}

#[test]
fn an_endless_number_or_word_does_not_hold_back_more_than_its_own_longest_find() {
    let local = LocalDetectors::new();
    for part in [
        "1 ",
        "12-",
        "7",
        "ab",
        "я",
        "a.",
        "ab:",
        "1.1.1.1.",
        "8 916 ",
        "5 мая ",
        "$5 ",
        "и ",
        "два ",
    ] {
        let text = part.repeat(2000);
        let held = text.len() - local.stable_until(&text, |_| true);
        assert!(held <= 300, "{part}: {held}");
    }
}
