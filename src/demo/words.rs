//! Words and what is counted by them. Not a tokenizer.

/// Tokens that a text may have for a real model: its words times 1.3, rounded up.
///
/// Only an estimate, good enough to make `usage` plausible and proportional.
pub(super) fn estimated_tokens(text: &str) -> u64 {
    tokens_of_words(text.split_whitespace().count() as u64)
}

/// The estimate for a number of words.
pub(super) fn tokens_of_words(words: u64) -> u64 {
    words.saturating_mul(13).div_ceil(10)
}

/// How many words fit into a number of estimated tokens.
pub(super) fn words_within(tokens: u64) -> u64 {
    tokens.saturating_mul(10) / 13
}

/// The pieces a stream sends: each word with the white space after it. Their sum is the text.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut after_space = false;
    for (at, letter) in text.char_indices() {
        if after_space && !letter.is_whitespace() {
            pieces.push(&text[start..at]);
            start = at;
        }
        after_space = letter.is_whitespace();
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_rounded_up_and_its_inverse_never_exceeds_it() {
        assert_eq!(estimated_tokens(""), 0);
        assert_eq!(estimated_tokens("one"), 2);
        assert_eq!(estimated_tokens("a b c d e f g h i j"), 13);
        for tokens in 0..200 {
            assert!(tokens_of_words(words_within(tokens)) <= tokens);
        }
    }

    #[test]
    fn pieces_add_up_to_the_text() {
        for text in [
            "",
            "one",
            "two words",
            " leading  and trailing \n",
            "Привет, мир",
        ] {
            assert_eq!(pieces(text).concat(), text);
        }
        assert_eq!(pieces("a b\nc"), ["a ", "b\n", "c"]);
    }
}
