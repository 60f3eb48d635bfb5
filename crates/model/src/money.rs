//! Exact amounts of money. Sums of binary fractions would drift: an amount counts whole units.

use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use utoipa::ToSchema;

/// Decimal places of a unit.
const PLACES: usize = 12;
/// Units of one of the currency.
const ONE: i128 = 1_000_000_000_000;

/// An amount in units of 0.000000000001 of a currency: a price per million tokens with at most six decimal places is a
/// whole number of them for each token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i128);

impl Amount {
    /// Of this many units.
    pub const fn of_units(units: i128) -> Self {
        Self(units)
    }

    /// Of whole ones of the currency, and units beside them.
    pub fn of_parts(whole: i64, units: i64) -> Self {
        Self(i128::from(whole) * ONE + i128::from(units))
    }

    /// Reads a decimal number of digits only, exactly. None for any other text, and for one that is too long or has
    /// more decimal places than a unit (zeros at its end aside).
    pub fn of_decimal(text: &str) -> Option<Self> {
        let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
        if !is_number(whole) || !is_number(places) {
            return None;
        }
        let places = places.trim_end_matches('0');
        if places.len() > PLACES {
            return None;
        }
        let units = format!("{places:0<PLACES$}").parse().ok()?;
        Some(Self::of_parts(whole.parse().ok()?, units))
    }

    /// For a column of the store; see [`Amount`] for what a unit is.
    pub const fn units(self) -> i128 {
        self.0
    }

    /// The nearest floating-point number, for charts.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / ONE as f64
    }

    /// The cost of this many tokens at this price; the highest amount where it would be higher.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(i128::from(count)))
    }

    /// The sum; the highest amount where it would be higher.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Decimal, without an exponent and without zeros at its end: `0.00125`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let units = self.0.unsigned_abs();
        let (whole, rest) = (units / ONE.unsigned_abs(), units % ONE.unsigned_abs());
        let places = format!("{rest:0PLACES$}");
        match places.trim_end_matches('0') {
            "" => write!(f, "{sign}{whole}"),
            places => write!(f, "{sign}{whole}.{places}"),
        }
    }
}

/// A string: a JSON number would lose digits in most readers.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How the cost of a call is known.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Priced {
    /// From the tokens that the model server counted.
    Priced,
    /// From tokens that the analysis server counted in the recorded texts.
    Estimated,
    /// Not known: the model has no price.
    Unpriced,
}

impl Priced {
    /// In the order of a metric's series.
    pub const ALL: [Self; 3] = [Self::Priced, Self::Estimated, Self::Unpriced];

    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Priced => "priced",
            Self::Estimated => "estimated",
            Self::Unpriced => "unpriced",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_decimal_and_exact() {
        for (units, expected) in [
            (0, "0"),
            (1, "0.000000000001"),
            (1_250_000_000, "0.00125"),
            (ONE, "1"),
            (-ONE / 2, "-0.5"),
            (i128::from(i64::MAX) * 10, "92233720.36854775807"),
        ] {
            assert_eq!(Amount::of_units(units).to_string(), expected);
        }
        let tenth = Amount::of_units(ONE / 10);
        assert_eq!(tenth.times(3).to_string(), "0.3");
        assert_eq!(
            tenth.plus(tenth.times(2)),
            Amount::of_parts(0, 300_000_000_000)
        );
    }
}
