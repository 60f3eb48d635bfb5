//! The keys of the other servers that an analysis may ask: a Presidio analyzer for sensitive data and a
//! guard model for built-in policies (`checks`). Nothing is called here.

use crate::config::reading::collections;
use crate::config::reading::reader::Reader;
use crate::config::sections::call_limits::{self, CallLimits};
use crate::config::values::header;
use crate::config::values::units::{self, Form, KIB, MIB};
use crate::config::values::url::{self, BaseUrl};
use monitor_model::{Secret, is_pattern_name};
use std::time::Duration;

const FIVE_SECONDS: Duration = Duration::from_secs(5);

/// Servers that are asked in addition to the engine; None: not asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChecksSettings {
    /// Finds sensitive data.
    pub presidio: Option<PresidioSettings>,
    /// Gives a second opinion on guardrails.
    pub guard: Option<GuardSettings>,
}

/// A Presidio analyzer.
#[derive(Clone, Debug, PartialEq)]
pub struct PresidioSettings {
    /// Its address, without `/analyze`.
    pub url: BaseUrl,
    /// The language its recognizers are asked for.
    pub language: String,
    /// The same for texts with more Cyrillic than Latin letters; None: no other.
    pub language_cyrillic: Option<String>,
    /// Finds below this score, 0 to 1, are left out.
    pub min_score: f64,
    /// Entity types and the patterns they map to (None removes the mapping), in addition to the built-in table.
    pub entities: Vec<(String, Option<String>)>,
    /// Bytes of a text that are sent; the rest is reported in `errors`.
    pub max_text: u64,
    /// Bounds of its calls.
    pub limits: CallLimits,
}

/// A guard model.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardSettings {
    /// Its address; a `/v1` at the end is left out.
    pub url: BaseUrl,
    /// The model's name; None only where the endpoint needs none.
    pub model: Option<String>,
    /// Sent as bearer token; None: no `Authorization` header.
    pub api_key: Option<Secret>,
    /// How it is asked.
    pub template: GuardTemplate,
    /// Bytes of a text that are sent; the rest is reported in `errors`.
    pub max_text: u64,
    /// Bounds of its calls.
    pub limits: CallLimits,
}

/// How a guard model is asked, and what it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardTemplate {
    /// `POST /v1/moderations`, which flags and names categories.
    Moderation,
    /// A chat completion that says `safe`, or `unsafe` and a line of codes.
    LlamaGuard,
    /// A chat completion of any model, instructed to answer in JSON.
    Json,
}

const TEMPLATES: &[(&str, GuardTemplate)] = &[
    ("moderation", GuardTemplate::Moderation),
    ("llama_guard", GuardTemplate::LlamaGuard),
    ("json", GuardTemplate::Json),
];

/// Reads both; `prefix` is that of the analysis server's keys.
pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> ChecksSettings {
    ChecksSettings {
        presidio: presidio(r, &format!("{prefix}checks.presidio.")),
        guard: guard(r, &format!("{prefix}checks.guard.")),
    }
}

fn presidio(r: &mut Reader<'_>, prefix: &str) -> Option<PresidioSettings> {
    let key = |name: &str| format!("{prefix}{name}");
    let url = r.read(&key("url"), &url::base_url());
    let language = r.read(&key("language"), &units::text());
    let language_cyrillic = r.read(&key("language_cyrillic"), &units::text());
    let min_score = r.read(&key("min_score"), &score());
    let entities = entities(r, &key("entities"));
    let max_text = r.read(&key("max_text"), &units::size(KIB..=16 * MIB));
    let limits = call_limits::read(r, prefix, FIVE_SECONDS);
    Some(PresidioSettings {
        url: url?,
        language: language.unwrap_or_else(|| "en".to_owned()),
        language_cyrillic,
        min_score: min_score.unwrap_or(0.5),
        entities: entities.unwrap_or_default(),
        max_text: max_text.unwrap_or(256 * KIB),
        limits,
    })
}

fn guard(r: &mut Reader<'_>, prefix: &str) -> Option<GuardSettings> {
    let key = |name: &str| format!("{prefix}{name}");
    let url = r.read(&key("url"), &url::upstream_url());
    let model = r.read(&key("model"), &units::text());
    let api_key = r.read(&key("api_key"), &header::secret());
    let template = r.read(&key("template"), &units::word(TEMPLATES));
    let max_text = r.read(&key("max_text"), &units::size(KIB..=16 * MIB));
    let limits = call_limits::read(r, prefix, FIVE_SECONDS);
    let template = template.unwrap_or(GuardTemplate::Moderation);
    let Some(url) = url else {
        if !r.has_problem(&key("url")) {
            let text = "has no effect without a guard model; set checks.guard.url";
            r.refuse_if(&key("model"), model.is_some(), text);
            r.refuse_if(&key("api_key"), api_key.is_some(), text);
        }
        return None;
    };
    let nameless = model.is_none() && template != GuardTemplate::Moderation;
    let text = "is not set, but the template needs a chat model; allowed: the model's name";
    r.refuse_if(&key("model"), nameless, text);
    Some(GuardSettings {
        url,
        model,
        api_key,
        template,
        max_text: max_text.unwrap_or(64 * KIB),
        limits,
    })
}

fn score() -> Form<f64> {
    Form::new("a number from 0 to 1", |text| {
        let score = text
            .parse()
            .ok()
            .filter(|score| (0.0..=1.0).contains(score));
        score.ok_or_else(|| format!("{} is not a score", units::quote(text)))
    })
}

/// Entity types and the patterns they map to.
fn entities(r: &mut Reader<'_>, key: &str) -> Option<Vec<(String, Option<String>)>> {
    const ENTITIES: &str = "a pattern for each entity type, such as {PERSON: NAME}";
    let form: Form<Option<String>> = Form::new(
        "the name of a pattern, such as NAME, or none",
        |text| match text {
            "none" => Ok(None),
            _ if is_pattern_name(text) => Ok(Some(text.to_owned())),
            _ => Err(format!("{} is not a pattern", units::quote(text))),
        },
    );
    collections::named_values(r, key, ENTITIES, &form)
}
