//! A model that scores a whole text by categories. Of a long text the window that speaks loudest counts.

use super::windows::windows;
use super::{Model, Parts};
use serde_json::Value;

/// A loaded model.
pub struct Classifier {
    model: Model,
    /// The categories do not exclude each other.
    several: bool,
}

impl Classifier {
    /// Makes a model ready; `max_windows` bounds how much of a text it is shown.
    ///
    /// # Errors
    /// What is wrong with one of the files.
    pub fn new(parts: Parts, max_windows: usize) -> Result<Self, String> {
        let config: Value = serde_json::from_str(&parts.config).unwrap_or_default();
        let several = config["problem_type"] == "multi_label_classification";
        let model = Model::new(parts, max_windows)?;
        Ok(Self { model, several })
    }

    /// The categories it knows.
    pub fn labels(&self) -> &[String] {
        &self.model.labels
    }

    /// A score from 0 to 1 for each label, in their order; and whether the whole text was looked at.
    ///
    /// # Errors
    /// When the model cannot run or does not answer one score a label.
    pub fn classify(&self, text: &str) -> Result<(Vec<f64>, bool), String> {
        let most = self
            .model
            .max_windows
            .saturating_mul(super::windows::WINDOW);
        let (pieces, whole) = self.model.vocabulary.pieces(text, most);
        let mut highest = vec![0.0; self.model.labels.len()];
        for window in windows(pieces.len()) {
            let framed = self.model.vocabulary.framed(&pieces[window.shown]);
            let scores = self.model.session.run::<2>(&framed)?;
            if scores.values.len() != highest.len() {
                return Err("the model answers other than one score a label".to_owned());
            }
            for (highest, score) in highest.iter_mut().zip(self.shares(&scores.values)) {
                *highest = f64::max(*highest, score);
            }
        }
        Ok((highest, whole))
    }

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
