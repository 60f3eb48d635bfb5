//! What every operation of the document has in common, so that no handler repeats it: the refusals that follow from
//! what an operation takes, components of headers, and examples.

use crate::analysis::api::refusals::{REFUSALS, references};
use crate::analysis::api::schemas::words;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use utoipa::openapi::example::Example;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::header::Header;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn, PathItem};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::schema::{Components, Object, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, Response};

/// Refusals of every call that requires a token.
const OF_TOKENS: [u16; 6] = [401, 403, 405, 429, 500, 503];

/// Examples by operation or by the name of a schema.
#[derive(Default, Deserialize)]
pub(super) struct Examples {
    requests: HashMap<String, Value>,
    answers: HashMap<String, Value>,
}

impl Examples {
    pub(super) fn read() -> Self {
        // A file that cannot be read fails the tests of the document.
        serde_json::from_str(include_str!("examples.json")).unwrap_or_default()
    }
}

/// Headers, refusals and the security scheme.
pub(super) fn add_components(components: &mut Components) {
    for (name, description, schema) in headers() {
        let mut header = header(description, schema);
        // A keyword that the type of `utoipa` does not have.
        header.extensions = Some(Extensions::from_iter([("required", true)]));
        components.headers.insert(name.to_owned(), header.into());
    }
    let own = "The application that the access token is bound to, where it is bound to one.";
    let own = header(own, text()).into();
    components
        .headers
        .insert("X-Monitor-Key-Application".to_owned(), own);
    let latest = "The latest version of the application, if the change was made from another one.";
    let latest = header(latest, text());
    components
        .headers
        .insert("LatestETag".to_owned(), latest.into());
    for refusal in &REFUSALS {
        let response = refusal.response().into();
        components
            .responses
            .insert(refusal.name.to_owned(), response);
    }
    let mut token = Http::new(HttpAuthScheme::Bearer);
    token.description = Some("An access token, `mon_…`.".to_owned());
    components.add_security_scheme("Token", SecurityScheme::Http(token));
}

fn header(description: &str, schema: Object) -> Header {
    let mut header = Header::new(schema);
    header.description = Some(description.to_owned());
    header
}

/// Name, description and schema of the headers that answers have.
fn headers() -> [(&'static str, &'static str, Object); 8] {
    let version = ObjectBuilder::new().schema_type(Type::String);
    let version = version.pattern(Some("^\"[0-9]+\"$")).build();
    let seconds = ObjectBuilder::new().schema_type(Type::Integer);
    let seconds = seconds.minimum(Some(1)).build();
    [
        ("ETag", "The application's version.", version),
        (
            "X-Monitor-Batch",
            "Records may be sent in batches.",
            words(["1"]),
        ),
        (
            "X-Monitor-Tools",
            "Messages may have `tool_calls` and `tool_results` in their parameters, which are checked and cleaned.",
            words(["1"]),
        ),
        ("Allow", "The methods of this path.", text()),
        ("Location", "The path of what was created.", text()),
        (
            "X-Content-Type-Options",
            "No client may guess another type.",
            words(["nosniff"]),
        ),
        (
            "WWW-Authenticate",
            "How to authenticate.",
            words(["Bearer"]),
        ),
        (
            "Retry-After",
            "Seconds after which the same call may succeed.",
            seconds,
        ),
    ]
}

fn text() -> Object {
    ObjectBuilder::new().schema_type(Type::String).build()
}

/// The operations of a path.
pub(super) fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let methods = [
        &mut item.get,
        &mut item.put,
        &mut item.post,
        &mut item.patch,
        &mut item.delete,
    ];
    methods.into_iter().flatten()
}

/// Completes an operation.
pub(super) fn complete(operation: &mut Operation, headers: &Components, examples: &Examples) {
    let implied = references(&implied(operation));
    let responses = &mut operation.responses.responses;
    responses.extend(implied);
    for response in responses.values_mut() {
        refer_to_headers(response, headers);
    }
    let id = operation.operation_id.as_deref().unwrap_or_default();
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        leave_out_null(body);
        add_request_examples(body, id, examples);
    }
    for response in operation.responses.responses.values_mut() {
        let RefOr::T(response) = response else {
            continue;
        };
        if let Some(RefOr::T(content)) = response.content.values_mut().next() {
            content.example = of(&examples.answers, id, content).cloned();
        }
    }
}

/// The refusals that follow from what an operation takes.
fn implied(operation: &Operation) -> Vec<u16> {
    if operation.security.as_ref().is_some_and(Vec::is_empty) {
        return vec![405];
    }
    let parameters = operation.parameters.iter().flatten();
    let has = |test: fn(&Parameter) -> bool| {
        parameters
            .clone()
            .any(|parameter| matches!(parameter, RefOr::T(one) if test(one)))
    };
    let types = match &operation.request_body {
        Some(RefOr::T(body)) => body.content.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let mut statuses = OF_TOKENS.to_vec();
    statuses.push(400);
    if has(|parameter| parameter.parameter_in == ParameterIn::Path) {
        statuses.push(404);
    }
    if has(|parameter| parameter.parameter_in == ParameterIn::Query) {
        statuses.push(422);
    }
    if has(|parameter| parameter.name == "If-Match") {
        statuses.extend([409, 428]);
    }
    match types.as_slice() {
        [] => {}
        // The lines of a batch are refused one by one.
        ["application/x-ndjson"] => statuses.extend([408, 413, 415]),
        _ => statuses.extend([408, 413, 415, 422]),
    }
    statuses
}

fn refer_to_headers(response: &mut RefOr<Response>, components: &Components) {
    let RefOr::T(response) = response else { return };
    for (name, header) in &mut response.headers {
        if components.headers.contains_key(name) {
            *header = RefOr::Ref(Ref::new(format!("#/components/headers/{name}")));
        }
    }
}

/// An optional body is there or missing, never null.
fn leave_out_null(body: &mut RequestBody) {
    let contents = body.content.values_mut();
    for content in contents.filter_map(|content| match content {
        RefOr::T(content) => Some(content),
        RefOr::Ref(_) => None,
    }) {
        if let Some(RefOr::T(Schema::OneOf(either))) = &content.schema {
            let mut types = either.items.iter();
            content.schema = types.find(|one| matches!(one, RefOr::Ref(_))).cloned();
        }
    }
}

fn add_request_examples(body: &mut RequestBody, id: &str, examples: &Examples) {
    for content in body.content.values_mut() {
        let RefOr::T(content) = content else { continue };
        match of(&examples.requests, id, content) {
            Some(Value::Object(named)) => {
                let named = named.iter().map(|(name, value)| {
                    let mut example = Example::new();
                    example.value = Some(value.clone());
                    (name.clone(), example.into())
                });
                content.examples.extend(named);
            }
            one => content.example = one.cloned(),
        }
    }
}

/// The example of an operation, or else of the schema that a content refers to.
fn of<'e>(examples: &'e HashMap<String, Value>, id: &str, content: &Content) -> Option<&'e Value> {
    let schema = match &content.schema {
        Some(RefOr::Ref(schema)) => schema.ref_location.rsplit('/').next(),
        _ => None,
    };
    examples.get(id).or_else(|| examples.get(schema?))
}
