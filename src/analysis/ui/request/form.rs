//! A form that a page of the UI sent: its fields, read under a size limit. A form whose token is not that
//! of the browser is refused.

use crate::analysis::ApiError;
use crate::analysis::api::extract::body::read_body;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::request::view::View;
use axum::extract::{FromRequest, Request};
use monitor_model::Secret;

/// The field with the browser's token.
pub(crate) const TOKEN: &str = "form_token";
/// The largest form of somebody who may not be signed in: names, passwords and choices.
const LARGEST_BEFORE_SIGN_IN: usize = 64 << 10;
/// The largest form: two directions of rules with every regex and prompt at its longest.
const LARGEST: usize = 4 << 20;
/// Fields of a form.
const MOST_FIELDS: usize = 5_000;

/// The form of a page that needs no sign-in, which anybody can send: it is small.
pub(crate) struct PublicForm(pub(crate) Form);

/// The fields of a form, in order. Only for handlers that know by then who is signed in.
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Its fields without the browser's token.
    pub(super) fn into_fields(mut self) -> Vec<(String, String)> {
        self.0.retain(|(name, _)| name != TOKEN);
        self.0
    }

    /// Fields that no browser sent.
    pub(crate) fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }

    /// The same with one field of another value.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.0.retain(|(given, _)| given != name);
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with one more field.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A field's text; empty where it is missing.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.value(name).unwrap_or_default()
    }

    /// A field's text, if it was sent.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Every value of a field.
    pub(crate) fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        let named = self.0.iter().filter(move |(given, _)| given == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Whether a box is ticked.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// A secret that a person typed.
    pub(crate) fn secret(&self, name: &str) -> Secret {
        Secret::new(self.text(name))
    }

    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        Self(read(text.as_bytes()))
    }
}

fn read(bytes: &[u8]) -> Vec<(String, String)> {
    let pairs = url::form_urlencoded::parse(bytes).take(MOST_FIELDS);
    let lines = |text: std::borrow::Cow<'_, str>| text.replace("\r\n", "\n");
    pairs
        .map(|(name, value)| (name.into_owned(), lines(value)))
        .collect()
}

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        read_own(request, LARGEST).await
    }
}

impl<S: Send + Sync> FromRequest<S> for PublicForm {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        read_own(request, LARGEST_BEFORE_SIGN_IN).await.map(Self)
    }
}

/// A form, and whether it was made for the browser that sends it. Only for who is signed in, or was.
pub(super) async fn read_any(request: Request) -> Result<(Form, bool), Failure> {
    read_up_to(request, LARGEST).await
}

/// A form of at most so many bytes, if it was made for the browser that sends it.
async fn read_own(request: Request, largest: usize) -> Result<Form, Failure> {
    match read_up_to(request, largest).await? {
        (form, true) => Ok(form),
        (_, false) => Err(Failure::StaleForm),
    }
}

async fn read_up_to(request: Request, largest: usize) -> Result<(Form, bool), Failure> {
    let (parts, body) = request.into_parts();
    let view = View::read(&parts);
    let bytes = read_body(body, largest as u64).await;
    let bytes = bytes.map_err(|error| match error {
        ApiError::TooLarge(_) | ApiError::NotJson(_) => Failure::TooLarge,
        refused => Failure::Refused(refused),
    });
    let form = Form(read(&bytes?));
    let is_own = view.is_own_form(form.text(TOKEN));
    Ok((form, is_own))
}
