//! The name of a model where no originals are kept: a client or a model server chooses it, so it may be any text.

use crate::analysis::ingest::record_builder::NOT_KEPT;
use crate::config::Prices;

/// A name of the price table stays, and so does one of letters, digits and `_.:-/+` with at least one letter in which
/// `mask` finds nothing. The entry of the table that covers it stands for any other one.
pub(super) fn cleaned(name: &str, prices: &Prices, mask: impl FnOnce(&str) -> String) -> String {
    let entry = prices.entry(name);
    if entry.is_some_and(|entry| !entry.is_prefix) {
        return name.to_owned();
    }
    let masked = is_plain(name).then(|| mask(name));
    match (masked, entry) {
        (Some(masked), _) if masked == name => masked,
        (_, Some(entry)) => entry.key(),
        (masked, None) => masked.unwrap_or_else(|| NOT_KEPT.to_owned()),
    }
}

fn is_plain(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-/+".contains(&byte);
    name.bytes().all(is_known) && name.contains(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ModelPrice, TokenPrice};

    #[test]
    fn names_of_models_stay_and_other_texts_do_not() {
        let entry = |name: &str, is_prefix| ModelPrice {
            name: name.to_owned(),
            is_prefix,
            price: TokenPrice::default(),
        };
        let prices = Prices {
            currency: "EUR".to_owned(),
            models: vec![entry("large-", true), entry("our model №1", false)],
        };
        let mask = |name: &str| name.replace("2024-08-06", "[DATE]");
        for (name, expected) in [
            ("org/small-7b:q4_K_M", "org/small-7b:q4_K_M"),
            ("large-1", "large-1"),
            ("our model №1", "our model №1"),
            ("small-2024-08-06", "small-[DATE]"),
            ("large-2024-08-06", "large-*"),
            ("large-1 for anna@example.org", "large-*"),
            ("anna@example.org, case 4711", NOT_KEPT),
            ("4111111111111111", NOT_KEPT),
        ] {
            assert_eq!(cleaned(name, &prices, mask), expected, "{name}");
        }
    }
}
