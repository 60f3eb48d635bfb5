//! The servers that an analysis calls over HTTP (DESIGN "Seams"): the judge of custom policies, and checks
//! that `analysis` merges with the engine's report. Every call is bounded in time, number and size, and a
//! server that is down costs a message next to nothing. Stores nothing, decides nothing.

mod cache;
mod chat;
mod chunks;
mod endpoint;
mod fault;
mod guard;
mod guard_protocols;
mod hazards;
mod model;
mod presidio;
mod reason;
mod verdict;

pub use endpoint::{Endpoint, EndpointConfig, EndpointStatus, RemoteCheck, SetupError};
pub use fault::Fault;
pub use guard::GuardModel;
pub use guard_protocols::{GuardQuery, Opinion};
pub use model::ModelJudge;
pub use presidio::Presidio;
pub use verdict::INSTRUCTIONS;

use crate::observe::Metrics;
use crate::observe::events::CuesOnly;
use monitor_detect::custom_policy::{Cues, Judge};
use std::sync::Arc;

/// The servers that are configured.
#[derive(Clone, Default)]
pub struct Remote {
    judge: Option<Arc<ModelJudge>>,
    presidio: Option<Arc<Presidio>>,
    guard: Option<Arc<GuardModel>>,
    metrics: Option<Arc<Metrics>>,
}

impl Remote {
    /// No server yet; messages that needed one are counted.
    pub fn none(metrics: Arc<Metrics>) -> Self {
        Self {
            metrics: Some(metrics),
            ..Self::default()
        }
    }

    /// The metrics of the process; None in tests.
    pub(crate) fn metrics(&self) -> Option<&Arc<Metrics>> {
        self.metrics.as_ref()
    }

    /// With a judge.
    #[must_use]
    pub fn with_judge(mut self, judge: ModelJudge) -> Self {
        self.judge = Some(Arc::new(judge));
        self
    }

    /// With a finder of sensitive data.
    #[must_use]
    pub fn with_presidio(mut self, presidio: Presidio) -> Self {
        self.presidio = Some(Arc::new(presidio));
        self
    }

    /// With a second opinion on guardrails.
    #[must_use]
    pub fn with_guard(mut self, guard: GuardModel) -> Self {
        self.guard = Some(Arc::new(guard));
        self
    }

    /// The finder of sensitive data, where there is one.
    pub fn presidio(&self) -> Option<&Presidio> {
        self.presidio.as_deref()
    }

    /// The guard model, where there is one.
    pub fn guard(&self) -> Option<&GuardModel> {
        self.guard.as_deref()
    }

    /// The judge of custom policies: the model, else a search for their own words.
    pub fn judge(&self) -> &dyn Judge {
        match &self.judge {
            Some(judge) => &**judge,
            None => {
                if let Some(metrics) = &self.metrics {
                    CuesOnly.emit(metrics);
                }
                &Cues
            }
        }
    }

    /// The model that judges, where there is one.
    pub fn model_judge(&self) -> Option<&ModelJudge> {
        self.judge.as_deref()
    }
}
