//! The keys of `prices`: what tokens cost, by model. The table is the operator's; the program knows no price.

use crate::config::reading::reader::{Raw, Reader};
use crate::config::reading::yaml::{Entry, Node, Value, get, scalar};
use crate::config::values::units::Form;
use monitor_model::{Amount, LONGEST_MODEL};

/// Decimal places of a price for a million tokens: the price of one token is then a whole number of units.
const PLACES: usize = 6;
/// The highest price for a million tokens.
const HIGHEST: i64 = 1_000_000_000;
/// What prices are for.
const TOKENS: i128 = 1_000_000;
/// Models in the table.
const MOST_MODELS: usize = 1_000;
const CURRENCY: &str = "three capital letters, such as EUR";
const MODELS: &str = "names of models, or what they begin with and a *, each with {input, cached_input, cache_write, output, reasoning}";
const NAMES: [&str; 5] = [
    "input",
    "cached_input",
    "cache_write",
    "output",
    "reasoning",
];

/// The price table; empty without prices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// An ISO 4217 code; empty without prices.
    pub currency: String,
    /// In the order of the file.
    pub models: Vec<ModelPrice>,
}

/// The prices of a model, or of all whose names begin alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPrice {
    /// The name, without the `*` of a prefix.
    pub name: String,
    /// It stands for every name that begins with it.
    pub is_prefix: bool,
    /// What its tokens cost.
    pub price: TokenPrice,
}

/// What one token of each kind costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenPrice {
    /// Of the prompt, as far as no other kind applies.
    pub input: Amount,
    /// Of the prompt, read from the model server's cache; default: as `input`.
    pub cached_input: Amount,
    /// Of the prompt, written to its cache; default: as `input`.
    pub cache_write: Amount,
    /// Of the answer.
    pub output: Amount,
    /// Of the answer, used for reasoning; default: as `output`.
    pub reasoning: Amount,
}

impl Prices {
    /// The entry of a model: that of its own name, else that of the longest prefix.
    pub fn entry(&self, model: &str) -> Option<&ModelPrice> {
        let fits = |entry: &&ModelPrice| match entry.is_prefix {
            true => model.starts_with(&entry.name),
            false => model == entry.name,
        };
        let all = self.models.iter().filter(fits);
        all.max_by_key(|entry| (entry.name.len(), !entry.is_prefix))
    }

    /// Whether the file has an entry under this key.
    pub fn has(&self, key: &str) -> bool {
        self.models.iter().any(|entry| entry.key() == key)
    }
}

impl ModelPrice {
    /// The name as the file has it.
    pub fn key(&self) -> String {
        let mark = if self.is_prefix { "*" } else { "" };
        format!("{}{mark}", self.name)
    }
}

pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> Prices {
    let currency_key = format!("{prefix}prices.currency");
    let models_key = format!("{prefix}prices.models");
    let currency = r.read(&currency_key, &currency());
    let models = r.read_with(&models_key, |r, raw| models(r, raw, &models_key));
    let lacks = |r: &mut Reader<'_>, set: &str, unset: &str, allowed: &str| {
        if !r.has_problem_in(unset) {
            r.contradiction(
                set,
                format!("needs {unset}; allowed: {allowed}, or neither"),
            );
        }
    };
    match (&currency, &models) {
        (Some(_), None) => lacks(r, &currency_key, &models_key, MODELS),
        (None, Some(_)) => lacks(r, &models_key, &currency_key, CURRENCY),
        _ => {}
    }
    match (currency, models) {
        (Some(currency), Some(models)) => Prices { currency, models },
        _ => Prices::default(),
    }
}

fn currency() -> Form<String> {
    Form::new(CURRENCY, |text| {
        match text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
            true => Ok(text.to_owned()),
            false => Err(format!("{text:?} is no currency code")),
        }
    })
    .text_only()
}

/// A price for a million tokens, as that of one.
fn price() -> Form<Amount> {
    let allowed = format!(
        "a decimal number from 0 to {HIGHEST} with at most {PLACES} decimal places, for a million tokens"
    );
    Form::new(allowed, |text| {
        units(text)
            .map(Amount::of_units)
            .ok_or_else(|| format!("{text:?} is no price"))
    })
}

/// The units of the price of one token, from that of a million.
fn units(text: &str) -> Option<i128> {
    let highest = Amount::of_parts(HIGHEST, 0);
    let million = Amount::of_decimal(text).filter(|price| *price <= highest)?;
    let (one, rest) = (million.units() / TOKENS, million.units() % TOKENS);
    (rest == 0).then_some(one)
}

fn models(r: &mut Reader<'_>, raw: &Raw<'_>, key: &str) -> Result<Vec<ModelPrice>, Option<String>> {
    let Raw::Node(node) = raw else {
        return Err(Some(format!(
            "can be set in the file only; allowed: {MODELS}"
        )));
    };
    let Value::Map(entries) = &node.value else {
        let shape = node.value.shape();
        return Err(Some(format!("is {shape}; allowed: {MODELS}")));
    };
    if entries.is_empty() {
        return Err(Some(format!("is empty; allowed: {MODELS}")));
    }
    if entries.len() > MOST_MODELS {
        return Err(Some(format!(
            "has more than {MOST_MODELS} entries; allowed: {MODELS}"
        )));
    }
    let models = entries.iter().map(|entry| model(r, entry, key));
    let models: Vec<Option<ModelPrice>> = models.collect();
    models.into_iter().collect::<Option<_>>().ok_or(None)
}

fn model(r: &mut Reader<'_>, entry: &Entry, key: &str) -> Option<ModelPrice> {
    let key = format!("{key}.{}", entry.key);
    let (name, is_prefix) = match entry.key.strip_suffix('*') {
        Some(name) => (name, true),
        None => (entry.key.as_str(), false),
    };
    let wrong = if name.contains('*') {
        Some("has a * inside; allowed: one at the end")
    } else if name.is_empty() && !is_prefix {
        Some("is empty; allowed: the name of a model, or * for every model")
    } else if name.len() > LONGEST_MODEL {
        Some("is longer than any name is kept; allowed: 128 bytes, or a prefix with a * at the end")
    } else {
        None
    };
    if let Some(wrong) = wrong {
        r.report_line(entry.line, &key, wrong);
        return None;
    }
    Some(ModelPrice {
        name: name.to_owned(),
        is_prefix,
        price: token_price(r, &entry.node, &key, entry.line)?,
    })
}

fn token_price(r: &mut Reader<'_>, node: &Node, key: &str, line: usize) -> Option<TokenPrice> {
    let Value::Map(entries) = &node.value else {
        let text = format!("is {}; allowed: {MODELS}", node.value.shape());
        r.report_line(line, key, text);
        return None;
    };
    let mut is_right = true;
    for entry in entries
        .iter()
        .filter(|it| !NAMES.contains(&it.key.as_str()))
    {
        let text = format!("is an unknown key; allowed: {}", NAMES.join(", "));
        r.report_line(entry.line, &format!("{key}.{}", entry.key), text);
        is_right = false;
    }
    let mut read = |name: &str| {
        let node = get(entries, name)?;
        match scalar(node, &price()) {
            Ok(price) => Some(price),
            Err(text) => {
                r.report_line(node.line, &format!("{key}.{name}"), text);
                is_right = false;
                None
            }
        }
    };
    let [input, cached_input, cache_write, output, reasoning] = NAMES.map(&mut read);
    for name in ["input", "output"] {
        if get(entries, name).is_none() {
            let text =
                "is not set; allowed: the price of a million tokens, 0 where they cost nothing";
            r.report_line(line, &format!("{key}.{name}"), text);
            is_right = false;
        }
    }
    let (input, output) = (input?, output?);
    is_right.then(|| TokenPrice {
        input,
        cached_input: cached_input.unwrap_or(input),
        cache_write: cache_write.unwrap_or(input),
        output,
        reasoning: reasoning.unwrap_or(output),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_digit_by_digit() {
        for (text, expected) in [
            ("0", Some(0)),
            ("2.50", Some(2_500_000)),
            ("0.0375", Some(37_500)),
            ("0.1", Some(100_000)),
            ("3", Some(3_000_000)),
            ("0.000001", Some(1)),
            ("1.0000000", Some(1_000_000)),
            ("1000000000", Some(1_000_000_000_000_000)),
            ("0.0000001", None),
            ("1000000000.1", None),
            ("-1", None),
            ("+1", None),
            ("1e3", None),
            ("1,5", None),
            (".5", None),
            ("5.", None),
            ("0x10", None),
            ("", None),
        ] {
            assert_eq!(units(text), expected, "{text}");
        }
    }

    #[test]
    fn the_longest_match_wins_and_a_name_of_its_own_before_a_prefix() {
        let entry = |name: &str, is_prefix, input| ModelPrice {
            name: name.to_owned(),
            is_prefix,
            price: TokenPrice {
                input: Amount::of_units(input),
                ..TokenPrice::default()
            },
        };
        let prices = Prices {
            currency: "EUR".to_owned(),
            models: vec![
                entry("", true, 1),
                entry("large-", true, 2),
                entry("large-1", true, 3),
                entry("large-1", false, 4),
            ],
        };
        let of = |model| prices.entry(model).unwrap().price.input.units();
        let found = ["small", "large-2", "large-1-mini", "large-1"].map(of);
        assert_eq!(found, [1, 2, 3, 4]);
        assert_eq!(Prices::default().entry("large-1"), None);
        assert_eq!(prices.entry("large-2").unwrap().key(), "large-*");
        assert!(prices.has("large-1*") && prices.has("*") && !prices.has("large-2"));
    }
}
