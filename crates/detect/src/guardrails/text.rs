//! A message, as the guardrails see it: its tokens, the texts hidden in it, and the scores of the linear
//! models. Each is computed once, for the first guardrail that asks.

use super::category::Category;
use super::cues::table::{CUES, CueKind};
use super::cues::{self, Hit};
use super::harm_kinds;
use super::linear::features::Features;
use super::linear::{ATTACK, FOREIGN, HARM, HEADS, KINDS, Model};
use super::obfuscation;
use super::reading::TokenizedText;
use crate::weights;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::LazyLock;

static WEIGHTS: LazyLock<Vec<u8>> = LazyLock::new(|| weights::GUARDRAILS.unpack());
static MODEL: LazyLock<Option<Model<'static>>> = LazyLock::new(|| Model::new(&WEIGHTS));

/// A margin by which one kind of attack leaves the others behind.
const SURE: f32 = 1.5;

/// A message under analysis.
pub struct Text<'a> {
    original: &'a str,
    read: Rc<TokenizedText>,
    verdicts: OnceCell<Vec<Verdict>>,
    #[cfg(feature = "onnx")]
    classified: OnceCell<Classification>,
}

/// What a model from a folder says of a text.
#[cfg(feature = "onnx")]
#[derive(Clone, Debug)]
pub struct Classification {
    /// A score for each category that the model's labels stand for, 0 to 1.
    pub scores: Vec<(Category, f64)>,
    /// Why the model has not seen all of the text.
    pub failure: Option<String>,
}

/// What the models say of one reading of a message.
pub(super) struct Verdict {
    pub(super) read: Rc<TokenizedText>,
    pub(super) hits: Vec<Hit>,
    /// Scores of [`ATTACK`] and [`HARM`]; margins of [`KINDS`].
    pub(super) scores: [f32; HEADS],
    /// The reading was hidden in the message.
    pub(super) is_hidden: bool,
    /// By category: how much of it is about that.
    shares: OnceCell<[(&'static str, f32); harm_kinds::KINDS]>,
}

impl Verdict {
    fn of(read: Rc<TokenizedText>, is_hidden: bool) -> Self {
        let hits = cues::find(&read);
        let features = Features::new(&read, &hits);
        // A build whose weights do not fit its code has a failing test, and scores nothing.
        let scores = MODEL.as_ref().map(|model| model.scores(&features));
        let mut scores = scores.unwrap_or_default();
        // What was hidden is not a mail.
        if !is_hidden && scores[FOREIGN] > scores[ATTACK] {
            scores[ATTACK] = scores[FOREIGN];
            // What stands in a mail for an assistant is an injection.
            scores[KINDS[0]] = KINDS.iter().map(|kind| scores[*kind]).fold(SURE, f32::max) + SURE;
        }
        Self {
            scores,
            read,
            hits,
            is_hidden,
            shares: OnceCell::new(),
        }
    }

    /// How much of a harmful request is about a category, 0 to 1.
    pub(super) fn share(&self, category: Category) -> f32 {
        let shares = self.shares.get_or_init(|| harm_kinds::shares(&self.read));
        let own = shares.iter().find(|(name, _)| *name == category.as_str());
        own.map_or(0.0, |(_, share)| *share)
    }

    /// How much each kind of attack has to do with it, the most likely one at 1.
    pub(super) fn kinds(&self) -> [f32; 3] {
        let margins = KINDS.map(|head| self.scores[head]);
        let highest = margins.iter().copied().fold(f32::MIN, f32::max);
        margins.map(|margin| (2.0 * (margin - highest)).exp())
    }

    /// The cue that is reported as the reason, the first of its kind.
    pub(super) fn reason(&self, kind: CueKind) -> &'static str {
        if self.is_hidden {
            return "hidden_text";
        }
        let mut hits = self.hits.iter();
        let hit = hits.find(|hit| hit.kind == kind);
        let is_foreign = kind == CueKind::Injection && self.scores[FOREIGN] >= self.scores[ATTACK];
        match hit {
            Some(hit) => CUES[usize::from(hit.cue)].name,
            None if is_foreign => "foreign_request",
            None => "model",
        }
    }
}

impl<'a> Text<'a> {
    /// Reads a message.
    pub fn new(original: &'a str) -> Self {
        Self {
            original,
            read: Rc::new(TokenizedText::new(original)),
            verdicts: OnceCell::new(),
            #[cfg(feature = "onnx")]
            classified: OnceCell::new(),
        }
    }

    /// The message, untouched.
    pub fn original(&self) -> &'a str {
        self.original
    }

    /// What a model says, asked by the first of its guardrails.
    #[cfg(feature = "onnx")]
    pub(crate) fn classified(
        &self,
        classify: impl FnOnce(&str) -> Classification,
    ) -> &Classification {
        self.classified.get_or_init(|| classify(self.original))
    }

    pub(super) fn read(&self) -> &TokenizedText {
        &self.read
    }

    /// The reading that looks most like an attack.
    pub(super) fn attack(&self) -> Option<&Verdict> {
        self.highest(ATTACK)
    }

    /// The reading that looks most like a harmful request.
    pub(super) fn harm(&self) -> Option<&Verdict> {
        self.highest(HARM)
    }

    fn highest(&self, head: usize) -> Option<&Verdict> {
        let verdicts = self.verdicts.get_or_init(|| self.verdicts());
        verdicts
            .iter()
            .max_by(|a, b| a.scores[head].total_cmp(&b.scores[head]))
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let hidden = obfuscation::readings(self.original, &self.read);
        let hidden = hidden
            .iter()
            .map(|text| Verdict::of(Rc::new(TokenizedText::new(text)), true));
        std::iter::once(Verdict::of(Rc::clone(&self.read), false))
            .chain(hidden)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_fit_the_code() {
        assert!(MODEL.is_some());
        assert!(WEIGHTS.len() <= 20 << 20);
    }
}
