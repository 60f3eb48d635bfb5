//! The names of §2.8, as the gateway and its policies use them, and the subset that can be checked without
//! the backend. The crate `monitor-detect` defines how each is found; a test there keeps both tables equal.

use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The predefined patterns of §2.8, in its order.
pub const PATTERN_NAMES: [&str; 21] = [
    "ADDRESS",
    "BANK_CARD_NUMBER",
    "COMPANY",
    "CVC",
    "DATE",
    "DEADLINE_DATE",
    "DIAGNOSIS",
    "DOMAIN",
    "DURATION",
    "EMAILS",
    "INN",
    "IP",
    "JOB_ROLE",
    "KPP",
    "MONEY",
    "NAME",
    "OGRN",
    "OGRNIP",
    "PASSPORT_NUMBER",
    "PHONE_NUMBER",
    "SNILS",
];

/// Further predefined patterns, found only where rules name them: rules without a list still find those of §2.8 alone.
pub const FURTHER_PATTERN_NAMES: [&str; 11] = [
    "API_KEY",
    "CADASTRAL_NUMBER",
    "CONNECTION_STRING",
    "CRYPTO_WALLET",
    "DRIVER_LICENSE",
    "IBAN",
    "OMS_POLICY",
    "PRIVATE_KEY",
    "SWIFT",
    "VEHICLE_NUMBER",
    "VIN",
];

/// Every predefined pattern: those of §2.8, then the further ones.
pub fn pattern_names() -> impl Iterator<Item = &'static str> {
    PATTERN_NAMES.into_iter().chain(FURTHER_PATTERN_NAMES)
}

/// Whether a predefined pattern has this name.
pub fn is_pattern_name(name: &str) -> bool {
    pattern_names().any(|known| known == name)
}

/// Those whose detector is pure and says what of a growing text is settled, so that the gateway can
/// judge them by itself (CONTRACT 41). A further one is one line here.
pub const LOCAL_PATTERNS: &[&str] = &[
    "BANK_CARD_NUMBER",
    "CVC",
    "DATE",
    "DEADLINE_DATE",
    "DOMAIN",
    "DURATION",
    "EMAILS",
    "INN",
    "IP",
    "KPP",
    "MONEY",
    "OGRN",
    "OGRNIP",
    "PASSPORT_NUMBER",
    "PHONE_NUMBER",
    "SNILS",
];

/// Those of [`LOCAL_PATTERNS`] that identify nobody: looked for only where a policy names them, because
/// a prompt or an answer without its dates and amounts is seldom of use.
const ONLY_WHEN_NAMED: &[&str] = &["DATE", "DEADLINE_DATE", "DURATION", "MONEY"];

/// Some of [`LOCAL_PATTERNS`]; never any other name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PatternSet(u32);

impl PatternSet {
    /// What is judged locally where a policy names nothing.
    pub fn local() -> Self {
        let names = LOCAL_PATTERNS.iter();
        let usual = names.filter(|name| !ONLY_WHEN_NAMED.contains(name));
        usual.fold(Self::default(), |set, name| set.with(name))
    }

    /// The set of one name; None for a name that cannot be judged locally.
    pub fn of(name: &str) -> Option<Self> {
        LOCAL_PATTERNS
            .contains(&name)
            .then(|| Self::default().with(name))
    }

    /// What is in either.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a name is in it.
    pub fn contains(self, name: &str) -> bool {
        self.0 & bit(name) != 0
    }

    /// Whether nothing is in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names in it, in the order of §2.8.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        PATTERN_NAMES
            .into_iter()
            .filter(move |name| self.contains(name))
    }

    fn with(self, name: &str) -> Self {
        Self(self.0 | bit(name))
    }
}

/// Names that cannot be judged locally are left out.
impl<'a> FromIterator<&'a str> for PatternSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let sets = names.into_iter().filter_map(Self::of);
        sets.fold(Self::default(), Self::union)
    }
}

impl Serialize for PatternSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

/// How one of [`LOCAL_PATTERNS`] is described in an OpenAPI document.
pub struct LocalPattern;

impl ToSchema for LocalPattern {}

impl PartialSchema for LocalPattern {
    fn schema() -> RefOr<Schema> {
        let words = ObjectBuilder::new().schema_type(Type::String);
        words
            .enum_values(Some(LOCAL_PATTERNS.iter().copied()))
            .into()
    }
}

/// No bit for a name that is none of §2.8.
fn bit(name: &str) -> u32 {
    let place = PATTERN_NAMES.iter().position(|other| *other == name);
    place.map_or(0, |place| 1 << place)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{LOCAL_PATTERNS, ONLY_WHEN_NAMED, PATTERN_NAMES, PatternSet};

    #[test]
    fn a_set_holds_the_names_that_were_put_in() {
        let named = ONLY_WHEN_NAMED.iter().copied().collect();
        let all: Vec<_> = PatternSet::local().union(named).names().collect();
        assert_eq!(all, LOCAL_PATTERNS);
        assert!(!PatternSet::local().contains("DATE") && named.contains("MONEY"));
        let two = PatternSet::of("IP")
            .unwrap()
            .union(PatternSet::of("INN").unwrap());
        assert_eq!(two.names().collect::<Vec<_>>(), ["INN", "IP"]);
        assert!(two.contains("IP") && !two.contains("SNILS") && !two.contains("ip"));
        assert!(PatternSet::default().is_empty() && !two.is_empty());
    }

    #[test]
    fn only_a_local_name_makes_a_set() {
        for name in PATTERN_NAMES {
            let local = LOCAL_PATTERNS.contains(&name);
            assert_eq!(PatternSet::of(name).is_some(), local, "{name}");
        }
        assert_eq!(PatternSet::of("EMAIL"), None);
    }
}
