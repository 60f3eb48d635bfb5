//! The traces of one process across its reloads: if the settings change, another sender takes over and the
//! previous one ends with the last call that has spans for it.

use crate::config::TraceSettings;
use crate::observe::Metrics;
use crate::observe::trace::{SpanExporter, Tracer};
use anyhow::{Context, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

/// How long a stop waits for the collector.
const FLUSH: Duration = Duration::from_secs(5);
/// How often a sender is polled until it has sent everything.
const LOOK: Duration = Duration::from_millis(5);

/// The tracer, which decides on traces, and their sender.
pub(crate) struct Tracing {
    runtime: Handle,
    metrics: Arc<Metrics>,
    /// Identifies this process in all spans, across reloads.
    instance: Uuid,
    now: Mutex<Now>,
}

/// The sender in force, and earlier ones that still have spans to send.
#[derive(Default)]
struct Now {
    tracer: Option<Arc<Tracer>>,
    senders: Vec<Sender>,
}

struct Sender {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// The effect of new settings.
pub(crate) enum Change {
    /// The sender in force stays.
    None,
    /// This takes its place; None traces nothing.
    To(Option<Box<SpanExporter>>),
}

impl Tracing {
    /// Starts sending spans if there is a collector.
    ///
    /// # Errors
    /// When the collector cannot be called at all.
    pub(crate) fn start(
        settings: Option<&TraceSettings>,
        runtime: Handle,
        metrics: Arc<Metrics>,
    ) -> Result<Self> {
        let tracing = Self {
            runtime,
            metrics,
            instance: Uuid::new_v4(),
            now: Mutex::default(),
        };
        let change = tracing.prepare(settings)?;
        tracing.replace(change);
        Ok(tracing)
    }

    /// The tracer in force.
    pub(crate) fn tracer(&self) -> Option<Arc<Tracer>> {
        self.lock().tracer.clone()
    }

    /// Reads the files that the settings name, and starts nothing.
    ///
    /// # Errors
    /// When the collector cannot be called at all.
    pub(crate) fn prepare(&self, settings: Option<&TraceSettings>) -> Result<Change> {
        let tracer = self.tracer();
        let running = tracer.as_ref().map(|tracer| tracer.settings());
        // A file may have changed under the same name.
        let names_file = settings.is_some_and(|settings| settings.ca.is_some());
        if running == settings && !names_file {
            return Ok(Change::None);
        }
        let export = settings.map(|settings| {
            let export = SpanExporter::new(settings.clone(), self.instance, self.metrics.clone());
            export.map(Box::new).context("traces")
        });
        Ok(Change::To(export.transpose()?))
    }

    /// Puts it in force; returns the tracer.
    pub(crate) fn replace(&self, change: Change) -> Option<Arc<Tracer>> {
        let mut now = self.lock();
        let Change::To(export) = change else {
            return now.tracer.clone();
        };
        now.senders.retain(|sender| !sender.task.is_finished());
        now.tracer = export.map(|export| {
            let (tracer, spans) = Tracer::new(export.settings().clone(), self.metrics.clone());
            let (stop, stopped) = watch::channel(false);
            let task = self.runtime.spawn(export.run(spans, stopped));
            now.senders.push(Sender { stop, task });
            Arc::new(tracer)
        });
        now.tracer.clone()
    }

    /// Sends what is left; after an interrupt without waiting for the collector.
    pub(crate) fn stop(&self, quick: bool) {
        let now = self.lock();
        for sender in &now.senders {
            sender.stop.send_replace(true);
        }
        let since = Instant::now();
        let is_done = || now.senders.iter().all(|sender| sender.task.is_finished());
        while !quick && !is_done() && since.elapsed() < FLUSH {
            std::thread::sleep(LOOK);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
