//! The rules of an application (CONTRACT 38), as `ApplicationRules::parse` accepts them.

use super::words::{or_null, words};
use monitor_model::{CATEGORY_NAMES, pattern_names};
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// What an application wants done with its messages. All regexes are compiled before the rules are accepted.
#[derive(ToSchema)]
pub(super) struct Rules {
    keep_original: Option<bool>,
    retention: Option<Retention>,
    pre: Option<PreRules>,
    post: Option<PostRules>,
}

/// Merged into the rules: objects key by key; anything else, null included, replaces. The result must be valid Rules.
#[derive(ToSchema)]
pub(super) struct RulesPatch {
    keep_original: Option<bool>,
    #[schema(value_type = Option<Object>)]
    retention: Option<Retention>,
    #[schema(value_type = Option<Object>)]
    pre: Option<PreRules>,
    #[schema(value_type = Option<Object>)]
    post: Option<PostRules>,
}

/// How long records are kept, within the retention of the whole store.
#[derive(ToSchema)]
struct Retention {
    #[schema(minimum = 1, maximum = 36500)]
    days: Option<u64>,
    #[schema(minimum = 1, maximum = 9223372036854775807i64)]
    rows: Option<u64>,
    #[schema(minimum = 1, maximum = 9223372036854775807i64)]
    bytes: Option<u64>,
}

/// For user messages.
#[derive(ToSchema)]
struct PreRules {
    /// Null: off. If missing: the 21 patterns of the specification, masked.
    dataclean: Option<Dataclean>,
    /// Off if null or missing.
    guardrails: Option<Guardrails>,
    #[schema(max_items = 50)]
    custom_policies: Option<Vec<CustomPolicy>>,
    #[schema(pattern = "^([Oo]200[Kk]_[Bb][Aa][Ss][Ee]|[Cc][Ll]100[Kk]_[Bb][Aa][Ss][Ee])$")]
    encoding: Option<String>,
    tokens: Option<Thresholds>,
}

/// For model answers.
#[derive(ToSchema)]
struct PostRules {
    /// Null: off. If missing: the 21 patterns of the specification, masked.
    dataclean: Option<Dataclean>,
    /// Off if null or missing.
    guardrails: Option<Guardrails>,
    /// For user messages only: empty here.
    #[schema(max_items = 0, value_type = Option<Vec<Object>>)]
    custom_policies: Option<Vec<CustomPolicy>>,
    #[schema(pattern = "^([Oo]200[Kk]_[Bb][Aa][Ss][Ee]|[Cc][Ll]100[Kk]_[Bb][Aa][Ss][Ee])$")]
    encoding: Option<String>,
    tokens: Option<Thresholds>,
}

#[derive(ToSchema)]
struct Dataclean {
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
struct Guardrails {
    categories: Option<Categories>,
    /// Categories that are switched off.
    #[schema(max_items = 64)]
    disabled: Option<Vec<CategoryName>>,
}

/// Token counts, low < high < critical.
#[derive(ToSchema)]
struct Thresholds {
    #[schema(minimum = 1, maximum = 9223372036854775807i64)]
    low: u64,
    #[schema(minimum = 1, maximum = 9223372036854775807i64)]
    high: u64,
    #[schema(minimum = 1, maximum = 9223372036854775807i64)]
    critical: u64,
}

#[derive(ToSchema)]
pub(super) struct CustomPolicy {
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = "^[^\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f]([^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f])?$"
    )]
    name: String,
    #[schema(min_length = 1, max_length = 10000, pattern = "^[^\\u0000]*$")]
    prompt: String,
}

#[derive(ToSchema)]
pub(super) struct CustomPattern {
    /// The type in the answer.
    #[schema(
        min_length = 1,
        max_length = 64,
        pattern = "^[^\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f]([^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f])?$"
    )]
    name: String,
    /// In the syntax of the Rust crate `regex`, at most 10 MiB compiled. A regex that matches the empty text is refused.
    #[schema(min_length = 1, max_length = 2000, pattern = "^[^\\u0000]*$")]
    regex: String,
}

/// Rules as stored. Another version of the program may have written keys that this one does not know.
#[derive(ToSchema)]
#[schema(value_type = Object)]
pub(crate) struct StoredRules(serde_json::Value);

/// A predefined pattern, or one of the application's own.
pub(super) struct Pattern;

impl ToSchema for Pattern {}

impl PartialSchema for Pattern {
    fn schema() -> RefOr<Schema> {
        let own = Ref::from_schema_name("CustomPattern");
        let known = words(pattern_names());
        AnyOfBuilder::new().item(known).item(own).into()
    }
}

/// A category of the guardrails.
pub(super) struct CategoryName;

impl ToSchema for CategoryName {}

impl PartialSchema for CategoryName {
    fn schema() -> RefOr<Schema> {
        let mut names = words(CATEGORY_NAMES);
        names.description = Some(
            "Answers are checked for toxicity, system_prompt_leak, secret_leak and harmful_content; user messages for \
             the others and toxicity."
                .to_owned(),
        );
        Schema::Object(names).into()
    }
}

/// Thresholds by category.
pub(super) struct Categories;

impl ToSchema for Categories {}

impl PartialSchema for Categories {
    fn schema() -> RefOr<Schema> {
        let score = ObjectBuilder::new().schema_type(Type::Number);
        let score = score.minimum(Some(0)).maximum(Some(1));
        ObjectBuilder::new()
            .schema_type(or_null(Type::Object))
            .property_names(Some(words(CATEGORY_NAMES)))
            .additional_properties(Some(score))
            .description(Some(
                "Maps a category to the score from which it is flagged; 0.5 by default.",
            ))
            .into()
    }
}
