//! The shape of a `chat.completion.chunk`, read part by part and borrowed from the event. Every part
//! may be missing, null or of an odd type without costing the others. Not a check of the format.

use crate::json::{content_literals, index_of};
use monitor_model::CallTokens;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A part not looked into yet; None for null and for a missing one.
pub(super) type Part<'a> = Option<&'a RawValue>;

/// An object whose members carry text, or say where it belongs.
pub(super) trait KnownNames {
    /// Their names, in lower case.
    const NAMES: &'static [&'static str];
}

/// One event's object.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Part<'a>,
    #[serde(borrow)]
    pub(super) choices: Part<'a>,
    #[serde(borrow)]
    pub(super) model: Part<'a>,
    #[serde(borrow)]
    pub(super) usage: Part<'a>,
    #[serde(borrow)]
    pub(super) error: Part<'a>,
}

impl KnownNames for Chunk<'_> {
    const NAMES: &'static [&'static str] = &["choices"];
}

/// One element of `choices`.
#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub(super) index: Part<'a>,
    #[serde(borrow)]
    pub(super) delta: Part<'a>,
    #[serde(borrow)]
    pub(super) finish_reason: Part<'a>,
    /// The whole message, as outside a stream. Some servers send it in one.
    #[serde(borrow)]
    pub(super) message: Part<'a>,
    /// The text of a completion, which a chat completion has under `delta`.
    #[serde(borrow)]
    pub(super) text: Part<'a>,
}

impl KnownNames for Choice<'_> {
    const NAMES: &'static [&'static str] = &["index", "delta", "finish_reason", "message"];
}

/// One element of `choices` of a completion.
#[derive(Deserialize)]
pub(super) struct TextChoice<'a> {
    #[serde(borrow)]
    pub(super) index: Part<'a>,
    #[serde(borrow)]
    pub(super) text: Part<'a>,
    #[serde(borrow)]
    pub(super) finish_reason: Part<'a>,
}

impl KnownNames for TextChoice<'_> {
    const NAMES: &'static [&'static str] = &["index", "text", "finish_reason"];
}

/// The part of `choices[].delta` that carries text.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Part<'a>,
    #[serde(borrow)]
    pub(super) refusal: Part<'a>,
    #[serde(borrow)]
    pub(super) reasoning: Part<'a>,
    #[serde(borrow)]
    pub(super) reasoning_content: Part<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: Part<'a>,
    #[serde(borrow)]
    pub(super) function_call: Part<'a>,
}

impl KnownNames for Delta<'_> {
    const NAMES: &'static [&'static str] = &[
        "content",
        "refusal",
        "reasoning",
        "reasoning_content",
        "tool_calls",
        "function_call",
    ];
}

/// One element of `delta.tool_calls`.
#[derive(Deserialize)]
pub(super) struct ToolCall<'a> {
    #[serde(borrow)]
    pub(super) index: Part<'a>,
    #[serde(borrow)]
    pub(super) function: Part<'a>,
}

impl KnownNames for ToolCall<'_> {
    const NAMES: &'static [&'static str] = &["index", "function"];
}

/// The part of `tool_calls[].function` that carries text.
#[derive(Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Part<'a>,
    #[serde(borrow)]
    pub(super) arguments: Part<'a>,
}

impl KnownNames for Function<'_> {
    const NAMES: &'static [&'static str] = &["name", "arguments"];
}

/// Tokens as the upstream counts them (§2.3 `usage`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Usage {
    /// Tokens of the request.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer.
    pub completion_tokens: Option<u64>,
    /// Prompt and completion tokens together.
    pub total_tokens: Option<u64>,
    /// What the tokens of the request were.
    #[serde(default, deserialize_with = "details")]
    pub prompt_tokens_details: PromptTokensDetails,
    /// What the tokens of the answer were.
    #[serde(default, deserialize_with = "details")]
    pub completion_tokens_details: CompletionTokensDetails,
}

/// Parts of the tokens of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct PromptTokensDetails {
    /// Tokens that the model server had in its cache.
    pub cached_tokens: Option<u64>,
    /// Tokens that it put into its cache.
    #[serde(alias = "cache_write_tokens")]
    pub cache_creation_tokens: Option<u64>,
}

/// Parts of the tokens of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct CompletionTokensDetails {
    /// Tokens of the model's reasoning.
    #[serde(alias = "thinking_tokens")]
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// The tokens of the request alone.
    #[must_use]
    pub fn of_prompt(self) -> Self {
        Self {
            prompt_tokens: self.prompt_tokens,
            prompt_tokens_details: self.prompt_tokens_details,
            ..Self::default()
        }
    }

    /// The tokens as records have them.
    pub fn tokens(self) -> CallTokens {
        CallTokens {
            prompt_tokens: self.prompt_tokens,
            cached_tokens: self.prompt_tokens_details.cached_tokens,
            cache_write_tokens: self.prompt_tokens_details.cache_creation_tokens,
            completion_tokens: self.completion_tokens,
            reasoning_tokens: self.completion_tokens_details.reasoning_tokens,
            total_tokens: self.total_tokens,
        }
        .bounded()
    }
}

/// Details of another shape count as none: the tokens beside them stay readable.
pub(crate) fn details<'de, T, D>(source: D) -> Result<T, D::Error>
where
    T: DeserializeOwned + Default,
    D: Deserializer<'de>,
{
    let raw = Option::<Box<RawValue>>::deserialize(source)?;
    let known = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
    Ok(known.unwrap_or_default())
}

/// A value without borrowed parts, None when it is of another type.
pub(super) fn value<T: DeserializeOwned>(part: Part<'_>) -> Option<T> {
    serde_json::from_str(part?.get()).ok()
}

/// The index of an element of a list, by default its place in it; None where it is no index.
pub(super) fn index(part: Part<'_>, place: u64) -> Option<u64> {
    part.map_or(Some(place), |number| index_of(number.get()))
}

/// The text of a string, or that of a content in parts, joined by line feeds.
pub(super) struct TextOfParts<'a> {
    pub(super) text: Cow<'a, str>,
    /// Where in it those line feeds are that a reader may see the text without.
    pub(super) breaks: Vec<usize>,
}

/// The text of a part, and where its own parts meet.
pub(super) fn text_of_parts(part: Part<'_>) -> Option<TextOfParts<'_>> {
    let json = part?.get();
    if !json.starts_with(['[', '{']) {
        let breaks = Vec::new();
        return string(json).map(|text| TextOfParts { text, breaks });
    }
    let content = content_literals(json.as_bytes());
    let spans = content.literals.into_iter().chain(content.asides);
    let texts = spans.filter_map(|span| string(json.get(span)?));
    let (mut joined, mut breaks) = (None::<String>, Vec::new());
    let mut push = |more: &str| match &mut joined {
        None => {
            joined = Some(more.to_owned());
            None
        }
        Some(text) => {
            let place = text.len();
            text.push('\n');
            text.push_str(more);
            Some(place)
        }
    };
    for more in texts {
        breaks.extend(push(&more));
    }
    for alone in content.alone {
        push(&alone.text(json.as_bytes()));
    }
    let text = joined?.into();
    Some(TextOfParts { text, breaks })
}

/// The text of a part.
pub(super) fn text(part: Part<'_>) -> Option<Cow<'_, str>> {
    text_of_parts(part).map(|parts| parts.text)
}

fn string(json: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

    let borrowed = serde_json::from_str(json).map(|Borrowed(text)| text);
    // An upstream that cuts between the halves of a surrogate pair sends escapes that are no text.
    borrowed.ok().or_else(|| {
        serde_json::from_str(json)
            .ok()
            .map(|Lossy(text)| Cow::Owned(text))
    })
}

/// A string in which half a surrogate pair becomes replacement characters.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As bytes, the reader hands over what it would refuse as text.
        deserializer.deserialize_bytes(LossyVisitor)
    }
}

struct LossyVisitor;

impl Visitor<'_> for LossyVisitor {
    type Value = Lossy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Lossy, E> {
        Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
    }
}
