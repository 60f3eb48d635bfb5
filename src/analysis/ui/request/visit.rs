//! The person signed in, and what they may do.

use crate::analysis::access::Scope;
use crate::analysis::clock::now_ms;
use crate::analysis::people::kept_forms::{KeptForms, SentForm};
use crate::analysis::people::{Account, Role};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::paths::{FORM_OWNER, address, is_open_before_set_up};
use crate::analysis::ui::request::view::View;
use crate::analysis::{Caller, Services};
use axum::extract::{FromRef, FromRequestParts, OriginalUri};
use axum::http::request::Parts;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// A request of a person who is signed in.
pub(crate) struct Visit {
    pub(crate) view: View,
    pub(crate) account: Account,
    pub(crate) caller: Caller,
    /// Whether a second factor has to be set up before anything else.
    pub(crate) must_set_up: bool,
    kept_forms: Arc<KeptForms>,
}

impl Visit {
    /// Where a form at this path is sent that is kept if the session ends while it is open.
    pub(crate) fn kept_at(&self, path: &str) -> String {
        match self.kept_forms.owner_token(self.account.id, path, now_ms()) {
            Some(token) => address(path, &[(FORM_OWNER, &token)]),
            None => path.to_owned(),
        }
    }

    /// The form that was sent after its session had ended.
    pub(crate) fn kept_form(&self, id: Uuid) -> Option<SentForm> {
        self.kept_forms.of(id, self.account.id, Instant::now())
    }

    /// Forgets it: it was saved.
    pub(crate) fn forget_form(&self) {
        self.kept_forms.forget(self.account.id);
    }

    /// Whether every record, application and token is within reach, and accounts too.
    pub(crate) fn is_administrator(&self) -> bool {
        self.account.role == Role::Administrator && self.account.application_id.is_none()
    }

    /// Whether a scope is among the person's.
    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.caller.may(scope)
    }

    /// Whether the person reads records, with their originals or without.
    pub(crate) fn may_read(&self) -> bool {
        self.may(Scope::ReadCleaned)
    }

    /// `Forbidden` to whoever reads no records.
    pub(crate) fn must_read(&self) -> Result<(), Failure> {
        self.must(Scope::ReadCleaned)
    }

    /// `Forbidden` without this scope.
    pub(crate) fn must(&self, scope: Scope) -> Result<(), Failure> {
        match self.may(scope) {
            true => Ok(()),
            false => Err(Failure::Forbidden),
        }
    }

    /// `Forbidden` to whoever neither reads records nor changes settings: both may see applications.
    pub(crate) fn must_see_applications(&self) -> Result<(), Failure> {
        self.must_read().or_else(|_| self.must(Scope::Admin))
    }

    /// `Forbidden` for all but administrators of all applications.
    pub(crate) fn must_administer(&self) -> Result<(), Failure> {
        match self.is_administrator() {
            true => Ok(()),
            false => Err(Failure::Forbidden),
        }
    }
}

impl<S> FromRequestParts<S> for Visit
where
    S: Send + Sync,
    Arc<Services>: FromRef<S>,
{
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let view = View::read(parts);
        let Some(browser) = &view.browser else {
            return Err(Failure::SignedOut);
        };
        let services = Arc::<Services>::from_ref(state);
        let signed_in = services.people.signed_in(browser).await?;
        let signed_in = signed_in.ok_or(Failure::SignedOut)?;
        let uri = parts.extensions.get::<OriginalUri>();
        let path = uri.map_or(parts.uri.path(), |original| original.0.path());
        if signed_in.must_set_up && !is_open_before_set_up(path) {
            return Err(Failure::NoSecondFactor);
        }
        let account = signed_in.account;
        Ok(Self {
            caller: Caller::from(&account),
            must_set_up: signed_in.must_set_up,
            account,
            view,
            kept_forms: services.people.kept_forms.clone(),
        })
    }
}
