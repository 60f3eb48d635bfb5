//! Why a page is not shown, with its status and its texts.

use crate::analysis::ApiError;
use crate::analysis::ui::request::view::View;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Why a page is not shown.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// Nobody is signed in, or no longer.
    SignedOut,
    /// The session of a form had ended; the page at this address shows it again.
    Kept(String),
    /// A second factor has to be set up first.
    NoSecondFactor,
    /// The form was made for another browser or sign-in.
    StaleForm,
    /// The form is larger than any that a page of ours makes.
    TooLarge,
    /// The role does not allow it.
    Forbidden,
    /// There is no such page, or nothing with this name that the account may see.
    NotFound,
    /// The services refused.
    Refused(ApiError),
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        match error {
            // Whether something of another application exists is not revealed.
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
            Self::SignedOut | Self::Kept(_) => StatusCode::UNAUTHORIZED,
            Self::StaleForm | Self::Forbidden | Self::NoSecondFactor => StatusCode::FORBIDDEN,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Refused(error) => {
                StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }

    /// Title and text of its page.
    pub(crate) fn texts(&self, view: &View) -> (&'static str, String) {
        let t = view.t;
        match self {
            Self::SignedOut | Self::Kept(_) => (t.sign_in, t.signed_out.to_owned()),
            Self::NoSecondFactor => (view.s().second_factor, view.s().must_set_up.to_owned()),
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
