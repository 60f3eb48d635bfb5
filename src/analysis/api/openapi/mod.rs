//! The OpenAPI 3.1 document of the analysis API (CONTRACT 27 to 30, 38): operations from the handlers, schemas from
//! their types. The tests compare it with the router's routes and with what the readers of requests accept.

mod finish;
mod shape;
#[cfg(test)]
mod tests;

use self::finish::Examples;
use super::admin::{
    alert_channels, alert_rules, alerts, applications, audit, parts, replays, tokens, value_keys,
    versions,
};
use super::ingest::{batch, process, tool_calls};
use super::records::findings::{self, evaluation};
use super::records::{
    attachments, budgets, by_value, chain, costs, erasure, exchanges, export, files, list,
    sessions, statistics,
};
use super::refusals;
use super::schemas;
use monitor_model::{ErrorEnvelope, ErrorType, GATEWAY_VERSION};
use std::sync::LazyLock;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::{OpenApi as Document, RefOr, Schema};
use utoipa::{Modify, OpenApi};

/// The document, JSON in UTF-8.
pub fn openapi_json() -> &'static [u8] {
    static JSON: LazyLock<String> = LazyLock::new(|| {
        // Text, numbers and maps with text as keys: serialization has no failing case.
        let mut json = Api::openapi().to_pretty_json().unwrap_or_default();
        json.push('\n');
        json
    });
    JSON.as_bytes()
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Monitor analysis API",
        version = GATEWAY_VERSION,
        description = include_str!("introduction.md"),
        contact(name = "Monitor Gateway authors"),
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = ".", description = "The server of this document (default port 4200).")),
    tags(
        (name = "analysis", description = "Messages in, verdicts out."),
        (name = "records", description = "Stored records."),
        (name = "findings", description = "What was flagged, and what people decided about it."),
        (name = "applications", description = "Rules, policies and their versions."),
        (name = "tokens", description = "Access."),
        (name = "alerts", description = "What fires, and who is told."),
        (name = "audit", description = "Who changed what."),
        (name = "documentation", description = "No token needed."),
    ),
    security(("Token" = [])),
    components(schemas(ErrorEnvelope)),
    paths(
        process::request,
        process::request_override,
        process::response,
        process::response_override,
        batch::process,
        tool_calls::process,
        exchanges::of_prompt,
        exchanges::of_answer,
        list::list,
        erasure::records,
        export::records,
        by_value::find,
        list::one,
        replays::explain,
        attachments::to_prompt,
        attachments::to_response,
        attachments::to_prompt_of,
        attachments::to_response_of,
        files::download,
        findings::list,
        findings::one,
        findings::change,
        findings::change_many,
        evaluation::precision,
        evaluation::evaluation,
        sessions::list,
        chain::list,
        statistics::list,
        statistics::users,
        costs::list,
        applications::list,
        applications::create,
        applications::one,
        applications::replace,
        applications::change,
        applications::remove,
        parts::rules,
        parts::replace_rules,
        parts::change_rules,
        parts::policy,
        parts::replace_policy,
        parts::change_policy,
        budgets::list,
        versions::list,
        versions::one,
        versions::restore,
        replays::replay,
        tokens::list,
        tokens::create,
        tokens::one,
        tokens::change,
        tokens::revoke,
        tokens::rotate,
        value_keys::rotate,
        audit::list,
        alert_rules::list,
        alert_rules::create,
        alert_rules::replace,
        alert_rules::remove,
        alert_channels::list,
        alert_channels::create,
        alert_channels::replace,
        alert_channels::remove,
        alert_channels::test,
        alerts::list,
        alerts::told,
        alerts::resolve,
        alerts::mute,
        alerts::retry,
        home,
    ),
    modifiers(&Finish),
)]
struct Api;

/// Show where the API is
///
/// A page for people. Requires no token.
#[utoipa::path(
    get,
    path = "/",
    operation_id = "home",
    tag = "documentation",
    security(),
    responses((status = 200, description = "A page for people.", body = String, content_type = "text/html")),
)]
#[expect(dead_code, reason = "the web UI answers it")]
fn home() {}

/// The paths of the specification (§4.3, §4.4).
const SPECIFIED: [&str; 4] = [
    "/process_request",
    "/process_response",
    "/process_request/override",
    "/process_response/override",
];
/// What the description of an operation below any other path ends with.
const ADDITION: &str = "An addition to the specification.";

struct Finish;

impl Modify for Finish {
    fn modify(&self, document: &mut Document) {
        let summary = "Checks messages to and from language models and records the verdicts.";
        document.info.extensions = Some(Extensions::from_iter([("summary", summary)]));
        let examples = Examples::read();
        let mut components = document.components.take().unwrap_or_default();
        finish::add_components(&mut components);
        let kinds = refusals::kinds().map(ErrorType::as_str);
        let kinds = Schema::Object(schemas::words(kinds));
        components
            .schemas
            .insert("ErrorType".to_owned(), kinds.into());
        let additions = document.paths.paths.iter_mut();
        let additions = additions.filter(|(path, _)| !SPECIFIED.contains(&path.as_str()));
        for operation in additions.flat_map(|(_, item)| finish::operations(item)) {
            let description = operation.description.get_or_insert_default();
            *description = format!("{} {ADDITION}", description.trim_end());
        }
        let paths = document.paths.paths.values_mut();
        let mut bodies = Vec::new();
        for operation in paths.flat_map(finish::operations) {
            finish::complete(operation, &components, &examples);
            bodies.extend(operation.request_body.clone());
            if let Some(text) = &mut operation.description {
                *text = shape::tidied(text);
            }
            for parameter in operation.parameters.iter_mut().flatten() {
                let RefOr::T(parameter) = parameter else {
                    continue;
                };
                parameter.description = parameter.description.as_deref().map(shape::tidied);
            }
        }
        let requests = shape::referred(&bodies, &components);
        shape::shape(&mut components, &requests);
        let used = shape::referred(&(&document.paths, &components.responses), &components);
        components.schemas.retain(|name, _| used.contains(name));
        document.components = Some(components);
    }
}
