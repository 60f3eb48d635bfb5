//! What a gateway tells of its calls besides metrics: the access log and traces, from settings to what
//! runs, and to its end.

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
    /// Opens the log, and starts what sends spans where there is a collector.
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

    /// Writes and sends what is left; without waiting for the collector where it has to be quick.
    pub(crate) fn stop(&self, quick: bool) {
        self.tracing.stop(quick);
        self.access.close();
    }
}
