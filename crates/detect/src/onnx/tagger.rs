//! A model that tags words, as a set of detectors: one for each pattern that its labels stand for, all
//! served by one run of the model.

use super::model::{BY_WORDS, Model};
use super::vocabulary::Piece;
use super::{InferenceLimits, ModelFiles, labels};
use crate::dataclean::{Detector, ModelFinds, PatternName, Span, Strength, Text};
use std::sync::Arc;

/// A loaded model and what its labels stand for.
pub struct Tagger {
    model: Model<BY_WORDS>,
    /// For each number of the model's answers: the pattern, and whether it goes on with the word before.
    meanings: Vec<Option<(PatternName, bool)>>,
}

impl Tagger {
    /// Makes a model ready. `meant` says which label stands for which pattern; a label that is named
    /// like a pattern stands for it anyway.
    ///
    /// # Errors
    /// What is wrong with one of the files, that it cannot run, or which label is not the model's.
    pub fn new(
        parts: ModelFiles,
        meant: &[(String, PatternName)],
        bounds: InferenceLimits,
    ) -> Result<Self, String> {
        let model = Model::new(parts, bounds)?;
        let is = |label: &str, name: &str| name == label || name == labels::parts(label).0;
        labels::all_known(meant.iter().map(|(name, _)| name), &model.labels, is)?;
        let meaning = |label: &String| {
            let (kind, goes_on) = labels::parts(label);
            let named = meant.iter().find(|(name, _)| is(label, name));
            let pattern = named.map(|(_, pattern)| *pattern).or(kind.parse().ok())?;
            Some((pattern, goes_on))
        };
        let meanings: Vec<_> = model.labels.iter().map(meaning).collect();
        if meanings.iter().all(Option::is_none) {
            return Err(labels::none_stands_for("pattern", &model.labels));
        }
        Ok(Self { model, meanings })
    }

    /// One detector for each pattern of its labels.
    pub fn detectors(self) -> Vec<Box<dyn Detector>> {
        let tagger = Arc::new(self);
        let meant = |name: &PatternName| {
            let mut meanings = tagger.meanings.iter().flatten();
            meanings.any(|(pattern, _)| pattern == name)
        };
        PatternName::every()
            .filter(meant)
            .map(|name| {
                let tagger = tagger.clone();
                Box::new(Modelled { name, tagger }) as Box<dyn Detector>
            })
            .collect()
    }

    /// All finds of a text.
    fn find(&self, text: &str) -> ModelFinds {
        let mut spans: Vec<Span> = Vec::new();
        let failure = self.model.show(text, |shown| {
            let (pieces, width) = (shown.pieces, shown.scores.width);
            for at in shown.window.judged.clone().filter(|at| pieces[*at].begins) {
                let row = (at - shown.window.shown.start + 1) * width;
                let best = best(&shown.scores.values[row..row + width]);
                self.take(&mut spans, best, word(&pieces[at..]), text);
            }
        });
        ModelFinds { spans, failure }
    }

    /// Adds a word to the finds by its label.
    fn take(&self, spans: &mut Vec<Span>, label: usize, (start, end): (usize, usize), text: &str) {
        /// What stands between two words of one find, in bytes.
        const WIDEST_GAP: usize = 3;
        let Some((kind, goes_on)) = self.meanings[label] else {
            return;
        };
        if let Some(last) = spans.last_mut().filter(|last| goes_on && last.kind == kind) {
            let gap = &text[last.end..start];
            if gap.len() <= WIDEST_GAP && !gap.contains(['\n', ';', '|']) {
                last.end = end;
                return;
            }
        }
        spans.push(Span {
            kind,
            start,
            end,
            strength: Strength::Reading,
        });
    }
}

/// The place of the word that some pieces begin with.
fn word(pieces: &[Piece]) -> (usize, usize) {
    let rest = pieces[1..].iter().take_while(|piece| !piece.begins).last();
    (pieces[0].start, rest.unwrap_or(&pieces[0]).end)
}

fn best(scores: &[f32]) -> usize {
    let scores = scores.iter().enumerate();
    let best = scores.max_by(|(_, one), (_, other)| one.total_cmp(other));
    best.map_or(0, |(at, _)| at)
}

/// One pattern of a model.
struct Modelled {
    name: PatternName,
    tagger: Arc<Tagger>,
}

impl Modelled {
    fn reading<'t>(&self, text: &'t Text) -> &'t ModelFinds {
        text.modelled(|original| self.tagger.find(original))
    }
}

impl Detector for Modelled {
    fn name(&self) -> PatternName {
        self.name
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let finds = &self.reading(text).spans;
        out.extend(finds.iter().filter(|span| span.kind == self.name));
    }

    fn failure(&self, text: &Text) -> Option<String> {
        self.reading(text).failure.clone()
    }
}
