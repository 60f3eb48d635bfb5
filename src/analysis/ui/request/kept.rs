//! A large form whose session ended while it was open: by time, by signing out, or by signing in anew in another
//! window. It is kept for its account (`people::kept_forms`), and the browser goes on to the page that shows it again.

use super::form::{Form, read_any};
use crate::analysis::clock::now_ms;
use crate::analysis::people::AccountId;
use crate::analysis::people::kept_forms::{KeptForms, SentForm};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::paths::{FORM_OWNER, KEPT_FORM};
use crate::analysis::ui::state::Ui;
use axum::extract::{FromRequestParts, OriginalUri, Request};
use axum::http::request::Parts;
use std::time::Instant;

/// Who sends a form and what it is about, with the form itself.
///
/// # Errors
/// [`Failure::Kept`] for a form that carries the owner token of an account, where its session has ended.
pub(crate) async fn read<P>(request: Request, ui: &Ui) -> Result<(P, Form), Failure>
where
    P: FromRequestParts<Ui, Rejection = Failure>,
{
    let (mut parts, body) = request.into_parts();
    let forms = &ui.services.people.kept_forms;
    let (owner, path) = owner(forms, &parts);
    let head = P::from_request_parts(&mut parts, ui).await;
    // Of nobody in particular nothing is read.
    if let Err(failure) = &head
        && !(matches!(failure, Failure::SignedOut) && owner.is_some())
    {
        return Err(failure.clone());
    }
    let (form, is_own) = read_any(Request::from_parts(parts, body)).await?;
    match (head, owner) {
        (Ok(head), _) if is_own => Ok((head, form)),
        (_, Some(account)) => {
            let fields = form.into_fields();
            let id = forms.keep(account, SentForm { path, fields }, Instant::now());
            Err(Failure::Kept(format!("{KEPT_FORM}{id}")))
        }
        (Ok(_), None) => Err(Failure::StaleForm),
        (Err(failure), None) => Err(failure),
    }
}

/// The account that the form was made for, by the token in its address, and its path. A form of another site has none.
fn owner(forms: &KeptForms, parts: &Parts) -> (Option<AccountId>, String) {
    let uri = parts.extensions.get::<OriginalUri>();
    let uri = uri.map_or(&parts.uri, |original| &original.0);
    let path = uri.path().to_owned();
    let site = parts.headers.get("sec-fetch-site");
    let is_ours = site.is_none_or(|site| site == "same-origin");
    let query = uri.query().unwrap_or_default().as_bytes();
    let mut pairs = url::form_urlencoded::parse(query).filter(|_| is_ours);
    let token = pairs.find(|(name, _)| name == FORM_OWNER);
    let account = token.and_then(|(_, token)| forms.owner(&token, &path, now_ms()));
    (account, path)
}
