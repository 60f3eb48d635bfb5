//! The keys of the judge of custom policies (CONTRACT 34 `judge`): a model behind an OpenAI-compatible
//! endpoint. Nothing is called here. The limits of calls are in `call_limits`.

use crate::config::reading::reader::Reader;
use crate::config::sections::call_limits::{self, CallLimits};
use crate::config::values::header;
use crate::config::values::units::{self, DAY, Form, KIB, MIB, SECOND};
use crate::config::values::url::{self, BaseUrl};
use monitor_model::Secret;
use std::time::Duration;

/// The judge of custom policies.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeSettings {
    /// Where it is.
    pub place: JudgePlace,
    /// The model's name; empty only where the demo upstream judges, which needs none.
    pub model: String,
    /// Sent as bearer token; None: no `Authorization` header.
    pub api_key: Option<Secret>,
    /// Bounds of its calls.
    pub limits: CallLimits,
    /// Cached verdicts, at most; 0: none.
    pub cache_entries: usize,
    /// How long a verdict is cached.
    pub cache_ttl: Duration,
    /// Bytes of text in one call; a longer text goes in several that overlap.
    pub chunk: u64,
    /// Bytes of a text that are judged; the rest is reported in `errors`.
    pub max_text: u64,
    /// Whether the endpoint is asked for JSON in its own terms.
    pub response_format: ResponseFormat,
}

/// Where the judge is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgePlace {
    /// At an address of its own.
    Url(BaseUrl),
    /// At the gateway's upstream, the built-in demo included; in `monitor all` only.
    Upstream,
}

/// The `response_format` of a judge's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFormat {
    /// `{"type": "json_object"}`: the endpoint returns JSON only.
    JsonObject,
    /// No `response_format`, for endpoints that do not know it.
    None,
}

const FORMATS: &[(&str, ResponseFormat)] = &[
    ("json_object", ResponseFormat::JsonObject),
    ("none", ResponseFormat::None),
];

/// The judge, where a place is named. What belongs to it is checked in any case. `prefix` is that of
/// the analysis server's keys.
pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> Option<JudgeSettings> {
    let key = |name: &str| format!("{prefix}judge.{name}");
    let place = r.read(&key("url"), &place(!prefix.is_empty()));
    let model = r.read(&key("model"), &units::text());
    let api_key = r.read(&key("api_key"), &header::secret());
    let limits = call_limits::read(r, &key(""), 10 * SECOND);
    let cache_entries = r.read(&key("cache_entries"), &units::count(0..=1_000_000));
    let cache_ttl = r.read(&key("cache_ttl"), &units::duration(SECOND..=DAY));
    let chunk = r.read(&key("chunk"), &units::size(KIB..=MIB));
    let max_text = r.read(&key("max_text"), &units::size(KIB..=64 * MIB));
    let format = r.read(&key("response_format"), &units::word(FORMATS));
    let (chunk, max_text) = (chunk.unwrap_or(24 * KIB), max_text.unwrap_or(192 * KIB));
    let small = max_text < chunk;
    let text = "is less than the text of one call; allowed: at least judge.chunk";
    r.refuse_if(&key("max_text"), small, text);
    let large = max_text > MOST_CHUNKS * chunk;
    let text = "is more than 64 times the text of one call; allowed: at most 64 times judge.chunk";
    r.refuse_if(&key("max_text"), large, text);
    let Some(place) = place else {
        let unplaced = "has no effect without a judge; set JUDGE_URL or judge.url";
        let told = r.has_problem(&key("url"));
        r.refuse_if(&key("model"), model.is_some() && !told, unplaced);
        r.refuse_if(&key("api_key"), api_key.is_some() && !told, unplaced);
        return None;
    };
    Some(JudgeSettings {
        place,
        model: model.unwrap_or_default(),
        api_key,
        limits,
        cache_entries: cache_entries.unwrap_or(10_000),
        cache_ttl: cache_ttl.unwrap_or(600 * SECOND),
        chunk,
        max_text,
        response_format: format.unwrap_or(ResponseFormat::JsonObject),
    })
}

/// Chunks of one text, at most.
const MOST_CHUNKS: u64 = 64;

/// An address, or the word for the gateway's upstream.
fn place(has_gateway: bool) -> Form<JudgePlace> {
    const ALLOWED: &str =
        "http://host[:port][/prefix] or https://…, or upstream in a file with a gateway";
    let own = url::upstream_url();
    Form::new(ALLOWED, move |text| match text {
        "upstream" if has_gateway => Ok(JudgePlace::Upstream),
        "upstream" => Err("requires a gateway in the same process".to_owned()),
        _ => own
            .parse(text)
            .map(JudgePlace::Url)
            .map_err(|wrong| wrong.split(';').next().unwrap_or_default().to_owned()),
    })
}
