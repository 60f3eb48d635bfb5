//! Models from a local folder through the real binary, which is built with the feature `onnx` for these
//! tests: `cargo test --features onnx --test detect`. The models are made on the spot; what a model's finds
//! become in every case stands beside `crates/detect/src/onnx`.

mod classifier;
mod folder;
mod refusals;
mod tagger;
