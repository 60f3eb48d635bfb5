//! Models that others have trained, in ONNX (feature `onnx`): one that marks words, for the patterns of
//! §2.8, and one that classifies whole texts. A model is handed over as its files' contents; nothing is
//! read from disk here, nothing fetched. The runtime takes one thread: callers run many texts at once.

mod classifier;
mod labels;
mod session;
mod tagger;
mod vocabulary;
mod windows;

#[cfg(test)]
pub(crate) mod made;
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

/// What a model's answers are made of, and how much of a text it is shown.
struct Model {
    session: session::Session,
    vocabulary: vocabulary::Vocabulary,
    /// What the numbers of its answers mean.
    labels: Vec<String>,
    max_windows: usize,
}

impl Model {
    fn new(parts: Parts, max_windows: usize) -> Result<Self, String> {
        Ok(Self {
            vocabulary: vocabulary::Vocabulary::new(&parts.vocabulary)?,
            labels: labels::of_config(&parts.config)?,
            session: session::Session::new(parts.model)?,
            max_windows,
        })
    }
}
