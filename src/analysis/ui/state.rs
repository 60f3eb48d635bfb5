//! What the handlers of all pages share.

use super::records::LiveLimit;
use crate::analysis::Services;
use axum::extract::FromRef;
use std::sync::Arc;

/// The state of the UI's router.
#[derive(Clone)]
pub(crate) struct Ui {
    pub(crate) services: Arc<Services>,
    pub(crate) live_limit: LiveLimit,
}

impl Ui {
    pub(crate) fn new(services: Arc<Services>) -> Self {
        Self {
            services,
            live_limit: LiveLimit::default(),
        }
    }
}

impl FromRef<Ui> for Arc<Services> {
    fn from_ref(ui: &Ui) -> Self {
        ui.services.clone()
    }
}
