//! The tokens of a call as the model server counts them. The gateway sends them with the answer's record, as further
//! keys of `additional_parameters` that other servers ignore.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The key of `additional_parameters` with the tokens of a call.
pub const USAGE_PARAMETER: &str = "usage";
/// The key of `additional_parameters` with the model that answered, or that was asked.
pub const MODEL_PARAMETER: &str = "model";
/// The key of `additional_parameters` that is true where the answer is a stored one that was read again: its call was
/// counted when it was made.
pub const STORED_RESPONSE_PARAMETER: &str = "stored_response";
/// The longest name of a model that is kept, in bytes.
pub const LONGEST_MODEL: usize = 128;
/// The most tokens of one kind in a call. A higher number is none that a model server can mean.
pub const MOST_TOKENS: u64 = 1_000_000_000;

/// The tokens of a call. Whatever a protocol counts, those of the cache are a part of the prompt here, and those of
/// reasoning a part of the completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTokens {
    /// Tokens of the whole request, those of the cache included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Those of them that were read from the model server's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Those of them that were written to its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Tokens of the whole answer, those of reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
    /// Those of them that the model reasoned with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Prompt and completion together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
}

/// In the order of the fields.
const NAMES: [&str; 6] = [
    "prompt_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "total_tokens",
];

impl CallTokens {
    /// Of `additional_parameters`. Other callers may use the key for something else: only numbers up to
    /// [`MOST_TOKENS`] are read.
    pub fn read(parameters: &Map<String, Value>) -> Self {
        let usage = parameters.get(USAGE_PARAMETER);
        let number = |name: &str| usage?.get(name)?.as_u64();
        Self::from_array(NAMES.map(number)).bounded()
    }

    /// A number above [`MOST_TOKENS`] counts as not reported.
    #[must_use]
    pub fn bounded(self) -> Self {
        let numbers = self.to_array();
        Self::from_array(numbers.map(|number| number.filter(|tokens| *tokens <= MOST_TOKENS)))
    }

    /// With what follows from the other numbers: the total, or the side that a server leaves out because it has no tokens.
    #[must_use]
    pub fn completed(self) -> Self {
        let less = |side: Option<u64>| Some(self.total_tokens?.saturating_sub(side?));
        let prompt = self.prompt_tokens.or_else(|| less(self.completion_tokens));
        let completion = self.completion_tokens.or_else(|| less(self.prompt_tokens));
        let sum = prompt.zip(completion);
        Self {
            prompt_tokens: prompt,
            completion_tokens: completion,
            total_tokens: self
                .total_tokens
                .or_else(|| sum.map(|(prompt, completion)| prompt.saturating_add(completion))),
            ..self
        }
    }

    /// Whether the model server reported nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// In the order of the fields.
    pub fn to_array(self) -> [Option<u64>; 6] {
        [
            self.prompt_tokens,
            self.cached_tokens,
            self.cache_write_tokens,
            self.completion_tokens,
            self.reasoning_tokens,
            self.total_tokens,
        ]
    }

    /// The reverse of [`Self::to_array`].
    pub fn from_array(numbers: [Option<u64>; 6]) -> Self {
        let [
            prompt_tokens,
            cached_tokens,
            cache_write_tokens,
            completion_tokens,
            reasoning_tokens,
            total_tokens,
        ] = numbers;
        Self {
            prompt_tokens,
            cached_tokens,
            cache_write_tokens,
            completion_tokens,
            reasoning_tokens,
            total_tokens,
        }
    }
}

/// The first [`LONGEST_MODEL`] bytes of a model's name, at most; None of an empty one.
pub fn model_name(name: &str) -> Option<&str> {
    let name = &name[..name.floor_char_boundary(LONGEST_MODEL)];
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(usage: Value) -> CallTokens {
        let mut parameters = Map::new();
        parameters.insert(USAGE_PARAMETER.to_owned(), usage);
        CallTokens::read(&parameters)
    }

    #[test]
    fn only_numbers_that_can_be_tokens_are_read() {
        let sent = CallTokens::from_array([Some(9), Some(1), Some(2), Some(4), Some(3), Some(13)]);
        assert_eq!(read(json!(sent)), sent);
        for usage in [
            json!(7),
            json!(null),
            json!({"prompt_tokens": "9"}),
            json!({"prompt_tokens": -9, "completion_tokens": 1.5, "total_tokens": MOST_TOKENS + 1}),
        ] {
            assert!(read(usage.clone()).is_empty(), "{usage}");
        }
        assert!(CallTokens::read(&Map::new()).is_empty());
    }

    #[test]
    fn what_follows_from_other_numbers_is_filled_in() {
        for (given, expected) in [
            ([Some(5), Some(2)], [Some(5), Some(2), Some(7)]),
            ([Some(5), None], [Some(5), None, None]),
            ([None, None], [None, None, None]),
        ] {
            let [prompt, completion] = given;
            let tokens = CallTokens::from_array([prompt, None, None, completion, None, None]);
            let [prompt, _, _, completion, _, total] = tokens.completed().to_array();
            assert_eq!([prompt, completion, total], expected);
        }
        let embedding = CallTokens::from_array([Some(8), None, None, None, None, Some(8)]);
        assert_eq!(embedding.completed().completion_tokens, Some(0));
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let long = "я".repeat(100);
        assert_eq!(model_name(&long).map(str::len), Some(128));
        assert_eq!(model_name("m-1"), Some("m-1"));
        assert_eq!(model_name(""), None);
    }
}
