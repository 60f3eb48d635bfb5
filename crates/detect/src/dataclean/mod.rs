//! Sensitive data: finds spans of the predefined patterns (§2.8) and cleans the text (CONTRACT 25).
//! Detectors propose spans; `overlap` decides which of two overlapping ones wins.

pub(crate) mod checksum;
pub(crate) mod custom;
mod detector;
mod detectors;
mod local_detectors;
mod mask;
mod mentions;
mod normalize;
pub(crate) mod numbering;
mod overlap;
mod pattern_name;
pub(crate) mod pooled_regex;
pub(crate) mod registry;
mod search;
mod span;
pub(crate) mod tagger;
mod text;

pub use detector::Detector;
pub use local_detectors::LocalDetectors;
pub(crate) use mask::clean;
pub use pattern_name::PatternName;
pub(crate) use search::{Detectors, Found, Search, find};
pub(crate) use span::Kind;
pub use span::{Span, Strength};
#[cfg(feature = "onnx")]
pub(crate) use text::ModelFinds;
pub use text::{Needs, Run, Text};
