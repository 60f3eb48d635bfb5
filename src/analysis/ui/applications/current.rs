//! The application of a page below `/ui/applications/{id}`, read and checked in one place, with the
//! person who opens the page.

use crate::analysis::Services;
use crate::analysis::access::Scope;
use crate::analysis::admin::Application;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use std::sync::Arc;

/// The application, for those who may see applications.
pub(super) struct CurrentApplication {
    pub(super) services: Arc<Services>,
    pub(super) visit: Visit,
    pub(super) stored: Application,
}

/// The application, for those who may change it.
pub(super) struct Editable(pub(super) CurrentApplication);

impl CurrentApplication {
    async fn load(visit: Visit, parts: &mut Parts, ui: &Ui) -> Result<Self, Failure> {
        let id = Path::<String>::from_request_parts(parts, ui).await;
        let id = id.map_err(|_| Failure::NotFound)?.0;
        Self::find(visit, &id, ui).await
    }

    /// `NotFound` for a text that is no UUID and for an application of somebody else.
    pub(super) async fn find(visit: Visit, id: &str, ui: &Ui) -> Result<Self, Failure> {
        let id = id.parse().map_err(|_| Failure::NotFound)?;
        let services = ui.services.clone();
        Ok(Self {
            stored: services.admin.find_application(&visit.caller, id).await?,
            services,
            visit,
        })
    }

    /// The address of the application's page.
    pub(super) fn address(&self) -> String {
        format!("/ui/applications/{}", self.stored.id)
    }
}

impl FromRequestParts<Ui> for CurrentApplication {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, ui: &Ui) -> Result<Self, Failure> {
        let visit = Visit::from_request_parts(parts, ui).await?;
        visit.must_see_applications()?;
        Self::load(visit, parts, ui).await
    }
}

impl FromRequestParts<Ui> for Editable {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, ui: &Ui) -> Result<Self, Failure> {
        let visit = Visit::from_request_parts(parts, ui).await?;
        visit.must(Scope::Admin)?;
        Ok(Self(CurrentApplication::load(visit, parts, ui).await?))
    }
}
