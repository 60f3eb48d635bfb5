//! Messages to analyze (§2.7), with rules of their own (§2.8), and files.

use super::rules::{Categories, CategoryName, CustomPattern, CustomPolicy, Pattern};
use monitor_model::ApplicationId;
use serde_json::Value;
use utoipa::ToSchema;

/// Other keys are ignored.
#[derive(ToSchema)]
pub(crate) struct Message {
    /// If null or missing: the application that the token is bound to.
    application_id: Option<ApplicationId>,
    /// An empty one is valid.
    message: String,
    /// Data of the caller. Keys that are not listed are stored unchanged.
    additional_parameters: Option<AdditionalParameters>,
}

/// Other keys are ignored.
#[derive(ToSchema)]
pub(crate) struct OverrideMessage {
    /// If null or missing: the application that the token is bound to.
    application_id: Option<ApplicationId>,
    /// An empty one is valid.
    message: String,
    /// Data of the caller. Keys that are not listed are stored unchanged.
    additional_parameters: Option<AdditionalParameters>,
    validation_config: ValidationConfig,
}

/// Other keys are ignored.
#[derive(ToSchema)]
pub(crate) struct ToolCallMessage {
    /// If null or missing: the application that the token is bound to.
    application_id: Option<ApplicationId>,
    /// The name of the tool; not blank.
    #[schema(min_length = 1, max_length = 256, pattern = "\\S")]
    tool_name: String,
    /// Identifies the call within its exchange, in at most 512 bytes: a second one is not stored again. Also accepted
    /// in `additional_parameters`. If missing, each request is a call of its own.
    #[schema(min_length = 1, max_length = 512, pattern = "\\S")]
    tool_call_id: Option<String>,
    /// What the model passes to the tool: text, or any JSON. If missing: `{}`.
    tool_input: Option<Value>,
    /// What the tool gave back: text, or any JSON; missing before it has answered.
    tool_result: Option<Value>,
    /// Data of the caller. Keys that are not listed are stored unchanged. Without `user_id` and `session_id` the call
    /// has those of its exchange's prompt, if that has arrived.
    additional_parameters: Option<AdditionalParameters>,
}

#[derive(ToSchema)]
/// At most 64 KiB of names and values, 256 names and 16 levels.
struct AdditionalParameters {
    /// At most 512 bytes.
    #[schema(max_length = 512)]
    user_id: Option<String>,
    /// At most 512 bytes.
    #[schema(max_length = 512)]
    session_id: Option<String>,
    /// Identifies the exchange, in at most 512 bytes. A second message of the same application, exchange and stage is
    /// not stored again and gets the answer of the first one. Another text is not stored either; it gets a verdict of
    /// its own, with a warning. Only a gateway's record with a number (`chain`) is stored beside the first one, under an
    /// id of its own and with a warning.
    request_id: Option<Value>,
    /// Of an answer: the calls of tools in it, a list of `{call_id, name, text}`, with `cut: true` where the text is
    /// only the beginning. They are checked and stored as parts of the record. A list of another form stays as it is
    /// among the parameters.
    tool_calls: Option<Value>,
    /// Of a prompt: the results of tools, in the same form.
    tool_results: Option<Value>,
    /// How many more parts there were.
    tools_omitted: Option<Value>,
    /// With `tool_calls`: true if the policy in force has `check_tool_arguments: false`. The calls are stored unchecked,
    /// and without originals they have no text.
    tools_unchecked: Option<Value>,
    /// Code points at which a line feed stands between two parts of one message, ascending; at most 4,096. Findings may
    /// reach across them.
    part_breaks: Option<Value>,
    /// Of an answer: the model that gave it, or that was asked. A string names it, in at most 128 bytes.
    model: Option<Value>,
    /// Of an answer: the tokens of its call as the model server counts them. An object with `prompt_tokens` (of them
    /// `cached_tokens` and `cache_write_tokens`), `completion_tokens` (of them `reasoning_tokens`) and `total_tokens`;
    /// numbers up to 1,000,000,000 are read.
    usage: Option<Value>,
    /// What is known of the call: an object with `provider` (the model server, in letters, digits and `._-:[]`),
    /// `status` (of HTTP), `latency_ms` and `first_byte_ms` (from the head of the request to the end and to the first
    /// byte of the answer) and `client_address`. What is not valid is ignored with a warning; anything else than an
    /// object is stored unchanged.
    call: Option<Value>,
    /// Of an answer: true if it is a stored one that was read again. Its record keeps `usage` and has no
    /// cost, and no sum counts it.
    stored_response: Option<Value>,
}

/// A missing section is off; a section that is there is on unless it says `enabled: false`. Unknown keys are ignored
/// with a warning.
#[derive(ToSchema)]
struct ValidationConfig {
    #[schema(pattern = "^([Ii][Nn][Ll][Ii][Nn][Ee])$")]
    source: String,
    inline: InlineRules,
}

#[derive(ToSchema)]
struct InlineRules {
    dataclean: Option<InlineDataclean>,
    guardrails: Option<InlineGuardrails>,
    custom: Option<InlineCustomPolicies>,
}

#[derive(ToSchema)]
struct InlineDataclean {
    enabled: Option<bool>,
    /// If missing: the 21 patterns of the specification; further ones have to be named.
    #[schema(max_items = 100)]
    patterns: Option<Vec<Pattern>>,
    /// A find that one of these matches completely is ignored.
    #[schema(max_items = 100)]
    allowed_patterns: Option<Vec<CustomPattern>>,
    /// MASKING (the default), DELETION or DETECTION, in any letter case.
    #[schema(
        pattern = "^([Mm][Aa][Ss][Kk][Ii][Nn][Gg]|[Dd][Ee][Ll][Ee][Tt][Ii][Oo][Nn]|[Dd][Ee][Tt][Ee][Cc][Tt][Ii][Oo][Nn])$"
    )]
    clean_type: Option<String>,
    /// label (the default), x, length or pseudonym.
    #[schema(
        pattern = "^([Ll][Aa][Bb][Ee][Ll]|[Xx]|[Ll][Ee][Nn][Gg][Tt][Hh]|[Pp][Ss][Ee][Uu][Dd][Oo][Nn][Yy][Mm])$"
    )]
    mask_style: Option<String>,
}

#[derive(ToSchema)]
struct InlineGuardrails {
    enabled: Option<bool>,
    categories: Option<Categories>,
    /// Categories that are switched off.
    #[schema(max_items = 64)]
    disabled: Option<Vec<CategoryName>>,
}

#[derive(ToSchema)]
struct InlineCustomPolicies {
    enabled: Option<bool>,
    #[schema(max_items = 50)]
    policies: Option<Vec<CustomPolicy>>,
}

/// Files, as multipart/form-data.
#[derive(ToSchema)]
pub(crate) struct AttachedFiles {
    /// One field per file, with its name and type; at least one, else 422.
    #[schema(value_type = Vec<String>, format = Binary)]
    attached_files: Vec<Vec<u8>>,
}

/// JSON documents, one on each line; or lines of CSV.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
pub(crate) struct Lines(Vec<u8>);

/// The content of a file.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
pub(crate) struct FileContent(Vec<u8>);
