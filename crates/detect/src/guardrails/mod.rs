//! Built-in policies: scores a message by category (§1.7, §2.9 `guardrails`, CONTRACT 37 and 38). A
//! [`Guardrail`] returns a score and the code of its reason, never a piece of the text; the rules say what
//! follows from a score.

mod beginnings;
mod category;
mod check;
mod checks;
pub mod cues;
mod guardrail;
pub mod harm_kinds;
pub mod linear;
pub mod obfuscation;
mod rates;
pub mod reading;
pub(crate) mod registry;
mod second_stage;
mod text;

pub use category::{Category, CategoryThreshold, DEFAULT_THRESHOLD};
pub(crate) use check::check;
pub use check::{GREY_FROM, in_grey_zone};
pub use guardrail::{Finding, Guardrail};
pub use rates::{Rate, rate_at, rates};
pub use second_stage::SecondStage;
#[cfg(feature = "onnx")]
pub use text::Classification;
pub use text::Text;
