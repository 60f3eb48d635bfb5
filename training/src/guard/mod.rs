//! Training of the guardrails' linear models. How a message is read, decoded and turned into features is the
//! product's own code, taken in by path.

#[path = "../../../src/detect/confusables.rs"]
#[allow(dead_code)]
mod confusables;
#[path = "../../../src/detect/guardrails/cue_table.rs"]
#[allow(dead_code)]
mod cue_table;
#[path = "../../../src/detect/guardrails/cues.rs"]
#[allow(dead_code)]
mod cues;
#[path = "../../../src/detect/guardrails/decode.rs"]
#[allow(dead_code)]
mod decode;
#[path = "../../../src/detect/guardrails/features.rs"]
#[allow(dead_code)]
mod features;
#[path = "../../../src/detect/guardrails/harm_kinds.rs"]
#[allow(dead_code)]
mod harm_kinds;
#[path = "../../../src/detect/guardrails/letter.rs"]
#[allow(dead_code)]
mod letter;
#[path = "../../../src/detect/guardrails/linear.rs"]
#[allow(dead_code)]
mod linear;
#[path = "../../../src/detect/guardrails/probes.rs"]
#[allow(dead_code)]
mod probes;
#[path = "../../../src/detect/guardrails/reading.rs"]
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
