//! The measured cost and benefit of a threshold: for each category and threshold, how many ordinary prompts
//! are flagged and how many relevant messages are found (§2.8 `guardrails`, CONTRACT 38). The figures come
//! from kinds of texts that the models had not seen. The trainer and `cargo bench --bench detect -- report`
//! write `rates.tsv`; nothing is measured at run time.

use super::Category;
use std::sync::LazyLock;

static TABLE: &str = include_str!("rates.tsv");
static RATES: LazyLock<Vec<Rate>> =
    LazyLock::new(|| TABLE.lines().filter_map(Rate::read).collect());

/// One category at one threshold. Counts of texts; an empty group is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// What was looked for.
    pub category: Category,
    /// The score from which a message is flagged, 0.05 to 0.95.
    pub threshold: f64,
    /// Ordinary prompts, Russian and English, that were scored.
    pub ordinary: u32,
    /// How many of them this category flags at this threshold: false alarms.
    pub flagged: u32,
    /// Messages that the category is for.
    pub wanted: u32,
    /// How many of them it finds at this threshold.
    pub found: u32,
}

impl Rate {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let rate = Self {
            category: fields.next()?.parse().ok()?,
            threshold: fields.next()?.parse().ok()?,
            ordinary: fields.next()?.parse().ok()?,
            flagged: fields.next()?.parse().ok()?,
            wanted: fields.next()?.parse().ok()?,
            found: fields.next()?.parse().ok()?,
        };
        fields.next().is_none().then_some(rate)
    }

    /// The share of ordinary prompts that are flagged, 0 to 1; None where none were scored.
    pub fn false_alarms(&self) -> Option<f64> {
        share(self.flagged, self.ordinary)
    }

    /// The share of what the category is for that is found, 0 to 1; None where there was none of it.
    pub fn recall(&self) -> Option<f64> {
        share(self.found, self.wanted)
    }
}

fn share(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part) / f64::from(whole))
}

/// Every measured category and threshold: categories in groups, thresholds rising by 0.05.
pub fn rates() -> &'static [Rate] {
    &RATES
}

/// The figures of a category at the highest measured threshold that is not above this one; below the lowest
/// one, those of the lowest. None for a category that was not measured.
pub fn rate_at(category: Category, threshold: f64) -> Option<&'static Rate> {
    let own = || rates().iter().filter(|rate| rate.category == category);
    let below = own().filter(|rate| rate.threshold <= threshold + 1e-9);
    below.reduce(|_, next| next).or_else(|| own().next())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read_and_every_category_is_measured() {
        assert_eq!(rates().len(), TABLE.lines().count());
        for category in Category::all() {
            let own: Vec<_> = rates()
                .iter()
                .filter(|rate| rate.category == category)
                .collect();
            assert!(own.len() >= 19, "{category}");
            assert!(
                own.iter()
                    .all(|rate| rate.ordinary >= 3_000 && rate.wanted > 0)
            );
            for pair in own.windows(2) {
                assert!(pair[0].threshold < pair[1].threshold, "{category}");
                assert!(pair[0].flagged >= pair[1].flagged, "{category}");
                assert!(pair[0].found >= pair[1].found, "{category}");
            }
        }
    }

    #[test]
    fn a_threshold_between_two_has_the_figures_of_the_lower_one() {
        let at = |threshold| rate_at(Category::Toxicity, threshold).unwrap().threshold;
        assert_eq!(at(0.52), 0.5);
        assert_eq!(at(0.5), 0.5);
        assert_eq!(at(0.01), 0.05);
        assert_eq!(at(1.0), 0.95);
    }

    #[test]
    fn by_default_a_category_flags_few_ordinary_prompts() {
        for category in Category::all() {
            let rate = rate_at(category, super::super::DEFAULT_THRESHOLD).unwrap();
            assert!(
                rate.false_alarms().unwrap() <= 0.015,
                "{category}: {rate:?}"
            );
        }
    }
}
