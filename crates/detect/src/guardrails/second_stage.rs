//! A second stage behind the built-in guardrails, such as a model from a folder. It sees the messages they
//! are unsure of, or all; it can raise a score and never lowers one.

use super::category::CategoryThreshold;
use super::check::{check_whole, in_grey_zone};
use super::guardrail::Guardrail;
use monitor_model::ShownWhen;
use monitor_model::{CategoryScore, GuardrailsReport};

/// Further guardrails, and what they look at.
pub struct SecondStage {
    guardrails: Vec<Box<dyn Guardrail>>,
    when: ShownWhen,
}

impl SecondStage {
    /// A stage of these guardrails, at most one for each category.
    pub fn new(guardrails: Vec<Box<dyn Guardrail>>, when: ShownWhen) -> Self {
        Self { guardrails, when }
    }

    /// Adds what it finds in the categories that are asked for to the report of the first stage; returns
    /// one entry per failure.
    pub(crate) fn add_to(
        &self,
        report: &mut GuardrailsReport,
        text: &str,
        asked: &[CategoryThreshold],
    ) -> Vec<String> {
        let knows = |asked: &&CategoryThreshold| {
            let mut own = self.guardrails.iter();
            own.any(|guardrail| guardrail.category() == asked.category)
        };
        let asked: Vec<CategoryThreshold> = asked.iter().filter(knows).copied().collect();
        let shown = self.when == ShownWhen::Always || in_grey_zone(report);
        if asked.is_empty() || !shown {
            return Vec::new();
        }
        let (second, failures) = check_whole(&self.guardrails, text, &asked);
        for category in second.categories {
            raise(&mut report.categories, category);
        }
        report.flagged |= second.flagged;
        report.score = match (report.score, second.score) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        let categories = &mut report.categories;
        categories.sort_by(|one, other| other.score.total_cmp(&one.score));
        report.settle_low_scores();
        failures
    }
}

fn raise(categories: &mut Vec<CategoryScore>, found: CategoryScore) {
    let mut known = categories.iter_mut();
    match known.find(|known| known.name == found.name) {
        Some(known) if known.score >= found.score => {}
        Some(known) => *known = found,
        None => categories.push(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guardrails::{Category, Finding, Text};

    struct Says(Category, f64, Option<&'static str>);

    impl Guardrail for Says {
        fn category(&self) -> Category {
            self.0
        }

        fn check(&self, _: &Text<'_>) -> Option<Finding> {
            Some(Finding {
                score: self.1,
                reason: "second",
            })
        }

        fn failure(&self, _: &Text<'_>) -> Option<String> {
            self.2.map(str::to_owned)
        }
    }

    const ASKED: [CategoryThreshold; 2] = [
        CategoryThreshold {
            category: Category::Jailbreak,
            threshold: 0.5,
        },
        CategoryThreshold {
            category: Category::Toxicity,
            threshold: 0.5,
        },
    ];

    /// The verdict when the first stage gives jailbreak this score.
    fn verdict(first: f64, second: Vec<Says>, when: ShownWhen) -> (GuardrailsReport, Vec<String>) {
        let stage = |says: Vec<Says>| {
            let boxed = says
                .into_iter()
                .map(|one| Box::new(one) as Box<dyn Guardrail>);
            boxed.collect::<Vec<_>>()
        };
        let first = stage(vec![Says(Category::Jailbreak, first, None)]);
        let (mut report, mut failures) = check_whole(&first, "x", &ASKED);
        let second = SecondStage::new(stage(second), when);
        failures.extend(second.add_to(&mut report, "x", &ASKED));
        (report, failures)
    }

    #[test]
    fn it_looks_at_the_grey_zone_or_at_everything_and_only_ever_adds() {
        use ShownWhen::{Always, GreyZone};
        for (first, when, flagged, score) in [
            (0.05, GreyZone, false, 0.05),
            (0.3, GreyZone, true, 0.9),
            (0.95, GreyZone, true, 0.95),
            (0.05, Always, true, 0.9),
            (0.95, Always, true, 0.95),
        ] {
            let second = vec![
                Says(Category::Toxicity, 0.9, None),
                Says(Category::Jailbreak, 0.1, None),
            ];
            let (report, failures) = verdict(first, second, when);
            assert_eq!(report.flagged, flagged, "{first} {when:?}");
            assert_eq!((report.score, failures.len()), (Some(score), 0), "{first}");
            let names = report.categories.iter().map(|one| one.score);
            assert!(names.is_sorted_by(|one, other| one >= other));
        }
    }

    #[test]
    fn what_it_cannot_see_is_told_once_and_what_nobody_asks_for_is_not_looked_at() {
        let torn = |category| Says(category, 0.6, Some("torn"));
        let second = vec![torn(Category::Toxicity), torn(Category::Jailbreak)];
        let (report, failures) = verdict(0.3, second, ShownWhen::GreyZone);
        assert_eq!(failures, ["torn"]);
        assert!(report.flagged);
        let other = vec![torn(Category::Weapons)];
        let (report, failures) = verdict(0.3, other, ShownWhen::GreyZone);
        assert_eq!((report.flagged, failures.len()), (false, 0));
    }
}
