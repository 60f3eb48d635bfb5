//! What a gateway reports about its calls besides metrics: the access log and traces, from the settings to
//! their shutdown.

pub(crate) mod operations;
pub(crate) mod status;
pub(crate) mod tracing;

use crate::app::observability::tracing::Tracing;
use crate::config::Settings;
use crate::observe::Metrics;
use crate::observe::access::AccessLog;
use anyhow::Result;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// The access log and the traces of a running gateway.
pub(crate) struct Observability {
    pub(crate) access: Arc<AccessLog>,
    pub(crate) tracing: Arc<Tracing>,
}

impl Observability {
    /// Opens the log, and starts sending spans if there is a collector.
    ///
    /// # Errors
    /// When the log's file cannot be written, or the collector cannot be called at all.
    pub(crate) fn start(
        settings: &Settings,
        runtime: &Runtime,
        metrics: &Arc<Metrics>,
    ) -> Result<Self> {
        let access = AccessLog::new(metrics.clone());
        access.replace(AccessLog::prepare(&settings.log.access)?);
        let trace = settings.gateway.trace.as_ref();
        let tracing = Tracing::start(trace, runtime.handle().clone(), metrics.clone())?;
        Ok(Self {
            access: Arc::new(access),
            tracing: Arc::new(tracing),
        })
    }

    /// Writes and sends what is left; after an interrupt without waiting for the collector.
    pub(crate) fn stop(&self, quick: bool) {
        self.tracing.stop(quick);
        self.access.close();
    }
}
