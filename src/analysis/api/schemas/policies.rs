//! Policies as `Policy::from_value` accepts them (CONTRACT 12 to 16, 34, 41): what one field says decides what others
//! may say, so that there is a schema for each kind.

use super::words::{null, or_null, words};
use monitor_model::{AppMode, LOCAL_PATTERNS, LONGEST_PHRASE, Policy};
use serde_json::Value;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::schema::{
    AnyOfBuilder, ArrayBuilder, Object, ObjectBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

const MOST_CALLS: u64 = 1_000_000;

/// A policy in a request.
pub(super) struct PolicyInput;

/// A part of a policy in a request.
pub(super) struct PolicyPatch;

/// A kind of policies.
struct Kind {
    name: &'static str,
    description: &'static str,
    app_mode: AppMode,
    redacts: bool,
    holds_back: bool,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "SyncPolicy",
        description: "Calls wait for verdicts; a stream begins with the whole answer, or there is none.",
        app_mode: AppMode::Sync,
        redacts: false,
        holds_back: false,
    },
    Kind {
        name: "RedactingSyncPolicy",
        description: "As SyncPolicy, and the forwarded text is changed.",
        app_mode: AppMode::Sync,
        redacts: true,
        holds_back: false,
    },
    Kind {
        name: "HoldingSyncPolicy",
        description: "As SyncPolicy, and streams stay on. It neither replaces answers nor redacts, and blocks on \
                      sensitive data.",
        app_mode: AppMode::Sync,
        redacts: false,
        holds_back: true,
    },
    Kind {
        name: "AsyncPolicy",
        description: "Calls wait for nothing, and nothing blocks.",
        app_mode: AppMode::Async,
        redacts: false,
        holds_back: false,
    },
    Kind {
        name: "RedactingAsyncPolicy",
        description: "As AsyncPolicy, and the forwarded text is changed.",
        app_mode: AppMode::Async,
        redacts: true,
        holds_back: false,
    },
];

impl ToSchema for PolicyInput {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        let kinds = KINDS.iter();
        schemas
            .extend(kinds.map(|kind| (kind.name.to_owned(), Schema::from(kind.schema()).into())));
        schemas.push(("LocalPatterns".to_owned(), local_patterns().into()));
        schemas.push(("CallLimitsInput".to_owned(), call_limits().into()));
        schemas.push(("BudgetsInput".to_owned(), super::budgets::budgets().into()));
    }
}

impl PartialSchema for PolicyInput {
    fn schema() -> RefOr<Schema> {
        let any = AnyOfBuilder::new().description(Some("Null: no policy, calls are async."));
        let kinds = KINDS.iter().map(|kind| Ref::from_schema_name(kind.name));
        kinds
            .fold(any, |any, kind| any.item(kind))
            .item(null())
            .into()
    }
}

impl ToSchema for PolicyPatch {}

impl PartialSchema for PolicyPatch {
    fn schema() -> RefOr<Schema> {
        let description =
            "Merged into the policy. The result must be a valid policy; null removes it.";
        let patch = ObjectBuilder::new()
            .schema_type(or_null(Type::Object))
            .description(Some(description));
        let fields = match Policy::schema() {
            RefOr::T(Schema::Object(policy)) => policy.properties,
            _ => Default::default(),
        };
        let any = || ObjectBuilder::new().schema_type(SchemaType::AnyValue);
        let names = fields.into_keys();
        names
            .fold(patch, |patch, name| patch.property(name, any()))
            .into()
    }
}

impl Kind {
    fn schema(&self) -> Object {
        let is_sync = self.app_mode == AppMode::Sync;
        let mut fields = ObjectBuilder::new()
            .description(Some(self.description))
            .property("app_mode", words([self.app_mode.as_str()]))
            .required("app_mode")
            .property("phrase", phrase(is_sync))
            .property("block_on", block_on(self.holds_back))
            .property("on_backend_failure", on_backend_failure(is_sync))
            .property("replace_response", self.replace_response())
            .property("scan_roles", scan_roles())
            .property("stream_in_sync", self.stream_in_sync())
            .property("redact_upstream", self.redact_upstream())
            .property("block_details", self.block_details())
            .property("embeddings", self.embeddings())
            .property("check_tool_arguments", check_tool_arguments())
            .property("local_patterns", self.local_patterns())
            .property("limits", Ref::from_schema_name("CallLimitsInput"))
            .property("budgets", Ref::from_schema_name("BudgetsInput"));
        for (name, is_required) in [
            ("phrase", is_sync),
            ("stream_in_sync", self.holds_back),
            ("redact_upstream", self.redacts),
        ] {
            if is_required {
                fields = fields.required(name);
            }
        }
        fields.build()
    }

    fn replace_response(&self) -> Schema {
        match self.app_mode == AppMode::Async || self.holds_back {
            true => only_or_null(false).into(),
            false => flag().into(),
        }
    }

    fn stream_in_sync(&self) -> Object {
        match self.holds_back {
            true => described(
                words(["hold_back"]),
                "Streams stay on, behind a window that is scanned in process.",
            ),
            false if self.app_mode == AppMode::Async => words_or_null(["off"]),
            false => described(
                words_or_null(["off", "replay"]),
                "off: no stream. replay: the whole answer, once checked, as a stream.",
            ),
        }
    }

    fn block_details(&self) -> Object {
        match self.app_mode {
            AppMode::Async => words_or_null(["metadata"]),
            AppMode::Sync => described(
                words_or_null(["metadata", "header"]),
                "Where the answer to a blocked call says what was found.",
            ),
        }
    }

    fn embeddings(&self) -> Object {
        let words = match self.app_mode {
            AppMode::Async => words_or_null(["off", "record"]),
            AppMode::Sync => words_or_null(["off", "record", "check"]),
        };
        described(
            words,
            "What happens to the texts of embeddings. check: a blocked call is refused with 400.",
        )
    }

    fn redact_upstream(&self) -> Schema {
        let description = "Finds of the local scan are removed from the forwarded text.";
        match self.redacts {
            true => described(only(true), description).into(),
            false => only_or_null(false).into(),
        }
    }

    fn local_patterns(&self) -> RefOr<Schema> {
        if self.redacts || self.holds_back {
            return Ref::from_schema_name("LocalPatterns").into();
        }
        let nothing = ObjectBuilder::new().schema_type(Type::Null).description(Some(
            "Requires `stream_in_sync: hold_back` or `redact_upstream: true`; nothing else uses them.",
        ));
        nothing.into()
    }
}

fn phrase(is_sync: bool) -> Object {
    let phrase = ObjectBuilder::new().max_length(Some(LONGEST_PHRASE));
    let phrase = match is_sync {
        true => phrase
            .schema_type(Type::String)
            .pattern(Some("^[^\\u0000]*[^\\s\\ufeff\\u0000\\u0085][^\\u0000]*$"))
            .description(Some("The answer to a blocked call.")),
        false => phrase
            .schema_type(or_null(Type::String))
            .pattern(Some("^[^\\u0000]*$")),
    };
    phrase.build()
}

fn block_on(holds_back: bool) -> Object {
    let dataclean: Schema = match holds_back {
        true => {
            let only = only_or_null(true);
            only.description(Some("The only check of the window."))
                .into()
        }
        false => flag().into(),
    };
    ObjectBuilder::new()
        .schema_type(or_null(Type::Object))
        .property("guardrails", flag())
        .property("custom_policy", flag())
        .property("dataclean", dataclean)
        .build()
}

fn on_backend_failure(is_sync: bool) -> Object {
    match is_sync {
        true => words_or_null(["open", "closed"]),
        false => words_or_null(["open"]),
    }
}

fn check_tool_arguments() -> Object {
    described(
        flag(),
        "Whether the arguments of tool calls are checked; their names always are. Null: true.",
    )
}

fn scan_roles() -> Schema {
    ArrayBuilder::new()
        .schema_type(or_null(Type::Array))
        .items(Ref::from_schema_name("ScanRole"))
        .min_items(Some(1))
        .unique_items(true)
        .into()
}

fn local_patterns() -> Schema {
    ArrayBuilder::new()
        .schema_type(or_null(Type::Array))
        .items(words(LOCAL_PATTERNS.iter().copied()))
        .min_items(Some(1))
        .unique_items(true)
        .description(Some(
            "The patterns of hold_back and redact_upstream; null stands for all that can be found in process.",
        ))
        .into()
}

/// A rate per second or per minute, with a burst, or no rate; see `CallLimits`.
fn call_limits() -> Schema {
    let concurrent = described(
        count(or_null(Type::Integer)),
        "Concurrent calls; streams count until their end.",
    );
    let burst = described(
        count(or_null(Type::Integer)),
        "How many calls may arrive at once; by default the number in the rate.",
    );
    let rated = |rate: &str, other: &str| {
        ObjectBuilder::new()
            .property(rate, count(Type::Integer.into()))
            .required(rate)
            .property(other, null())
            .property("burst", burst.clone())
            .property("concurrent", concurrent.clone())
            .build()
    };
    let unrated = ObjectBuilder::new()
        .property("requests_per_second", null())
        .property("requests_per_minute", null())
        .property("burst", null())
        .property("concurrent", concurrent.clone());
    AnyOfBuilder::new()
        .item(unrated)
        .item(rated("requests_per_second", "requests_per_minute"))
        .item(rated("requests_per_minute", "requests_per_second"))
        .item(null())
        .description(Some(
            "How many calls the gateway accepts; further ones get 429. Null: no limit.",
        ))
        .into()
}

fn count(kind: SchemaType) -> Object {
    ObjectBuilder::new()
        .schema_type(kind)
        .minimum(Some(1))
        .maximum(Some(MOST_CALLS))
        .build()
}

fn flag() -> Object {
    ObjectBuilder::new()
        .schema_type(or_null(Type::Boolean))
        .build()
}

fn words_or_null<const N: usize>(words: [&'static str; N]) -> Object {
    let words = words.into_iter().map(Value::from);
    ObjectBuilder::new()
        .schema_type(or_null(Type::String))
        .enum_values(Some(words.chain([Value::Null])))
        .build()
}

/// One value of the two, as a constant: generators of clients have no enumerations of truth values.
fn only(value: bool) -> Object {
    let mut schema = ObjectBuilder::new().schema_type(Type::Boolean).build();
    // A keyword that the type of `utoipa` does not have.
    schema.extensions = Some(Extensions::from_iter([("const", value)]));
    schema
}

fn only_or_null(value: bool) -> AnyOfBuilder {
    AnyOfBuilder::new().item(only(value)).item(null())
}

fn described(mut schema: Object, description: &str) -> Object {
    schema.description = Some(description.to_owned());
    schema
}
