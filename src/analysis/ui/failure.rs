//! What a page answers instead of itself, and the frame around every answer: the failure's own page
//! and the headers that bind what a browser may do with it.

use super::layout;
use super::oidc;
use super::view::View;
use crate::analysis::ApiError;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

/// Everything from this host and nothing written into a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Why a page is not shown.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// Nobody is signed in, or no longer.
    SignedOut,
    /// The form was made for another browser or sign-in.
    StaleForm,
    /// The form is larger than any that a page of ours makes.
    TooLarge,
    /// The role does not allow it.
    Forbidden,
    /// There is no such page, or nothing with this name for whoever asks.
    NotFound,
    /// The service refused.
    Refused(ApiError),
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        match error {
            // Whoever names what belongs to others is not told whether it exists.
            ApiError::NotFound | ApiError::OtherApplication => Self::NotFound,
            ApiError::ScopeMissing(_) | ApiError::NotForBound | ApiError::ScopeNotOwn(_) => {
                Self::Forbidden
            }
            other => Self::Refused(other),
        }
    }
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Self::SignedOut => StatusCode::UNAUTHORIZED,
            Self::StaleForm | Self::Forbidden => StatusCode::FORBIDDEN,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Refused(error) => {
                StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }

    fn texts(&self, view: &View) -> (&'static str, String) {
        let t = view.t;
        match self {
            Self::SignedOut => (t.sign_in, t.signed_out.to_owned()),
            Self::StaleForm => (t.stale_form, t.stale_form_hint.to_owned()),
            Self::TooLarge => (t.too_large, String::new()),
            Self::Forbidden => (t.forbidden, t.forbidden_hint.to_owned()),
            Self::NotFound => (t.not_found, t.not_found_hint.to_owned()),
            Self::Refused(error) => (t.refused, t.tell_error(error)),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        if let Self::Refused(error) = &self
            && let Some(seconds) = error.retry_after()
        {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// Around every page.
pub(super) async fn frame(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let view = View::read(&parts);
    if comes_from_elsewhere(&parts, &view) {
        let mut passage = layout::passage(&view, view.t.one_moment, &view.here).into_response();
        guard(passage.headers_mut());
        return passage;
    }
    let wants_fragment = parts.headers.contains_key("x-fragment");
    let is_get = parts.method == Method::GET;
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        let (head, _) = response.into_parts();
        let (title, text) = failure.texts(&view);
        response = match failure {
            Failure::SignedOut if !wants_fragment => {
                Redirect::to(&sign_in_address(&view, is_get)).into_response()
            }
            _ if wants_fragment => {
                (head.status, layout::fragment_failure(title, &text)).into_response()
            }
            _ => (head.status, layout::failure(&view, title, &text)).into_response(),
        };
        response.headers_mut().extend(head.headers);
    }
    guard(response.headers_mut());
    response
}

/// Whether another site sent the browser here. Its cookies come along only from a page of ours, so that
/// nothing can be said yet about who is signed in. An identity provider's answer has a cookie that comes
/// along at once.
fn comes_from_elsewhere(parts: &Parts, view: &View) -> bool {
    let site = parts.headers.get("sec-fetch-site");
    let is_answer = view.here.split('?').next() == Some(oidc::BACK);
    parts.method == Method::GET
        && view.browser.is_none()
        && site.is_some_and(|site| site == "cross-site")
        && !is_answer
}

/// Where to sign in, and where to go on afterwards.
fn sign_in_address(view: &View, is_get: bool) -> String {
    match is_get && view.here != "/ui" {
        true => {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.append_pair("next", &view.here);
            format!("/ui/sign-in?{}", query.finish())
        }
        false => "/ui/sign-in".to_owned(),
    }
}

/// What a browser may do with an answer.
fn guard(headers: &mut HeaderMap) {
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
        headers.insert(name, HeaderValue::from_static(value));
    }
}
