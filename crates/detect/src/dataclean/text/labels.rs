//! The table of words that say what a number is. `cue` decides how far they reach.

use super::inline::InlineWord;
use std::sync::OnceLock;

/// What a word says a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    Card,
    Inn,
    Kpp,
    Ogrn,
    Ogrnip,
    Passport,
    Phone,
    Snils,
    /// Something none of the detectors looks for: an order, an account, a serial number.
    Other,
}

/// What a word says; a whole word before a beginning.
pub(crate) fn label_of(word: &InlineWord) -> Option<Label> {
    static TABLE: OnceLock<Vec<Vec<Row>>> = OnceLock::new();
    let rows = &TABLE.get_or_init(buckets)[bucket(word.bytes())];
    let fits = |row: &&Row| match row.is_whole {
        true => word.is(row.word),
        false => word.bytes().starts_with(row.word.as_bytes()),
    };
    rows.iter().find(fits).map(|row| row.label)
}

struct Row {
    word: &'static str,
    label: Label,
    is_whole: bool,
}

/// Words are kept by their first two letters, so that most strangers meet none.
const BUCKETS: usize = 1024;

fn bucket(word: &[u8]) -> usize {
    let bytes = if word.first().is_some_and(u8::is_ascii) {
        2
    } else {
        4
    };
    let letters = word.iter().take(bytes);
    letters.fold(0, |sum, byte| sum * 37 + usize::from(*byte)) % BUCKETS
}

fn buckets() -> Vec<Vec<Row>> {
    let mut buckets: Vec<Vec<Row>> = (0..BUCKETS).map(|_| Vec::new()).collect();
    for (words, is_whole) in [(WORDS, true), (STEMS, false)] {
        for (label, words) in words {
            for word in *words {
                buckets[bucket(word.as_bytes())].push(Row {
                    word,
                    label: *label,
                    is_whole,
                });
            }
        }
    }
    buckets
}

type Words = &'static [(Label, &'static [&'static str])];

/// Words as they are.
const WORDS: Words = &[
    (Label::Card, &["cc", "pan", "visa", "amex"]),
    (Label::Inn, &["инн", "inn", "tin"]),
    (Label::Kpp, &["кпп", "kpp"]),
    (Label::Ogrn, &["огрн", "ogrn", "егрюл", "psrn"]),
    (Label::Ogrnip, &["огрнип", "ogrnip", "егрип", "psrnsp"]),
    (
        Label::Passport,
        &["серия", "серии", "серией", "серию", "series", "загран"],
    ),
    (
        Label::Phone,
        &[
            "тел", "tel", "моб", "ph", "fax", "cell", "dial", "ring", "sms", "смс",
        ],
    ),
    (Label::Snils, &["снилс", "snils"]),
    (
        Label::Other,
        &[
            "id",
            "ид",
            "бик",
            "bic",
            "bik",
            "окпо",
            "оквэд",
            "октмо",
            "гост",
            "ту",
            "vin",
            "iban",
            "imei",
            "isbn",
            "issn",
            "ean",
            "upc",
            "sku",
            "uuid",
            "guid",
            "hash",
            "epoch",
            "room",
            "чек",
            "ву",
            "птс",
            "стс",
            "осаго",
            "каско",
            "ssn",
        ],
    ),
];

/// Beginnings of words.
const STEMS: Words = &[
    (Label::Card, &["карт", "card", "mastercard", "maestro"]),
    (Label::Inn, &["налогоплательщик", "taxpayer"]),
    (Label::Kpp, &["постановк"]),
    (Label::Passport, &["паспорт", "passport", "загранпаспорт"]),
    (
        Label::Phone,
        &[
            "телефон",
            "мобильн",
            "сотов",
            "звон",
            "позвон",
            "перезвон",
            "созвон",
            "дозвон",
            "набер",
            "набир",
            "факс",
            "ватсап",
            "вотсап",
            "вайбер",
            "телеграм",
            "контакт",
            "свяж",
            "связ",
            "phone",
            "telephone",
            "cellphone",
            "call",
            "mobile",
            "whatsapp",
            "viber",
            "telegram",
            "contact",
            "reach",
            "hotline",
            "answering",
        ],
    ),
    (Label::Snils, &["страхов", "пенсионн"]),
    (
        Label::Other,
        &[
            "заказ",
            "трек",
            "отправлен",
            "артикул",
            "счет",
            "счёт",
            "договор",
            "накладн",
            "заявк",
            "тикет",
            "транзакци",
            "операци",
            "идентификатор",
            "штрихкод",
            "штрих",
            "серийн",
            "лицензи",
            "полис",
            "версия",
            "версии",
            "хеш",
            "хэш",
            "метк",
            "кадастр",
            "инвентар",
            "order",
            "track",
            "parcel",
            "shipment",
            "invoice",
            "account",
            "contract",
            "ticket",
            "transaction",
            "receipt",
            "serial",
            "barcode",
            "timestamp",
            "licen",
            "polic",
            "version",
            "commit",
            "error",
            "request",
            "session",
            "удостоверен",
            "водительск",
            "свидетельств",
        ],
    ),
];
