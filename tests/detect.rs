//! Detection through the library's public face: the fixtures of every pattern, and the promises of
//! CONTRACT 24 to 26 and 37. What a single detector does inside stands beside it in `crates/detect/src`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "detect/corpus.rs"]
mod corpus;
#[path = "detect/engine.rs"]
mod engine;
#[path = "detect/evasion.rs"]
mod evasion;
#[path = "detect/fixtures.rs"]
mod fixtures;
#[path = "detect/guardrails.rs"]
mod guardrails;
#[path = "detect/scan.rs"]
mod scan;
#[path = "detect/settled.rs"]
mod settled;
mod support;
