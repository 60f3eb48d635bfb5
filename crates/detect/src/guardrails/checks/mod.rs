//! The implementations of the guardrails.

mod learned;
mod prompt_leak;
mod secrets;
mod toxicity;

pub(super) use learned::{Attack, Harm, HarmfulContent};
pub(super) use prompt_leak::PromptLeak;
pub(super) use secrets::Secrets;
pub(super) use toxicity::Toxicity;
