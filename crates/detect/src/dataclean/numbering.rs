//! Numbering plans: which digits can be somebody's telephone number, by calling code. The plans are
//! libphonenumber's, as the `phonenumber` crate carries them. Its own check is not used: it takes the
//! plan of one country for the numbers of all (so that 8 800 … and +49 8… fail), and its compiled
//! patterns live in a small cache behind one lock, which texts full of foreign numbers would thrash.

use phonenumber::metadata::{DATABASE, Metadata};
use regex::Regex;
use std::sync::OnceLock;

/// Calling codes have one to three digits and none begins another.
const CODES: usize = 1000;
/// More digits than any national number has.
const MOST_DIGITS: usize = 24;

/// The plans, each compiled at its first use and then shared by all threads.
pub(crate) struct Plans {
    by_code: Vec<OnceLock<Option<Regex>>>,
}

impl Plans {
    /// No plan is compiled yet.
    pub(crate) fn new() -> Self {
        Self {
            by_code: (0..CODES).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Whether a number with its calling code, in digit values, is in the plan of its country.
    pub(crate) fn know_whole(&self, values: &[u8]) -> bool {
        (1..=values.len().min(3)).any(|length| {
            let (code, national) = values.split_at(length);
            let code = code
                .iter()
                .fold(0, |code, value| code * 10 + u16::from(*value));
            self.know(code, national)
        })
    }

    /// Whether a national number, in digit values, is in the plan of a calling code.
    pub(crate) fn know(&self, code: u16, national: &[u8]) -> bool {
        let mut digits = [0; MOST_DIGITS];
        let Some(digits) = digits.get_mut(..national.len()) else {
            return false;
        };
        for (digit, value) in digits.iter_mut().zip(national) {
            *digit = b'0' + value;
        }
        let digits = str::from_utf8(digits).unwrap_or_default();
        self.plan(code).is_some_and(|plan| plan.is_match(digits))
    }

    fn plan(&self, code: u16) -> Option<&Regex> {
        self.by_code
            .get(usize::from(code))?
            .get_or_init(|| compile(code))
            .as_ref()
    }
}

/// One pattern for all kinds of numbers of all countries that share a calling code.
fn compile(code: u16) -> Option<Regex> {
    let countries = DATABASE.by_code(&code)?;
    let mut patterns: Vec<&str> = countries.into_iter().flat_map(patterns).collect();
    patterns.sort_unstable();
    patterns.dedup();
    if patterns.is_empty() {
        return None;
    }
    // The patterns hold layout, which `x` ignores; the line feed ends a comment, should one hold any.
    let pattern = format!("^(?x-u:{}\n)$", patterns.join("\n|"));
    Regex::new(&pattern).ok()
}

fn patterns(country: &Metadata) -> impl Iterator<Item = &str> {
    let kinds = country.descriptors();
    let kinds = [
        kinds.fixed_line(),
        kinds.mobile(),
        kinds.toll_free(),
        kinds.premium_rate(),
        kinds.shared_cost(),
        kinds.personal_number(),
        kinds.voip(),
        kinds.pager(),
        kinds.uan(),
        kinds.voicemail(),
    ];
    kinds
        .into_iter()
        .flatten()
        .map(|kind| kind.national_number().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_many_countries_are_known() {
        let plans = Plans::new();
        for (number, known) in [
            ("79123456789", true),
            ("78005553535", true),
            ("78126425014", true),
            ("77012345678", true),
            ("70123456789", false),
            ("442079460958", true),
            ("4989123456", true),
            ("390236618300", true),
            ("14155552671", true),
            ("10123456789", false),
            ("375291234567", true),
            ("999123456789", false),
            ("7", false),
        ] {
            let values: Vec<u8> = number.bytes().map(|byte| byte - b'0').collect();
            assert_eq!(plans.know_whole(&values), known, "{number}");
        }
    }

    #[test]
    fn every_plan_compiles() {
        let plans = Plans::new();
        let missing = |code: &u16| DATABASE.by_code(code).is_some() && plans.plan(*code).is_none();
        assert_eq!((1..1000).find(missing), None);
    }
}
