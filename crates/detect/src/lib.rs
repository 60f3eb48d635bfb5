//! Detection: a pure engine that reports what a text contains (§1.7, §2.9). No I/O, no clock, no store and
//! no runtime; the caller decides what follows from a report.

mod chars;
mod compiled;
mod confusables;
pub mod custom_policy;
pub mod dataclean;
mod engine;
pub mod guardrails;
mod message;
#[cfg(feature = "onnx")]
pub mod onnx;
mod report;
pub mod rules;
mod seams;
pub mod tokens;
mod unknown_name;
mod weight_rows;
pub mod weights;

pub use compiled::{Compiled, LARGEST_TOGETHER, PatternFailure};
pub use dataclean::{Detector, LocalDetectors, PatternName, Span};
pub use engine::{Engine, ProposedFinds};
pub use message::{AnalysisBudget, Message};
pub use report::{NOT_ANALYZED, Report, SECOND_OPINION};
pub use rules::{CleanType, DatacleanRules, MaskStyle, Rules};
pub use seams::{Reader, is_read_whole};
pub use tokens::Encoding;
pub use unknown_name::UnknownName;

/// What `training/` shares with the engine: how a text is read and turned into features, and the form of
/// the weights. No part of the API; a change to any of it needs new weights.
#[doc(hidden)]
pub mod training {
    pub use crate::dataclean::tagger::{crf, lexicon, pipeline, sentence, token};
    pub use crate::guardrails::{cues, harm_kinds, linear, obfuscation, reading};
}
