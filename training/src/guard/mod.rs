//! Training of the guardrails' linear models. How a message is read, decoded and turned into features is the
//! product's own code, taken in by path.

#[path = "../../../crates/detect/src/confusables.rs"]
#[allow(dead_code)]
mod confusables;
#[path = "../../../crates/detect/src/guardrails/cue_table.rs"]
#[allow(dead_code)]
mod cue_table;
#[path = "../../../crates/detect/src/guardrails/cues.rs"]
#[allow(dead_code)]
mod cues;
#[path = "../../../crates/detect/src/guardrails/decode.rs"]
#[allow(dead_code)]
mod decode;
#[path = "../../../crates/detect/src/guardrails/features.rs"]
#[allow(dead_code)]
mod features;
#[path = "../../../crates/detect/src/guardrails/harm_kinds.rs"]
#[allow(dead_code)]
mod harm_kinds;
#[path = "../../../crates/detect/src/guardrails/letter.rs"]
#[allow(dead_code)]
mod letter;
#[path = "../../../crates/detect/src/guardrails/linear.rs"]
#[allow(dead_code)]
mod linear;
#[path = "../../../crates/detect/src/guardrails/probes.rs"]
#[allow(dead_code)]
mod probes;
#[path = "../../../crates/detect/src/guardrails/reading.rs"]
#[allow(dead_code)]
mod reading;

mod fit;
mod letters;
mod made;
mod measure;
mod near;
mod rates;
mod rows;
mod run;
mod sentences;

pub use run::run;
