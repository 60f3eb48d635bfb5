//! Runs a text through a loaded model, window by window, within its limits. The callers interpret the
//! scores.

use super::session::{Scores, Session};
use super::vocabulary::{Piece, Vocabulary};
use super::windows::{self, WINDOW, Window, windows};
use super::{InferenceLimits, ModelFiles, labels};

/// Dimensions of an answer that scores each word.
pub(super) const BY_WORDS: usize = 3;
/// Dimensions of an answer that scores a whole text.
pub(super) const WHOLE: usize = 2;

/// A model whose answers have `N` dimensions.
pub(super) struct Model<const N: usize> {
    session: Session,
    vocabulary: Vocabulary,
    /// What the numbers of its answers mean.
    pub(super) labels: Vec<String>,
    bounds: InferenceLimits,
}

/// One window with what the model says of it.
pub(super) struct Shown<'a> {
    /// The pieces of the whole text.
    pub(super) pieces: &'a [Piece],
    pub(super) window: Window,
    /// Of words: a row for each piece of the window and for the two that frame it.
    pub(super) scores: Scores,
}

impl<const N: usize> Model<N> {
    /// Makes a model ready and shows it a whole window, so that one that cannot run is known before
    /// the first message.
    ///
    /// # Errors
    /// What is wrong with one of the files.
    pub(super) fn new(parts: ModelFiles, bounds: InferenceLimits) -> Result<Self, String> {
        let model = Self {
            vocabulary: Vocabulary::new(&parts.vocabulary)?,
            labels: labels::of_config(&parts.config)?,
            session: Session::new(parts.model)?,
            bounds,
        };
        let window = model.vocabulary.unknown(WINDOW);
        let unable = |why| format!("a window of {} tokens: {why}", window.len());
        model.scores(&window).map_err(unable)?;
        Ok(model)
    }

    /// Shows a text; why the model has not seen all of it, where it has not.
    pub(super) fn show(&self, text: &str, mut take: impl FnMut(&Shown<'_>)) -> Option<String> {
        let InferenceLimits { time_us, clock, .. } = self.bounds;
        let most = windows::pieces_in(self.bounds.max_windows);
        let (pieces, whole) = self.vocabulary.pieces(text, most);
        let started = clock();
        for window in windows(pieces.len()) {
            // The first one is shown anyway: without it there would be no verdict at all.
            if window.shown.start > 0 && clock().saturating_sub(started) >= time_us {
                let (seen, ms) = (window.judged.start, time_us / 1000);
                return Some(format!(
                    "the model was stopped after {ms} ms; it was shown the first {seen} pieces of words only"
                ));
            }
            let tokens = self.vocabulary.framed(&pieces[window.shown.clone()]);
            match self.scores(&tokens) {
                Ok(scores) => take(&Shown {
                    pieces: &pieces,
                    window,
                    scores,
                }),
                Err(why) => return Some(why),
            }
        }
        (!whole).then(|| format!("the model was shown the first {most} pieces of words only"))
    }

    fn scores(&self, tokens: &[i32]) -> Result<Scores, String> {
        let scores = self.session.run::<N>(tokens)?;
        let rows = if N == BY_WORDS { tokens.len() } else { 1 };
        if scores.width != self.labels.len() {
            let (answered, named) = (scores.width, self.labels.len());
            return Err(format!(
                "the model answers with {answered} labels and config.json has {named}"
            ));
        }
        if scores.values.len() != rows * scores.width {
            return Err(
                "the model answers with more or fewer rows than it was asked for".to_owned(),
            );
        }
        if !scores.values.iter().all(|score| score.is_finite()) {
            return Err("the model answers with scores that are no numbers".to_owned());
        }
        Ok(scores)
    }
}
