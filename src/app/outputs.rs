//! What a gateway tells of its calls besides metrics: the access log and traces, from settings to what
//! runs, and to its end.

use crate::config::Settings;
use crate::observe::Metrics;
use crate::observe::access::AccessLog;
use crate::observe::trace::Tracer;
use crate::telemetry::SpanExport;
use anyhow::{Context, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long a stop waits for the collector.
const FLUSH: Duration = Duration::from_secs(5);
/// Between two looks at whether it has everything.
const LOOK: Duration = Duration::from_millis(5);

/// What runs.
pub(super) struct Outputs {
    pub(super) access: Arc<AccessLog>,
    pub(super) tracer: Option<Arc<Tracer>>,
    export: Option<(watch::Sender<bool>, JoinHandle<()>)>,
}

impl Outputs {
    /// Opens the log, and starts what sends spans where there is a collector.
    ///
    /// # Errors
    /// When the log's file cannot be written, or the collector cannot be called at all.
    pub(super) fn start(
        settings: &Settings,
        runtime: &Runtime,
        metrics: &Arc<Metrics>,
    ) -> Result<Self> {
        let access = AccessLog::new(metrics.clone());
        access.replace(AccessLog::prepare(&settings.log.access)?);
        let mut outputs = Self {
            access: Arc::new(access),
            tracer: None,
            export: None,
        };
        if let Some(trace) = &settings.gateway.trace {
            let export = SpanExport::new(trace.clone(), metrics.clone()).context("traces")?;
            let (tracer, spans) = Tracer::new(trace.clone(), metrics.clone());
            let (stop, stopped) = watch::channel(false);
            let running = runtime.spawn(export.run(spans, stopped));
            outputs.tracer = Some(Arc::new(tracer));
            outputs.export = Some((stop, running));
        }
        Ok(outputs)
    }

    /// Writes and sends what is left; without waiting for the collector where it has to be quick.
    pub(super) fn stop(self, quick: bool) {
        if let Some((stop, running)) = self.export {
            stop.send_replace(true);
            let since = Instant::now();
            while !quick && !running.is_finished() && since.elapsed() < FLUSH {
                std::thread::sleep(LOOK);
            }
        }
        self.access.close();
    }
}
