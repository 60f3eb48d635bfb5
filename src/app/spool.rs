//! Starts the spool of one process and stops it in order (CONTRACT 11, 23).

use crate::config::Settings;
use crate::gateway::attachments::Attachments;
use crate::observe::Metrics;
use crate::telemetry::spool::{Closer, SpoolBounds};
use crate::telemetry::{Analyzer, Spool};
use anyhow::Result;
use log::warn;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How long a stop waits for a backend that answers to take what is on its way.
const FLUSH: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);

/// A spool at work.
pub(super) struct Running {
    spool: Spool,
    closer: Closer,
}

/// Opens the spool's folder and starts its lanes on `runtime`.
///
/// # Errors
/// When the folder cannot be used.
pub(super) fn start(
    settings: &Settings,
    runtime: &Runtime,
    analyzer: Arc<dyn Analyzer>,
    metrics: &Arc<Metrics>,
) -> Result<Running> {
    let (queue, spool) = (&settings.gateway.queue, &settings.gateway.spool);
    let bounds = SpoolBounds {
        bytes: spool.max_bytes,
        age: spool.max_age,
        memory: queue.max_bytes,
        lanes: queue.concurrency,
    };
    let folder = settings.spool_dir();
    let (spool, mut worker, closer) =
        Spool::open(&folder, bounds, analyzer.clone(), metrics.clone())?;
    if let Some(owed) = worker.files() {
        let files = &settings.gateway.files;
        let attachments = Attachments::new(files, owed, analyzer, metrics.clone());
        runtime.spawn(attachments.run());
    }
    runtime.spawn(worker.run());
    Ok(Running { spool, closer })
}

impl Running {
    /// The request path's end.
    pub(super) fn spool(&self) -> Spool {
        self.spool.clone()
    }

    /// Lets a backend that answers take what is on its way, unless it has to be quick; the rest waits
    /// on disk for the next start.
    pub(super) fn stop(self, quick: bool) {
        let since = Instant::now();
        let worth = || self.spool.waiting() > 0 && self.spool.backend_answers();
        while !quick && worth() && since.elapsed() < FLUSH {
            std::thread::sleep(LOOK);
        }
        let waiting = self.spool.waiting();
        self.closer.close();
        if waiting > 0 {
            warn!("records not delivered before the stop wait on disk for the next start");
        }
    }
}
