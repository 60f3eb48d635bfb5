//! THE table of predefined patterns: the names of §2.8, and the further ones that rules have to name. `registry` says
//! which detector finds which.

use crate::unknown_name::UnknownName;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A predefined pattern; its name on the wire is that of §2.8 or of the table of further ones, exactly.
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
    ApiKey,
    CadastralNumber,
    ConnectionString,
    CryptoWallet,
    DriverLicense,
    Iban,
    OmsPolicy,
    PrivateKey,
    Swift,
    VehicleNumber,
    Vin,
}

use PatternName as P;

/// Each pattern and its word on the wire, in the order of the enum.
const WORDS: [(PatternName, &str); 32] = [
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
    (P::ApiKey, "API_KEY"),
    (P::CadastralNumber, "CADASTRAL_NUMBER"),
    (P::ConnectionString, "CONNECTION_STRING"),
    (P::CryptoWallet, "CRYPTO_WALLET"),
    (P::DriverLicense, "DRIVER_LICENSE"),
    (P::Iban, "IBAN"),
    (P::OmsPolicy, "OMS_POLICY"),
    (P::PrivateKey, "PRIVATE_KEY"),
    (P::Swift, "SWIFT"),
    (P::VehicleNumber, "VEHICLE_NUMBER"),
    (P::Vin, "VIN"),
];
/// So many of them are those of §2.8.
const SPECIFIED: usize = 21;

impl PatternName {
    /// Every name of §2.8, in its order: what rules without a list look for.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::every().take(SPECIFIED)
    }

    /// The others, which are looked for only where rules name them.
    pub fn further() -> impl Iterator<Item = Self> {
        Self::every().skip(SPECIFIED)
    }

    /// Both, those of §2.8 first.
    pub fn every() -> impl Iterator<Item = Self> {
        WORDS.into_iter().map(|(name, _)| name)
    }

    /// Whether it is looked for only where rules name it.
    pub fn is_further(self) -> bool {
        self as usize >= SPECIFIED
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
        Self::every()
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
        for (index, name) in PatternName::every().enumerate() {
            assert_eq!(name as usize, index);
            assert_eq!(
                name.is_further(),
                PatternName::further().any(|one| one == name)
            );
            assert_eq!(name.as_str().parse(), Ok(name));
            assert_eq!(serde_json::to_string(&name).unwrap(), format!("\"{name}\""));
        }
        assert!("emails".parse::<PatternName>().is_err());
    }
}
