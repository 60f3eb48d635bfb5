//! Models that others have trained, in ONNX (feature `onnx`): one that marks words, for the patterns of
//! §2.8, and one that classifies whole texts, for the categories of guardrails. A model is handed over as
//! its files' contents; nothing is read from disk here, nothing fetched. The runtime takes one thread:
//! callers run many texts at once.

mod classifier;
mod labels;
mod model;
mod session;
mod tagger;
mod vocabulary;
mod windows;

#[cfg(any(test, feature = "test-models"))]
pub mod made;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use classifier::Classifier;
pub use tagger::Tagger;

/// The contents of a model's folder.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// `model.onnx`.
    pub model: Vec<u8>,
    /// `tokenizer.json` or `vocab.txt`: the word pieces of a BERT model.
    pub vocabulary: String,
    /// `config.json` with `id2label`.
    pub config: String,
}

/// How much of one text a model is shown.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Windows, at most.
    pub max_windows: usize,
    /// Microseconds after which no further window is begun.
    pub time_us: u64,
    /// Microseconds since some moment; never goes back.
    pub clock: fn() -> u64,
}
