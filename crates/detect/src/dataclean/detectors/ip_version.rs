//! Recognizes four dotted numbers that are a version or a section, by the words before them.

use crate::chars::is_word_char;
use crate::dataclean::text::inline::InlineWord;

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
        .rsplit(|c: char| !is_word_char(c))
        .filter(|word| !word.is_empty());
    let (mut words, mut count, mut numbers) = ([InlineWord::lowercase(""); WORDS_BACK], 0, false);
    for word in parts.take(WORDS_BACK + 4) {
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            numbers = true;
        } else if let Some(place) = words.get_mut(count) {
            *place = InlineWord::lowercase(word);
            count += 1;
        }
    }
    let [last, rest @ ..] = &words[..count] else {
        return near.ends_with('§');
    };
    let named = last.begins_with(VERSION_STEMS) || last.is_one_of(VERSION_WORDS);
    // "version is 1.2.3.4", "from version 1.2.3.4 to 1.2.3.5", but "the version on 10.0.0.1"
    let place = !numbers && last.begins_with(PLACES);
    let once_removed = rest
        .first()
        .is_some_and(|word| word.begins_with(VERSION_STEMS))
        && !place;
    let updated = last.is_one_of(TO)
        && words[..count]
            .iter()
            .any(|word| word.begins_with(UPDATE_STEMS));
    near.ends_with('§') || named || once_removed || updated
}
