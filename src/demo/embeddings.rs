//! POST `/v1/embeddings`: unit vectors from hashed words, the same for the same text everywhere.
//! Texts with common words are near each other; there is no meaning beyond that.

use super::refusal::{Refusal, check_key};
use super::request::{model, object, wrong};
use super::words::estimated_tokens;
use axum::Json;
use axum::body::Bytes;
use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Length of a vector when the caller names none.
const DEFAULT_DIMENSIONS: usize = 64;
/// Largest number of dimensions.
const MAX_DIMENSIONS: u64 = 4096;
/// Most inputs of one call.
const MAX_INPUTS: usize = 2048;

/// One input: a text, or a list of token numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Input {
    Text(String),
    Tokens(Vec<u64>),
}

/// Answers a call.
pub(super) async fn embed(headers: HeaderMap, body: Bytes) -> Result<Json<Value>, Refusal> {
    check_key(&headers)?;
    let body = object(&body)?;
    let model = model(&body)?;
    let inputs = inputs(&body)?;
    let dimensions = dimensions(&body)?;
    let base64 = wants_base64(&body)?;
    let data: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(index, input)| {
            let embedding = written(&vector(input, dimensions), base64);
            json!({"object": "embedding", "index": index, "embedding": embedding})
        })
        .collect();
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
            Self::Text(text) => text
                .to_lowercase()
                .split(|letter: char| !letter.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .map(|word| fnv1a(word.as_bytes()))
                .collect(),
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
    let length = sum.iter().map(|value| value * value).sum::<f64>().sqrt();
    if length == 0.0 {
        // No words, or words that cancel each other: still a unit vector.
        sum[0] = 1.0;
        return sum.into_iter().map(|value| value as f32).collect();
    }
    sum.into_iter()
        .map(|value| (value / length) as f32)
        .collect()
}

/// A list of numbers, or base64 of little-endian 32-bit floats.
fn written(vector: &[f32], base64: bool) -> Value {
    if base64 {
        let bytes: Vec<u8> = vector
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        return Value::String(STANDARD.encode(bytes));
    }
    json!(vector)
}

fn inputs(body: &Map<String, Value>) -> Result<Vec<Input>, Refusal> {
    let refused = wrong(
        "input",
        "`input` must be text, a list of texts, or token numbers.",
    );
    let inputs = match body.get("input") {
        Some(Value::String(text)) => vec![Input::Text(text.clone())],
        Some(Value::Array(list)) if list.iter().all(Value::is_u64) => {
            vec![tokens(list).ok_or(refused.clone())?]
        }
        Some(Value::Array(list)) => list
            .iter()
            .map(one)
            .collect::<Option<Vec<_>>>()
            .ok_or(refused.clone())?,
        _ => return Err(refused),
    };
    if inputs.len() > MAX_INPUTS {
        return Err(wrong("input", "`input` must hold at most 2048 entries."));
    }
    let empty = |input: &Input| matches!(input, Input::Text(text) if text.is_empty());
    if inputs.iter().any(empty) {
        return Err(wrong("input", "`input` must not be empty."));
    }
    Ok(inputs)
}

fn one(value: &Value) -> Option<Input> {
    match value {
        Value::String(text) => Some(Input::Text(text.clone())),
        Value::Array(list) => tokens(list),
        _ => None,
    }
}

fn tokens(list: &[Value]) -> Option<Input> {
    let tokens = list.iter().map(Value::as_u64).collect::<Option<Vec<_>>>()?;
    (!tokens.is_empty()).then_some(Input::Tokens(tokens))
}

fn dimensions(body: &Map<String, Value>) -> Result<usize, Refusal> {
    match body.get("dimensions") {
        None | Some(Value::Null) => Ok(DEFAULT_DIMENSIONS),
        Some(value) => value
            .as_u64()
            .filter(|number| (1..=MAX_DIMENSIONS).contains(number))
            .map(|number| number as usize)
            .ok_or(wrong(
                "dimensions",
                "`dimensions` must be an integer from 1 to 4096.",
            )),
    }
}

fn wants_base64(body: &Map<String, Value>) -> Result<bool, Refusal> {
    match body.get("encoding_format") {
        None | Some(Value::Null) => Ok(false),
        Some(Value::String(format)) if format == "float" => Ok(false),
        Some(Value::String(format)) if format == "base64" => Ok(true),
        Some(_) => Err(wrong("encoding_format", "Must be `float` or `base64`.")),
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
            assert!(
                matches!(read(bad), Err(Refusal::Field { param: "input", .. })),
                "{bad}"
            );
        }
    }
}
