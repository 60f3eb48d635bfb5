//! The interface of a guardrail. `checks` holds the implementations, `registry` lists them.

use super::category::Category;
use super::text::Text;

/// Looks for one category. Pure, linear in the text's length.
pub trait Guardrail: Send + Sync {
    /// What it looks for.
    fn category(&self) -> Category;
    /// What speaks for it; None where nothing does.
    fn check(&self, text: &Text<'_>) -> Option<Finding>;
    /// Why more may speak for it than was found, where it could not look at the whole text.
    fn failure(&self, _text: &Text<'_>) -> Option<String> {
        None
    }
}

/// What speaks for a category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// 0 to 1; from [`DEFAULT_THRESHOLD`] on it is flagged by default.
    pub score: f64,
    /// A code that says why, such as `ignore_instructions`; never a piece of the text.
    pub reason: &'static str,
}
