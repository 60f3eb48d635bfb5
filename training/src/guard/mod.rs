//! Training of the linear models of the guardrails. How a message is read, decoded and turned into features
//! is the engine's own code (`monitor_detect::training`).

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
