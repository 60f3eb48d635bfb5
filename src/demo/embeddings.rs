//! POST `/v1/embeddings`: unit vectors from hashed words, the same for the same text everywhere.
//! Texts with common words are near each other; there is no meaning beyond that.

use super::refusal::{Refusal, check_key};
use super::request::{field, model, object};
use super::tokens::estimated_tokens;
use axum::Json;
use axum::body::Bytes;
use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

/// Length of a vector when the caller names none.
const DEFAULT_DIMENSIONS: usize = 64;

/// One input: a text, or a list of token numbers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Tokens(Vec<u64>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Inputs {
    One(Input),
    Many(Vec<Input>),
}

/// Answers a call.
pub(super) async fn embed(headers: HeaderMap, body: Bytes) -> Result<Json<Value>, Refusal> {
    check_key(&headers)?;
    let body = &object(&body)?;
    let (model, inputs) = (model(body)?, inputs(body)?);
    let in_range = |value: &Value| value.as_u64().filter(|number| (1..=4096).contains(number));
    let rule = "`dimensions` must be an integer from 1 to 4096.";
    let dimensions = field(body, "dimensions", rule, in_range)?;
    let dimensions = dimensions.map_or(DEFAULT_DIMENSIONS, |number| number as usize);
    let format = |value: &Value| Some(value == "base64").filter(|is| *is || value == "float");
    let base64 = field(
        body,
        "encoding_format",
        "Must be `float` or `base64`.",
        format,
    )?;
    let embedding = |(index, input): (usize, &Input)| {
        let embedding = written(&vector(input, dimensions), base64 == Some(true));
        json!({"object": "embedding", "index": index, "embedding": embedding})
    };
    let data: Vec<Value> = inputs.iter().enumerate().map(embedding).collect();
    let tokens: u64 = inputs.iter().map(Input::tokens).sum();
    Ok(Json(json!({
        "object": "list",
        "data": data,
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    })))
}

impl Input {
    fn tokens(&self) -> u64 {
        match self {
            Self::Text(text) => estimated_tokens(text),
            Self::Tokens(tokens) => tokens.len() as u64,
        }
    }

    /// Hashes of the parts: lower-case words, or token numbers.
    fn hashes(&self) -> Vec<u64> {
        match self {
            Self::Text(text) => {
                let text = text.to_lowercase();
                let words = text.split(|letter: char| !letter.is_alphanumeric());
                let words = words.filter(|word| !word.is_empty());
                words.map(|word| fnv1a(word.as_bytes())).collect()
            }
            Self::Tokens(tokens) => tokens
                .iter()
                .map(|token| fnv1a(&token.to_le_bytes()))
                .collect(),
        }
    }
}

/// FNV-1a, 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A vector of length 1: each part adds to or takes from four places that its hash names.
fn vector(input: &Input, dimensions: usize) -> Vec<f32> {
    let mut sum = vec![0f64; dimensions];
    for hash in input.hashes() {
        for round in 0..4u8 {
            let place = fnv1a(&[hash.to_le_bytes().as_slice(), &[round]].concat());
            // FNV mixes its low bits badly; the remainder takes the high ones.
            let index = (place >> 32) as usize % dimensions;
            sum[index] += if place & 0x10000 == 0 { 1.0 } else { -1.0 };
        }
    }
    let mut length = sum.iter().map(|value| value * value).sum::<f64>().sqrt();
    if length == 0.0 {
        // No words, or words that cancel each other: still a unit vector.
        (sum[0], length) = (1.0, 1.0);
    }
    sum.into_iter()
        .map(|value| (value / length) as f32)
        .collect()
}

/// A list of numbers, or base64 of little-endian 32-bit floats.
fn written(vector: &[f32], base64: bool) -> Value {
    let bytes = vector.iter().flat_map(|value| value.to_le_bytes());
    match base64 {
        true => json!(STANDARD.encode(bytes.collect::<Vec<u8>>())),
        false => json!(vector),
    }
}

fn inputs(body: &Value) -> Result<Vec<Input>, Refusal> {
    let wrong = |message| Err(Refusal::field("input", message));
    let inputs = match Inputs::deserialize(&body["input"]) {
        Ok(Inputs::One(input)) => vec![input],
        Ok(Inputs::Many(inputs)) => inputs,
        Err(_) => Vec::new(),
    };
    let no_tokens = |input: &Input| matches!(input, Input::Tokens(tokens) if tokens.is_empty());
    if inputs.is_empty() || inputs.iter().any(no_tokens) {
        return wrong("`input` must be text, a list of texts, or token numbers.");
    }
    if inputs.len() > 2048 {
        return wrong("`input` must hold at most 2048 entries.");
    }
    let empty = |input: &Input| matches!(input, Input::Text(text) if text.is_empty());
    match inputs.iter().any(empty) {
        true => wrong("`input` must not be empty."),
        false => Ok(inputs),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<f32> {
        vector(&Input::Text(text.to_owned()), DEFAULT_DIMENSIONS)
    }

    fn nearness(left: &[f32], right: &[f32]) -> f32 {
        left.iter().zip(right).map(|(a, b)| a * b).sum()
    }

    fn read(json: &str) -> Result<Vec<Input>, Refusal> {
        inputs(&object(json.as_bytes()).unwrap())
    }

    #[test]
    fn vectors_have_length_one_and_the_asked_dimensions() {
        for dimensions in [1, 3, 64, 1536] {
            for input in ["", "?!", "one", "a longer text, с буквами"] {
                let vector = vector(&Input::Text(input.to_owned()), dimensions);
                assert_eq!(vector.len(), dimensions);
                assert!(
                    (nearness(&vector, &vector) - 1.0).abs() < 1e-5,
                    "{input} {dimensions}"
                );
            }
        }
    }

    #[test]
    fn common_words_bring_texts_near() {
        let (cat, kitten, bank) = (
            text("the cat sat"),
            text("The cat ran"),
            text("bank rate up"),
        );
        assert_eq!(cat, text("THE CAT, sat!"));
        assert!(nearness(&cat, &kitten) > nearness(&cat, &bank) + 0.2);
    }

    #[test]
    fn base64_is_little_endian_floats() {
        let decoded = STANDARD
            .decode(written(&[1.0, -0.5], true).as_str().unwrap())
            .unwrap();
        assert_eq!(decoded, [0, 0, 0x80, 0x3f, 0, 0, 0, 0xbf]);
        assert_eq!(written(&[0.5], false), json!([0.5]));
    }

    #[test]
    fn every_form_of_input_is_read() {
        let texts = |list: &[&str]| list.iter().map(|t| Input::Text((*t).to_owned())).collect();
        assert_eq!(read(r#"{"input":"a"}"#), Ok(texts(&["a"])));
        assert_eq!(read(r#"{"input":["a","b"]}"#), Ok(texts(&["a", "b"])));
        assert_eq!(
            read(r#"{"input":[1,2]}"#),
            Ok(vec![Input::Tokens(vec![1, 2])])
        );
        let two = vec![Input::Tokens(vec![1]), Input::Tokens(vec![2])];
        assert_eq!(read(r#"{"input":[[1],[2]]}"#), Ok(two));
        for bad in [
            "{}",
            r#"{"input":""}"#,
            r#"{"input":[]}"#,
            r#"{"input":[[]]}"#,
        ] {
            let refused = read(bad).unwrap_err();
            assert_eq!(refused.param.as_deref(), Some("input"), "{bad}");
        }
    }
}
