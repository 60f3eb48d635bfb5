//! Four numbers with dots that are a version or a section and no address: the words before them say it.

/// How far back a word such as "version" is looked for, in bytes.
const REACH: usize = 60;
const WORDS_BACK: usize = 3;

/// Beginnings of words that make four numbers a version or a section.
const VERSION_STEMS: &[&str] = &[
    "верси",
    "version",
    "релиз",
    "release",
    "сборк",
    "build",
    "прошивк",
    "firmware",
    "раздел",
    "параграф",
    "paragraph",
    "глав",
    "пункт",
    "section",
    "chapter",
    "clause",
    "драйвер",
    "driver",
];
/// The same, whole words.
const VERSION_WORDS: &[&str] = &["v", "ver", "вер", "п", "пп", "rev", "oid"];
/// Beginnings of words behind which a version is only talked about and an address follows.
const PLACES: &[&str] = &[
    "на",
    "at",
    "on",
    "from",
    "для",
    "for",
    "у",
    "адрес",
    "address",
    "ip",
    "сервер",
    "server",
    "host",
    "хост",
    "узл",
    "узел",
];
/// Verbs that make a number behind "to" or "до" a version.
const UPDATE_STEMS: &[&str] = &["обнов", "upgrad", "updat", "downgrad", "bump", "откат"];
const TO: &[&str] = &["до", "to"];

/// Whether the words before the number make it a version or a section.
pub(super) fn is_version(head: &str) -> bool {
    let near = head[head.floor_char_boundary(head.len().saturating_sub(REACH))..].trim_end();
    let parts = near
        .rsplit(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let (numbers, words): (Vec<&str>, Vec<&str>) = parts
        .take(WORDS_BACK + 4)
        .partition(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    let words: Vec<String> = words
        .into_iter()
        .take(WORDS_BACK)
        .map(str::to_lowercase)
        .collect();
    let begins = |word: &String, stems: &[&str]| stems.iter().any(|stem| word.starts_with(stem));
    let Some(last) = words.first() else {
        return near.ends_with('§');
    };
    let named = begins(last, VERSION_STEMS) || VERSION_WORDS.contains(&last.as_str());
    // "version is 1.2.3.4", "from version 1.2.3.4 to 1.2.3.5", but "the version on 10.0.0.1"
    let place = numbers.is_empty() && PLACES.iter().any(|place| last.starts_with(place));
    let once_removed = words.get(1).is_some_and(|word| begins(word, VERSION_STEMS)) && !place;
    let updated =
        TO.contains(&last.as_str()) && words.iter().any(|word| begins(word, UPDATE_STEMS));
    near.ends_with('§') || named || once_removed || updated
}
