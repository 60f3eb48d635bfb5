//! A model that classifies whole texts, as a set of guardrails: one for each category that its labels stand
//! for, all served by one run of the model. Of a long text, the window with the highest score counts.

use super::model::{Model, WHOLE};
use super::{InferenceLimits, ModelFiles, labels};
use crate::guardrails::{Category, Classification, DEFAULT_THRESHOLD, Finding, Guardrail, Text};
use serde_json::Value;
use std::sync::Arc;

/// The reason of a category that the model scores.
const REASON: &str = "classifier";
/// The threshold of a label of which the settings say nothing.
const EVEN: f64 = 0.5;

/// A loaded model and what its labels stand for.
pub struct Classifier {
    model: Model<WHOLE>,
    /// For each output of the model: the category, and the score of the model that becomes the default
    /// threshold of the category.
    meanings: Vec<Option<(Category, f64)>>,
    /// The labels do not exclude each other.
    several: bool,
}

impl Classifier {
    /// Makes a model ready. `meant` says which label stands for which category; a label that is named
    /// like a category stands for it anyway. `thresholds` say which score of a label, above 0 and below
    /// 1, is worth the default threshold of a category.
    ///
    /// # Errors
    /// What is wrong with one of the files, that it cannot run, or which label is not the model's.
    pub fn new(
        parts: ModelFiles,
        meant: &[(String, Category)],
        thresholds: &[(String, f64)],
        bounds: InferenceLimits,
    ) -> Result<Self, String> {
        let config: Value = serde_json::from_str(&parts.config).unwrap_or_default();
        let model = Model::new(parts, bounds)?;
        let all = &model.labels;
        let named = meant.iter().map(|(label, _)| label);
        let named = named.chain(thresholds.iter().map(|(label, _)| label));
        labels::all_known(named, all, |label, name| label == name)?;
        let meaning = |label: &String| {
            let named = meant.iter().find(|(name, _)| name == label);
            let category = named.map(|(_, category)| *category);
            let from = thresholds.iter().find(|(name, _)| name == label);
            let category = category.or(label.parse().ok())?;
            Some((category, from.map_or(EVEN, |(_, from)| *from)))
        };
        let meanings: Vec<_> = all.iter().map(meaning).collect();
        if meanings.iter().all(Option::is_none) {
            return Err(labels::none_stands_for("category", all));
        }
        // One label alone is a yes or a no.
        let several = config["problem_type"] == "multi_label_classification" || all.len() == 1;
        Ok(Self {
            model,
            meanings,
            several,
        })
    }

    /// One guardrail for each category of its labels.
    pub fn guardrails(self) -> Vec<Box<dyn Guardrail>> {
        let classifier = Arc::new(self);
        let meant = |category: &Category| {
            let mut meanings = classifier.meanings.iter().flatten();
            meanings.any(|(meant, _)| meant == category)
        };
        Category::all()
            .filter(meant)
            .map(|category| {
                let classifier = classifier.clone();
                Box::new(Modelled {
                    category,
                    classifier,
                }) as Box<dyn Guardrail>
            })
            .collect()
    }

    fn classify(&self, text: &str) -> Classification {
        let mut highest = vec![0.0; self.meanings.len()];
        let failure = self.model.show(text, |shown| {
            let shares = self.shares(&shown.scores.values);
            for (highest, share) in highest.iter_mut().zip(shares) {
                *highest = f64::max(*highest, share);
            }
        });
        let mut scored: Vec<(Category, f64)> = Vec::new();
        for (share, meaning) in highest.into_iter().zip(&self.meanings) {
            let Some((category, from)) = *meaning else {
                continue;
            };
            let score = calibrated(share, from);
            match scored.iter_mut().find(|(known, _)| *known == category) {
                Some((_, known)) => *known = known.max(score),
                None => scored.push((category, score)),
            }
        }
        Classification {
            scores: scored,
            failure,
        }
    }

    /// From 0 to 1 for each label.
    fn shares(&self, scores: &[f32]) -> Vec<f64> {
        let scores = scores.iter().map(|score| f64::from(*score));
        if self.several {
            return scores.map(|score| 1.0 / (1.0 + (-score).exp())).collect();
        }
        let most = scores.clone().fold(f64::MIN, f64::max);
        let raised: Vec<f64> = scores.map(|score| (score - most).exp()).collect();
        let sum: f64 = raised.iter().sum();
        raised.into_iter().map(|score| score / sum).collect()
    }
}

/// The model's own threshold comes to lie where the thresholds of categories are by default, so that
/// those of an application hold for it too; 0 and 1 stay.
fn calibrated(share: f64, from: f64) -> f64 {
    match share < from {
        true => DEFAULT_THRESHOLD * share / from,
        false => DEFAULT_THRESHOLD + (1.0 - DEFAULT_THRESHOLD) * (share - from) / (1.0 - from),
    }
}

/// One category of a model.
struct Modelled {
    category: Category,
    classifier: Arc<Classifier>,
}

impl Modelled {
    fn reading<'t>(&self, text: &'t Text<'_>) -> &'t Classification {
        text.classified(|original| self.classifier.classify(original))
    }
}

impl Guardrail for Modelled {
    fn category(&self) -> Category {
        self.category
    }

    fn check(&self, text: &Text<'_>) -> Option<Finding> {
        let mut scored = self.reading(text).scores.iter();
        let own = scored.find(|(category, _)| *category == self.category);
        own.map(|(_, score)| Finding {
            score: *score,
            reason: REASON,
        })
    }

    fn failure(&self, text: &Text<'_>) -> Option<String> {
        let failure = self.reading(text).failure.as_ref();
        failure.map(|why| format!("{REASON}: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::calibrated;

    #[test]
    fn the_threshold_of_a_label_lies_at_the_default_threshold_of_a_category() {
        for (share, from, score) in [
            (0.3, 0.5, 0.3),
            (0.8, 0.8, 0.5),
            (0.4, 0.8, 0.25),
            (0.9, 0.8, 0.75),
            (0.0, 0.8, 0.0),
            (1.0, 0.8, 1.0),
        ] {
            assert!((calibrated(share, from) - score).abs() < 1e-9, "{share}");
        }
    }
}
