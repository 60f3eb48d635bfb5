//! Detection through the library's public face: the fixtures of every pattern, and the promises of
//! CONTRACT 24 to 26 and 37. What a single detector does inside stands beside it in `crates/detect/src`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod corpus;
mod engine;
mod evasion;
mod fixtures;
mod further;
mod guardrails;
#[cfg(feature = "onnx")]
mod onnx;
mod scan;
mod seams;
mod stable;
