//! Runs the guardrails of the rules over one text and compares their scores with the thresholds.

use super::category::CategoryThreshold;
use super::guardrail::{Finding, Guardrail};
use super::text::Text;
use crate::message::{Message, portions};
use crate::seams::joined_seams;
use monitor_model::{CategoryScore, GuardrailsReport, LowScore};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Scores below this have no entry among the categories.
const LEAST_REPORTED: f64 = 0.1;
/// Where the grey zone begins: see [`in_grey_zone`].
pub const GREY_FROM: f64 = 0.2;

/// Scores a message by the categories that are asked for; one entry per guardrail that failed. It is read
/// portion by portion and across their seams, and the highest score of each category counts.
pub(crate) fn check(
    guardrails: &[Box<dyn Guardrail>],
    message: Message<'_>,
    asked: &[CategoryThreshold],
) -> (GuardrailsReport, Vec<String>) {
    let mut scores = Scores::new(guardrails, asked);
    for portion in portions(message.text) {
        scores.read(portion.text);
    }
    for joined in joined_seams(message) {
        scores.read(&joined.text);
    }
    scores.report()
}

/// The same for guardrails with bounds of their own for one text, which read it as a whole.
pub(super) fn check_whole(
    guardrails: &[Box<dyn Guardrail>],
    text: &str,
    asked: &[CategoryThreshold],
) -> (GuardrailsReport, Vec<String>) {
    let mut scores = Scores::new(guardrails, asked);
    scores.read(text);
    scores.report()
}

/// The scores of a message so far.
struct Scores<'c> {
    guardrails: &'c [Box<dyn Guardrail>],
    asked: &'c [CategoryThreshold],
    /// What speaks most for each of the categories.
    highest: Vec<Option<Finding>>,
    failures: Vec<String>,
    failed: Vec<bool>,
}

impl<'c> Scores<'c> {
    fn new(guardrails: &'c [Box<dyn Guardrail>], asked: &'c [CategoryThreshold]) -> Self {
        Self {
            guardrails,
            asked,
            highest: vec![None; asked.len()],
            failures: Vec::new(),
            failed: vec![false; asked.len()],
        }
    }

    /// Reads one portion. The text of a panic is dropped: it may quote the message.
    fn read(&mut self, original: &str) {
        let text = Text::new(original);
        for (at, asked) in self.asked.iter().enumerate() {
            let category = asked.category;
            let guardrail = self
                .guardrails
                .iter()
                .find(|one| one.category() == category);
            let looked = look(guardrail.map(|one| &**one), &text);
            self.failed[at] |= looked.is_none();
            let (finding, failure) = looked
                .unwrap_or_else(|| (None, Some(format!("the guardrail of {category} failed"))));
            // Several guardrails may stand on one look at the text.
            let failure = failure.filter(|failure| !self.failures.contains(failure));
            self.failures.extend(failure);
            let highest = &mut self.highest[at];
            if let Some(finding) = finding
                && highest.is_none_or(|known| known.score < finding.score)
            {
                *highest = Some(finding);
            }
        }
    }

    fn report(self) -> (GuardrailsReport, Vec<String>) {
        let mut report = GuardrailsReport::default();
        let mut highest: f64 = 0.0;
        for (asked, finding) in self.asked.iter().zip(self.highest) {
            let Some(finding) = finding else { continue };
            let score = rounded(finding.score);
            highest = highest.max(score);
            let flagged = score >= asked.threshold;
            report.flagged |= flagged;
            let name = asked.category.as_str().to_owned();
            if flagged || score >= LEAST_REPORTED {
                report.categories.push(CategoryScore {
                    name,
                    score,
                    flagged,
                    threshold: Some(asked.threshold),
                    reason: finding.reason.to_owned(),
                });
            } else if score > 0.0 {
                report.low_scores.push(LowScore {
                    name,
                    score,
                    threshold: asked.threshold,
                });
            }
        }
        if self.asked.is_empty() || !self.failed.iter().all(|failed| *failed) {
            report.score = Some(highest);
        }
        report
            .categories
            .sort_by(|a, b| b.score.total_cmp(&a.score));
        report
            .low_scores
            .sort_by(|a, b| b.score.total_cmp(&a.score));
        report.settle_low_scores();
        (report, self.failures)
    }
}

/// What a guardrail finds and why there may be more; None where it panics.
fn look(
    guardrail: Option<&dyn Guardrail>,
    text: &Text<'_>,
) -> Option<(Option<Finding>, Option<String>)> {
    let look = || guardrail.map(|one| (one.check(text), one.failure(text)));
    let looked = catch_unwind(AssertUnwindSafe(look)).ok()?;
    Some(looked.unwrap_or_default())
}

/// Four digits: more would be noise.
fn rounded(score: f64) -> f64 {
    (score.clamp(0.0, 1.0) * 1e4).round() / 1e4
}

/// Whether a report is neither clear nor flagged: some category lies from [`GREY_FROM`] (or half its
/// threshold, where that is less) up to its threshold, and none is flagged. What a second opinion is for.
pub fn in_grey_zone(report: &GuardrailsReport) -> bool {
    let grey = |category: &CategoryScore| {
        category.threshold.is_some_and(|threshold| {
            category.score >= GREY_FROM.min(threshold / 2.0) && category.score < threshold
        })
    };
    !report.flagged && report.categories.iter().any(grey)
}

#[cfg(test)]
mod tests {
    use super::super::category::Category;
    use super::*;

    struct Broken;

    impl Guardrail for Broken {
        fn category(&self) -> Category {
            Category::Jailbreak
        }

        fn check(&self, text: &Text<'_>) -> Option<Finding> {
            std::panic::resume_unwind(Box::new(text.original().to_owned()));
        }
    }

    struct Sure(f64);

    impl Guardrail for Sure {
        fn category(&self) -> Category {
            Category::Toxicity
        }

        fn check(&self, _: &Text<'_>) -> Option<Finding> {
            Some(Finding {
                score: self.0,
                reason: "test",
            })
        }
    }

    fn report(score: f64, threshold: f64) -> GuardrailsReport {
        let guardrails: Vec<Box<dyn Guardrail>> = vec![Box::new(Sure(score))];
        check(
            &guardrails,
            "x".into(),
            &[CategoryThreshold {
                category: Category::Toxicity,
                threshold,
            }],
        )
        .0
    }

    #[test]
    fn a_guardrail_that_panics_is_named_and_the_others_still_count() {
        let guardrails: Vec<Box<dyn Guardrail>> = vec![Box::new(Broken), Box::new(Sure(0.7))];
        let asked = [Category::Jailbreak, Category::Toxicity].map(|category| CategoryThreshold {
            category,
            threshold: 0.5,
        });
        let (report, failures) = check(&guardrails, "secret".into(), &asked);
        assert_eq!(failures, ["the guardrail of jailbreak failed"]);
        assert!(report.flagged);
        assert_eq!(report.score, Some(0.7));
    }

    #[test]
    fn the_highest_scores_are_told_also_where_none_of_them_counts() {
        for (score, listed, low) in [(0.1, 1, 0), (0.0999, 0, 1), (0.000_04, 0, 0), (0.0, 0, 0)] {
            let report = report(score, 0.5);
            let (categories, scores) = (report.categories.len(), &report.low_scores);
            assert_eq!((categories, scores.len()), (listed, low), "{score}");
            assert!(scores.iter().all(|low| (low.threshold - 0.5).abs() < 1e-9));
        }
        // A threshold of 0 flags it.
        assert_eq!(report(0.01, 0.0).categories.len(), 1);
        let low = |name: &str| LowScore {
            name: name.to_owned(),
            score: 0.05,
            threshold: 0.5,
        };
        let mut many = report(0.7, 0.5);
        many.low_scores = ["hate", "toxicity", "drugs", "fraud"].map(low).to_vec();
        many.settle_low_scores();
        let names: Vec<_> = many.low_scores.iter().map(|low| &*low.name).collect();
        assert_eq!(names, ["hate", "drugs"]);
    }

    #[test]
    fn a_threshold_decides_and_a_score_below_it_may_be_grey() {
        for (score, threshold, flagged, grey) in [
            (0.7, 0.5, true, false),
            (0.7, 0.8, false, true),
            (0.5, 0.5, true, false),
            (0.3, 0.5, false, true),
            (0.15, 0.5, false, false),
            (0.15, 0.2, false, true),
        ] {
            let report = report(score, threshold);
            assert_eq!(report.flagged, flagged, "{score} of {threshold}");
            assert_eq!(in_grey_zone(&report), grey, "{score} of {threshold}");
        }
    }
}
