//! The application that a page is about, with whoever looks at it: read and checked in one place for
//! every page below `/ui/applications/{id}`.

use crate::analysis::Services;
use crate::analysis::ui::Ui;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::visit::Visit;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use monitor_store::{Application, Scope};
use std::sync::Arc;

/// For those who see applications.
pub(super) struct Opened {
    pub(super) services: Arc<Services>,
    pub(super) visit: Visit,
    pub(super) stored: Application,
}

/// For those who change them.
pub(super) struct Editable(pub(super) Opened);

impl Opened {
    /// What is no UUID is no application's, nor is one of somebody else.
    async fn load(visit: Visit, (parts, ui): (&mut Parts, &Ui)) -> Result<Self, Failure> {
        let id = Path::<String>::from_request_parts(parts, ui).await;
        let id = id.map_err(|_| Failure::NotFound)?.0;
        let id = id.parse().map_err(|_| Failure::NotFound)?;
        let services = ui.services.clone();
        Ok(Self {
            stored: services.admin.one_application(&visit.caller, id).await?,
            services,
            visit,
        })
    }

    /// The address of its page.
    pub(super) fn address(&self) -> String {
        format!("/ui/applications/{}", self.stored.id)
    }
}

impl FromRequestParts<Ui> for Opened {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, ui: &Ui) -> Result<Self, Failure> {
        let visit = Visit::from_request_parts(parts, ui).await?;
        visit.must_see_applications()?;
        Self::load(visit, (parts, ui)).await
    }
}

impl FromRequestParts<Ui> for Editable {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, ui: &Ui) -> Result<Self, Failure> {
        let visit = Visit::from_request_parts(parts, ui).await?;
        visit.must(Scope::Admin)?;
        Ok(Self(Opened::load(visit, (parts, ui)).await?))
    }
}
