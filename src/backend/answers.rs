//! Answers of the backend: how long one is read, and whether it looks like a verdict.

use crate::http_client::Answer;
use http::header::CONTENT_TYPE;

/// Largest answer of the backend that is read, whatever it is about.
const MAX_ANSWER: usize = 32 << 20;
/// Largest answer that tells nothing of a message.
pub(super) const SHORT_ANSWER: usize = 256 << 10;
/// A backend that knows nothing of compact verdicts sends the message once more, cleaned, and the findings in it: so
/// many bytes for each of the message.
pub(super) const ANSWER_PER_BYTE: usize = 16;

/// The largest answer about messages of so many bytes together.
pub(super) fn largest_answer(messages: usize) -> usize {
    let findings = messages.saturating_mul(ANSWER_PER_BYTE);
    SHORT_ANSWER.saturating_add(findings).min(MAX_ANSWER)
}

/// Whether an answer that was not read whole looks like a verdict, and not like the page of a proxy.
pub(super) fn is_verdict(answer: &Answer) -> bool {
    let kind = answer.headers.get(CONTENT_TYPE);
    let kind = kind
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    answer.status.is_success() && essence.eq_ignore_ascii_case("application/json")
}
