//! The table of routes: path, method, handler. The OpenAPI document describes the same.

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
use crate::analysis::Services;
use axum::extract::DefaultBodyLimit;
use axum::http::HeaderValue;
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post, put};
use std::sync::Arc;

/// A path without trailing slash, and its methods.
pub(super) type Route = (&'static str, MethodRouter<Arc<Services>>);

/// Everything below `/`; `openapi.json` describes the same.
pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![
        ("/records", get(list::list).delete(erasure::records)),
        ("/records/export", get(export::records)),
        ("/records/by_value", post(by_value::find)),
        ("/records/{id}", get(list::one)),
        ("/records/{id}/explain", post(replays::explain)),
        ("/findings", get(findings::list)),
        ("/findings/bulk", post(findings::change_many)),
        ("/findings/precision", get(evaluation::precision)),
        ("/findings/evaluation", get(evaluation::evaluation)),
        ("/findings/{id}", get(findings::one).patch(findings::change)),
        ("/sessions", get(sessions::list)),
        ("/chain", get(chain::list)),
        ("/statistics", get(statistics::list)),
        ("/statistics/users", get(statistics::users)),
        ("/statistics/costs", get(costs::list)),
    ];
    let processing = [
        ("/process_request", post(process::request)),
        ("/process_response", post(process::response)),
        ("/process_request/override", post(process::request_override)),
        (
            "/process_response/override",
            post(process::response_override),
        ),
        ("/process_batch", post(batch::process)),
        ("/process_tool_call", post(tool_calls::process)),
    ];
    let announced = |(path, methods): Route| (path, methods.layer(map_response(announce_offers)));
    routes.extend(processing.into_iter().map(announced));
    routes.extend(attachment_routes());
    routes.extend(administration());
    routes.extend(alert_routes());
    routes
}

/// Files (CONTRACT 29), and what is known of an exchange by its identifier (CONTRACT 48).
fn attachment_routes() -> [Route; 7] {
    // Each file has a size limit of its own.
    let unbounded = DefaultBodyLimit::disable;
    [
        (
            "/user_prompt_analysis/{id}/attach_files",
            post(attachments::to_prompt).layer(unbounded()),
        ),
        (
            "/llm_response_analysis/{id}/attach_files",
            post(attachments::to_response).layer(unbounded()),
        ),
        (
            "/user_prompt_analysis/by_request/{request_id}/attach_files",
            post(attachments::to_prompt_of).layer(unbounded()),
        ),
        (
            "/llm_response_analysis/by_request/{request_id}/attach_files",
            post(attachments::to_response_of).layer(unbounded()),
        ),
        (
            "/user_prompt_analysis/by_request/{request_id}/check_blocking",
            get(exchanges::of_prompt),
        ),
        (
            "/llm_response_analysis/by_request/{request_id}/check_blocking",
            get(exchanges::of_answer),
        ),
        ("/records/{id}/attachments/{sha256}", get(files::download)),
    ]
}

/// Administration (CONTRACT 30, 38).
fn administration() -> Vec<Route> {
    vec![
        (
            "/applications",
            get(applications::list).post(applications::create),
        ),
        (
            "/applications/{id}",
            get(applications::one)
                .put(applications::replace)
                .patch(applications::change)
                .delete(applications::remove),
        ),
        (
            "/applications/{id}/rules",
            get(parts::rules)
                .put(parts::replace_rules)
                .patch(parts::change_rules),
        ),
        (
            "/applications/{id}/policy",
            get(parts::policy)
                .put(parts::replace_policy)
                .patch(parts::change_policy),
        ),
        ("/applications/{id}/budgets", get(budgets::list)),
        ("/applications/{id}/versions", get(versions::list)),
        ("/applications/{id}/versions/{version}", get(versions::one)),
        ("/applications/{id}/restore", post(versions::restore)),
        ("/applications/{id}/replay", post(replays::replay)),
        ("/tokens", get(tokens::list).post(tokens::create)),
        (
            "/tokens/{id}",
            get(tokens::one)
                .patch(tokens::change)
                .delete(tokens::revoke),
        ),
        ("/tokens/{id}/rotate", post(tokens::rotate)),
        ("/value_keys/rotate", post(value_keys::rotate)),
        ("/audit", get(audit::list)),
    ]
}

/// Alerts, for those who administer the whole server.
fn alert_routes() -> [Route; 10] {
    [
        (
            "/alert_rules",
            get(alert_rules::list).post(alert_rules::create),
        ),
        (
            "/alert_rules/{id}",
            put(alert_rules::replace).delete(alert_rules::remove),
        ),
        (
            "/alert_channels",
            get(alert_channels::list).post(alert_channels::create),
        ),
        (
            "/alert_channels/{id}",
            put(alert_channels::replace).delete(alert_channels::remove),
        ),
        ("/alert_channels/{id}/test", post(alert_channels::test)),
        ("/alerts", get(alerts::list)),
        ("/alerts/{id}/deliveries", get(alerts::told)),
        ("/alerts/{id}/resolve", post(alerts::resolve)),
        ("/alerts/{id}/mute", post(alerts::mute)),
        ("/alert_deliveries/{id}/retry", post(alerts::retry)),
    ]
}

/// Tells a gateway that it may send records in batches (CONTRACT 39), and calls of tools and their results with them.
async fn announce_offers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for offer in ["x-monitor-batch", "x-monitor-tools"] {
        headers.insert(offer, HeaderValue::from_static("1"));
    }
    response
}
