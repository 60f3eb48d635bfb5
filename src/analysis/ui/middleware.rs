//! The middleware around every page: it turns a [`Failure`] into its own page, and sets the headers
//! that limit what a browser may do with an answer.

use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout;
use crate::analysis::ui::paths;
use crate::analysis::ui::records::SIGNED_OUT_EVENT;
use crate::analysis::ui::request::connection::StrictTransport;
use crate::analysis::ui::request::view::View;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

/// Everything from this host and nothing written into a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// One year, for this host alone: the hosts below it may be somebody else's.
const STRICT_TRANSPORT: &str = "max-age=31536000";

pub(crate) async fn frame(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let view = View::read(&parts);
    let strict = parts.extensions.get::<StrictTransport>();
    let is_strict = view.peer.is_tls && strict.is_some_and(|strict| strict.0);
    let mut response = answer(view, Request::from_parts(parts, body), next).await;
    set_security_headers(response.headers_mut());
    if is_strict {
        let value = HeaderValue::from_static(STRICT_TRANSPORT);
        let headers = response.headers_mut();
        headers.insert(header::STRICT_TRANSPORT_SECURITY, value);
    }
    response
}

/// The answer to a request, a [`Failure`] as its own page.
async fn answer(view: View, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    if comes_from_elsewhere(&parts, &view) {
        return layout::redirect_page(&view, view.t.one_moment, &view.here).into_response();
    }
    let wants_fragment = parts.headers.contains_key("x-fragment");
    let is_get = parts.method == Method::GET;
    let wants_events = parts
        .headers
        .get(header::ACCEPT)
        .is_some_and(|kinds| kinds == "text/event-stream");
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        let (head, _) = response.into_parts();
        let (title, text) = failure.texts(&view);
        response = match failure {
            // A browser tells a script nothing of an event stream that it cannot open.
            Failure::SignedOut if wants_events => signed_out_events(),
            Failure::SignedOut if !wants_fragment => {
                Redirect::to(&sign_in_address(&view, is_get)).into_response()
            }
            Failure::NoSecondFactor if !wants_fragment => {
                Redirect::to(paths::SECOND_FACTOR).into_response()
            }
            Failure::Kept(address) => Redirect::to(&address).into_response(),
            Failure::SignedOut => {
                let part = layout::signed_out_fragment(&view, &text);
                (head.status, part).into_response()
            }
            _ if wants_fragment => {
                (head.status, layout::error_fragment(title, &text)).into_response()
            }
            _ => (head.status, layout::error_page(&view, title, &text)).into_response(),
        };
        response.headers_mut().extend(head.headers);
    }
    response
}

/// Whether another site sent the browser here. The browser then leaves out its strict cookies, so the
/// request does not show who is signed in. The answer of an identity provider has a lax cookie.
fn comes_from_elsewhere(parts: &Parts, view: &View) -> bool {
    let site = parts.headers.get("sec-fetch-site");
    let is_answer = view.here.split('?').next() == Some(paths::OIDC_CALLBACK);
    parts.method == Method::GET
        && view.browser.is_none()
        && site.is_some_and(|site| site == "cross-site")
        && !is_answer
}

/// Where to sign in, and where to go on afterwards. What was sent and is not kept is said to be lost.
fn sign_in_address(view: &View, is_get: bool) -> String {
    match (is_get, view.here.as_str()) {
        (_, "/ui") => "/ui/sign-in".to_owned(),
        (true, here) => paths::address("/ui/sign-in", &[("next", here)]),
        (false, here) => paths::address("/ui/sign-in", &[("next", here), ("unsent", "1")]),
    }
}

/// An event stream that ends because nobody is signed in.
fn signed_out_events() -> Response {
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    (kind, SIGNED_OUT_EVENT).into_response()
}

/// What a browser may do with an answer. A header that a handler has set stays: it is stricter, or specific to what
/// the handler answers.
fn set_security_headers(headers: &mut HeaderMap) {
    let fixed: [(HeaderName, &'static str); 6] = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // A one-time link is an address.
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
}
