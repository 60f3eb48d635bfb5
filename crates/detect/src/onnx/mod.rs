//! External models in ONNX (feature `onnx`): taggers for the patterns of §2.8, and classifiers for the
//! categories of guardrails. The caller passes the contents of the files; nothing is read from disk or
//! fetched here. The runtime uses one thread, because callers analyze many texts at once.

mod classifier;
mod labels;
mod model;
mod session;
mod tagger;
mod vocabulary;
mod windows;

#[cfg(any(test, feature = "test-models"))]
pub mod test_models;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use classifier::Classifier;
pub use tagger::Tagger;

/// The contents of a model's folder.
#[derive(Clone, Debug, Default)]
pub struct ModelFiles {
    /// The contents of `model.onnx`.
    pub model: Vec<u8>,
    /// `tokenizer.json` or `vocab.txt`: the word pieces of a BERT model.
    pub vocabulary: String,
    /// `config.json` with `id2label`.
    pub config: String,
}

/// How much of one text a model is shown.
#[derive(Clone, Copy, Debug)]
pub struct InferenceLimits {
    /// Windows, at most.
    pub max_windows: usize,
    /// Microseconds after which no further window is begun.
    pub time_us: u64,
    /// Microseconds since some moment; never goes back.
    pub clock: fn() -> u64,
}
