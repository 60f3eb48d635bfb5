//! Models from a local folder through the real binary, which is built with the feature `onnx` for these
//! tests: `cargo test --features onnx --test onnx`. The models are made on the spot; what a model's finds
//! become in every case stands beside `crates/detect/src/onnx`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

#[path = "onnx/classifier.rs"]
mod classifier;
#[path = "onnx/folder.rs"]
mod folder;
#[path = "../crates/detect/src/onnx/made.rs"]
mod made;
#[path = "onnx/refusals.rs"]
mod refusals;
#[path = "onnx/tagger.rs"]
mod tagger;
#[path = "analysis/world.rs"]
#[allow(dead_code)]
mod world;
