//! THE table of predefined patterns (§2.8): one row per name. A new detector is one file in
//! `detectors/` and one changed row here.

use super::Detector;
use super::detectors::{
    BankCardNumber, Cvc, Date, DeadlineDate, Domain, Duration, Emails, Inn, Ip,
};
use super::detectors::{Kpp, Money, Ogrn, Ogrnip, PassportNumber, PhoneNumber, Snils, Tagged};
use crate::rules::UnknownName;
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

type Build = fn() -> Box<dyn Detector>;

/// Name, word on the wire, detector. In the order of the enum.
const TABLE: [(PatternName, &str, Option<Build>); 21] = [
    (P::Address, "ADDRESS", Some(|| Box::new(Tagged(P::Address)))),
    (
        P::BankCardNumber,
        "BANK_CARD_NUMBER",
        Some(|| Box::new(BankCardNumber)),
    ),
    (P::Company, "COMPANY", Some(|| Box::new(Tagged(P::Company)))),
    (P::Cvc, "CVC", Some(|| Box::new(Cvc::new()))),
    (P::Date, "DATE", Some(|| Box::new(Date))),
    (
        P::DeadlineDate,
        "DEADLINE_DATE",
        Some(|| Box::new(DeadlineDate)),
    ),
    (
        P::Diagnosis,
        "DIAGNOSIS",
        Some(|| Box::new(Tagged(P::Diagnosis))),
    ),
    (P::Domain, "DOMAIN", Some(|| Box::new(Domain))),
    (P::Duration, "DURATION", Some(|| Box::new(Duration))),
    (P::Emails, "EMAILS", Some(|| Box::new(Emails))),
    (P::Inn, "INN", Some(|| Box::new(Inn))),
    (P::Ip, "IP", Some(|| Box::new(Ip))),
    (
        P::JobRole,
        "JOB_ROLE",
        Some(|| Box::new(Tagged(P::JobRole))),
    ),
    (P::Kpp, "KPP", Some(|| Box::new(Kpp))),
    (P::Money, "MONEY", Some(|| Box::new(Money))),
    (P::Name, "NAME", Some(|| Box::new(Tagged(P::Name)))),
    (P::Ogrn, "OGRN", Some(|| Box::new(Ogrn))),
    (P::Ogrnip, "OGRNIP", Some(|| Box::new(Ogrnip))),
    (
        P::PassportNumber,
        "PASSPORT_NUMBER",
        Some(|| Box::new(PassportNumber)),
    ),
    (
        P::PhoneNumber,
        "PHONE_NUMBER",
        Some(|| Box::new(PhoneNumber::new())),
    ),
    (P::Snils, "SNILS", Some(|| Box::new(Snils))),
];

impl PatternName {
    /// Every name of §2.8, in its order.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.into_iter().map(|(name, ..)| name)
    }

    /// The names that have a detector.
    pub fn available() -> impl Iterator<Item = Self> {
        TABLE
            .into_iter()
            .filter(|(.., build)| build.is_some())
            .map(|(name, ..)| name)
    }

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Builds the detector, where there is one.
    pub(super) fn detector(self) -> Option<Box<dyn Detector>> {
        TABLE[self as usize].2.map(|build| build())
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
        let unknown = || UnknownName::new("pattern", text, TABLE.map(|(_, word, _)| word).to_vec());
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

    #[test]
    fn a_detector_says_the_name_of_its_row() {
        for name in PatternName::available() {
            assert_eq!(name.detector().map(|detector| detector.name()), Some(name));
        }
    }
}
