//! THE table of predefined patterns: the names of §2.8. `registry` says which detector finds which.

use crate::unknown_name::UnknownName;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A predefined pattern; its name on the wire is that of §2.8, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
#[allow(missing_docs)] // the names are those of the specification
pub enum PatternName {
    Address,
    BankCardNumber,
    Company,
    Cvc,
    Date,
    DeadlineDate,
    Diagnosis,
    Domain,
    Duration,
    Emails,
    Inn,
    Ip,
    JobRole,
    Kpp,
    Money,
    Name,
    Ogrn,
    Ogrnip,
    PassportNumber,
    PhoneNumber,
    Snils,
}

use PatternName as P;

/// Each pattern and its word on the wire, in the order of the enum.
const WORDS: [(PatternName, &str); 21] = [
    (P::Address, "ADDRESS"),
    (P::BankCardNumber, "BANK_CARD_NUMBER"),
    (P::Company, "COMPANY"),
    (P::Cvc, "CVC"),
    (P::Date, "DATE"),
    (P::DeadlineDate, "DEADLINE_DATE"),
    (P::Diagnosis, "DIAGNOSIS"),
    (P::Domain, "DOMAIN"),
    (P::Duration, "DURATION"),
    (P::Emails, "EMAILS"),
    (P::Inn, "INN"),
    (P::Ip, "IP"),
    (P::JobRole, "JOB_ROLE"),
    (P::Kpp, "KPP"),
    (P::Money, "MONEY"),
    (P::Name, "NAME"),
    (P::Ogrn, "OGRN"),
    (P::Ogrnip, "OGRNIP"),
    (P::PassportNumber, "PASSPORT_NUMBER"),
    (P::PhoneNumber, "PHONE_NUMBER"),
    (P::Snils, "SNILS"),
];

impl PatternName {
    /// Every name of §2.8, in its order.
    pub fn all() -> impl Iterator<Item = Self> {
        WORDS.into_iter().map(|(name, _)| name)
    }

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        WORDS[self as usize].1
    }
}

impl fmt::Display for PatternName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PatternName {
    type Err = UnknownName;

    /// Takes the exact name only: §2.8 calls the names exact.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownName::new("pattern", text, WORDS.map(|(_, word)| word).to_vec());
        Self::all()
            .find(|name| name.as_str() == text)
            .ok_or_else(unknown)
    }
}

impl TryFrom<String> for PatternName {
    type Error = UnknownName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<PatternName> for &'static str {
    fn from(value: PatternName) -> Self {
        value.as_str()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stands_in_the_order_of_the_enum_and_names_parse_back() {
        for (index, name) in PatternName::all().enumerate() {
            assert_eq!(name as usize, index);
            assert_eq!(name.as_str().parse(), Ok(name));
            assert_eq!(serde_json::to_string(&name).unwrap(), format!("\"{name}\""));
        }
        assert!("emails".parse::<PatternName>().is_err());
    }
}
