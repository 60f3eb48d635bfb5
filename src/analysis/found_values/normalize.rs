//! The form in which values of a type are compared: `4111 1111 1111 1111` and `4111-1111-1111-1111` are one card.
//! Hashes in the store depend on it: a change of a form makes earlier values unfindable.

use monitor_model::pattern_names;
use std::net::IpAddr;

/// The longest value, in bytes; a longer one is not kept.
pub(super) const LONGEST: usize = 4 * 1024;

/// How the values of a type are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Not at all: nothing of the value may be kept, and three digits are no secret to whoever can count.
    Never,
    /// By their digits, of which there are so many.
    Digits(usize, usize),
    /// By the digits of the number in international form.
    Phone,
    /// In small letters and without spaces.
    Address,
    /// As an address of a network.
    Ip,
    /// By letters and digits in capitals; Cyrillic letters that look like Latin ones are these.
    Code,
    /// Without spaces, in small letters.
    Compact,
    /// As it is, without spaces.
    Exact,
    /// By its words in small letters.
    Words,
}

fn form(kind: &str) -> Form {
    match kind {
        "CVC" => Form::Never,
        "BANK_CARD_NUMBER" => Form::Digits(12, 19),
        "INN" => Form::Digits(10, 12),
        "KPP" => Form::Digits(9, 9),
        "OGRN" => Form::Digits(13, 13),
        "OGRNIP" => Form::Digits(15, 15),
        "SNILS" => Form::Digits(11, 11),
        "OMS_POLICY" => Form::Digits(16, 16),
        "PHONE_NUMBER" => Form::Phone,
        "EMAILS" | "DOMAIN" => Form::Address,
        "IP" => Form::Ip,
        "PASSPORT_NUMBER" | "DRIVER_LICENSE" | "CADASTRAL_NUMBER" | "IBAN" | "SWIFT"
        | "VEHICLE_NUMBER" | "VIN" => Form::Code,
        "MONEY" => Form::Compact,
        "API_KEY" | "CONNECTION_STRING" | "CRYPTO_WALLET" | "PRIVATE_KEY" => Form::Exact,
        _ => Form::Words,
    }
}

/// The value as values of this type are compared; None for what is none of them.
pub(super) fn normalized(kind: &str, value: &str) -> Option<String> {
    if value.len() > LONGEST {
        return None;
    }
    let text = match form(kind) {
        Form::Never => return None,
        Form::Digits(least, most) => {
            let digits = digits(value);
            let fits = (least..=most).contains(&digits.len());
            return (fits && !has_letters(value)).then_some(digits);
        }
        Form::Phone => return phone(value),
        Form::Address => lower(value.chars().filter(|c| !c.is_whitespace()))
            .trim_matches('.')
            .to_owned(),
        Form::Ip => ip(value),
        Form::Code => code(value),
        Form::Compact => lower(value.chars().filter(|c| !c.is_whitespace()))
            .trim_end_matches('.')
            .to_owned(),
        Form::Exact => value.chars().filter(|c| !c.is_whitespace()).collect(),
        Form::Words => words(value),
    };
    text.contains(char::is_alphanumeric).then_some(text)
}

/// The predefined types that a value may be of, by its look.
pub(crate) fn possible_kinds(value: &str) -> Vec<&'static str> {
    let is_text = has_letters(value);
    let may_be = |kind: &&'static str| {
        let looks_so = match *kind {
            "EMAILS" => value.contains('@'),
            "DOMAIN" => is_text && value.contains('.'),
            "IP" => value.trim().parse::<IpAddr>().is_ok(),
            "NAME" | "COMPANY" | "JOB_ROLE" | "DIAGNOSIS" => is_text,
            _ => true,
        };
        looks_so && normalized(kind, value).is_some()
    };
    pattern_names().filter(may_be).collect()
}

fn has_letters(text: &str) -> bool {
    text.chars().any(char::is_alphabetic)
}

/// ASCII digits, those of full width among them.
fn digits(text: &str) -> String {
    let digit = |c: char| match c {
        '0'..='9' => Some(c),
        '\u{ff10}'..='\u{ff19}' => char::from_digit(c as u32 - 0xff10, 10),
        _ => None,
    };
    text.chars().filter_map(digit).collect()
}

/// A Russian number begins with 8, with 7, or with the code of its area.
fn phone(text: &str) -> Option<String> {
    let digits = digits(text);
    let number = match (digits.len(), digits.as_bytes().first()) {
        (11, Some(b'8')) => format!("7{}", digits.get(1..)?),
        (10, Some(b'9')) => format!("7{digits}"),
        _ => digits.strip_prefix("00").unwrap_or(&digits).to_owned(),
    };
    let fits = (5..=15).contains(&number.len());
    (fits && !has_letters(text)).then_some(number)
}

fn ip(text: &str) -> String {
    let text = lower(text.trim().chars());
    match text.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().to_string(),
        Err(_) => text,
    }
}

fn code(text: &str) -> String {
    let capitals = text.chars().flat_map(char::to_uppercase);
    capitals
        .filter(|c| c.is_alphanumeric())
        .map(latin)
        .collect()
}

/// The Latin letter that a Cyrillic one looks like.
fn latin(letter: char) -> char {
    match letter {
        'А' => 'A',
        'В' => 'B',
        'Е' => 'E',
        'К' => 'K',
        'М' => 'M',
        'Н' => 'H',
        'О' => 'O',
        'Р' => 'P',
        'С' => 'C',
        'Т' => 'T',
        'У' => 'Y',
        'Х' => 'X',
        other => other,
    }
}

fn words(text: &str) -> String {
    let text = lower(text.chars());
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

fn lower(text: impl Iterator<Item = char>) -> String {
    let letter = |c: char| if c == 'ё' { 'е' } else { c };
    text.flat_map(char::to_lowercase).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use monitor_model::PATTERN_NAMES;

    /// A type, two ways to write a value of it, and another value.
    const ALIKE: [(&str, [&str; 3]); 30] = [
        (
            "ADDRESS",
            [
                "г. Москва, ул. Ленина, д. 5",
                "Г МОСКВА УЛ ЛЕНИНА Д 5",
                "г. Москва, ул. Ленина, д. 6",
            ],
        ),
        (
            "BANK_CARD_NUMBER",
            [
                "4111 1111 1111 1111",
                "4111-1111-1111-1111",
                "4111 1111 1111 1112",
            ],
        ),
        (
            "COMPANY",
            ["ООО «Ромашка»", "ооо \"РОМАШКА\"", "ООО «Роза»"],
        ),
        ("DATE", ["01.02.2024", "01/02/2024", "02.02.2024"]),
        ("DEADLINE_DATE", ["до 1 марта", "До  1 Марта", "до 2 марта"]),
        (
            "DIAGNOSIS",
            ["Острый бронхит", "острый  бронхит", "хронический бронхит"],
        ),
        ("DOMAIN", ["Example.ORG.", "example.org", "example.net"]),
        ("DURATION", ["3 months", "3  Months", "4 months"]),
        (
            "EMAILS",
            ["Anna@Example.com", "anna@example.com ", "anna@example.org"],
        ),
        ("INN", ["7707 083 893", "7707083893", "7707083894"]),
        ("IP", ["2001:DB8::1", "2001:db8:0:0:0:0:0:1", "2001:db8::2"]),
        (
            "JOB_ROLE",
            ["Senior Engineer", "senior engineer", "Engineer"],
        ),
        ("KPP", ["7736 01001", "773601001", "773601002"]),
        ("MONEY", ["1 000 руб.", "1000РУБ", "1 001 руб."]),
        ("NAME", ["Фёдор Волков", "федор ВОЛКОВ", "Фёдор Волк"]),
        (
            "OGRN",
            ["1027 7001 32195", "1027700132195", "1027700132196"],
        ),
        (
            "OGRNIP",
            ["3045 0011 6000 157", "304500116000157", "304500116000158"],
        ),
        (
            "PASSPORT_NUMBER",
            ["4510 123456", "45 10 № 123456", "4510 123457"],
        ),
        (
            "PHONE_NUMBER",
            ["+7 (916) 123-45-67", "8 916 123 45 67", "+7 916 123 45 68"],
        ),
        ("SNILS", ["112-233-445 95", "11223344595", "112-233-445 96"]),
        (
            "CADASTRAL_NUMBER",
            ["77:01:0001001:1", "77 01 0001001 1", "77:01:0001001:2"],
        ),
        (
            "DRIVER_LICENSE",
            ["99 АВ 123456", "99ab123456", "99 АВ 123457"],
        ),
        (
            "IBAN",
            [
                "DE89 3704 0044 0532 0130 00",
                "de89370400440532013000",
                "DE89 3704 0044 0532 0130 01",
            ],
        ),
        (
            "OMS_POLICY",
            [
                "1234 5678 9012 3456",
                "1234567890123456",
                "1234567890123457",
            ],
        ),
        ("SWIFT", ["deutdeff", "DEUTDEFF", "DEUTDEFX"]),
        ("VEHICLE_NUMBER", ["А123ВС 77", "a123bc77", "А124ВС 77"]),
        (
            "VIN",
            [
                "1hgcm82633a004352",
                "1HGCM82633A004352",
                "1HGCM82633A004353",
            ],
        ),
        ("API_KEY", ["sk-Abc 123", "sk-Abc123", "sk-abc123"]),
        (
            "CRYPTO_WALLET",
            [
                "1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
                " 1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
                "1boat",
            ],
        ),
        ("my own type", ["Order 17-A", "order 17 a", "order 18 a"]),
    ];

    #[test]
    fn a_value_is_the_same_however_it_is_written_and_another_one_is_not() {
        for (kind, [value, same, other]) in ALIKE {
            let form = normalized(kind, value);
            assert!(form.is_some(), "{kind}");
            assert_eq!(form, normalized(kind, same), "{kind}");
            assert_ne!(form, normalized(kind, other), "{kind}");
        }
        // The code of a card may not be kept in any form, and is no secret as a hash of three digits.
        assert_eq!(normalized("CVC", "123"), None);
        let has_case = |name: &&str| ALIKE.iter().any(|(kind, _)| kind == name) || *name == "CVC";
        assert!(PATTERN_NAMES.iter().all(has_case));
    }

    #[test]
    fn what_is_no_value_of_a_type_has_no_form() {
        for (kind, value) in [
            ("BANK_CARD_NUMBER", "4111"),
            ("BANK_CARD_NUMBER", "card 4111 1111 1111 1111"),
            ("SNILS", ""),
            ("PHONE_NUMBER", "12"),
            ("NAME", " .,-"),
            ("EMAILS", " "),
        ] {
            assert_eq!(normalized(kind, value), None, "{kind} {value}");
        }
        assert_eq!(normalized("NAME", &"x".repeat(LONGEST + 1)), None);
    }

    #[test]
    fn a_value_is_looked_for_as_what_it_may_be() {
        let card = possible_kinds("4111 1111 1111 1111");
        assert!(card.contains(&"BANK_CARD_NUMBER") && card.contains(&"OMS_POLICY"));
        for other in ["EMAILS", "NAME", "IP", "CVC", "SNILS"] {
            assert!(!card.contains(&other), "{other}");
        }
        let mail = possible_kinds("Anna@Example.com");
        assert!(mail.contains(&"EMAILS") && !mail.contains(&"PHONE_NUMBER"));
        assert!(possible_kinds("10.0.0.1").contains(&"IP"));
        assert!(possible_kinds("—").is_empty());
    }
}
