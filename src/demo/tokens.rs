//! Estimates of token numbers.

/// Tokens that a text may have for a real model: its words times 1.3, rounded up. Only an estimate, good
/// enough to make `usage` plausible and proportional.
pub(super) fn estimated_tokens(text: &str) -> u64 {
    tokens_of_words(text.split_whitespace().count() as u64)
}

pub(super) fn tokens_of_words(words: u64) -> u64 {
    words.saturating_mul(13).div_ceil(10)
}

/// How many words fit into a number of estimated tokens.
pub(super) fn words_within(tokens: u64) -> u64 {
    tokens.saturating_mul(10) / 13
}
