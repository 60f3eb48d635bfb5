//! Starts the spool of one process and stops it in order (CONTRACT 11, 23).

use crate::backend::Analyzer;
use crate::config::Settings;
use crate::gateway::attachments::Attachments;
use crate::observe::Metrics;
use crate::spool::Spool;
use crate::spool::{self, Closer, Opened, SpoolBounds, SpoolError};
use anyhow::Result;
use log::{info, warn};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How long a stop waits for a backend that answers to take what is on its way.
const FLUSH: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);
/// How often folders of processes before are looked at.
const ADOPT: Duration = Duration::from_millis(500);

/// A spool at work.
pub(crate) struct Running {
    spool: Spool,
    closer: Closer,
    adopting: Adopting,
}

/// Opens the spool's folder and starts delivery on `runtime`.
///
/// # Errors
/// When the folder cannot be used.
pub(crate) fn start(
    settings: &Settings,
    runtime: &Runtime,
    analyzer: Arc<dyn Analyzer>,
    metrics: &Arc<Metrics>,
    takes_over: bool,
) -> Result<Running> {
    let (queue, limits) = (&settings.gateway.queue, &settings.gateway.spool);
    let bounds = SpoolBounds {
        bytes: limits.max_bytes,
        age: limits.max_age,
        memory: queue.max_bytes,
        concurrency: queue.concurrency,
        dead: limits.max_dead_bytes,
    };
    let base = settings.spool_dir();
    let open = |folder: &Path| Spool::open(folder, bounds, analyzer.clone(), metrics.clone());
    let (folder, opened) = match takes_over {
        true => first_free(&base, open)?,
        false => (base.clone(), open(&base)?),
    };
    let Opened {
        spool,
        mut delivery,
        closer,
    } = opened;
    let adopting = Adopting::start(&base, folder);
    if let Some(pending) = delivery.attachments() {
        let files = &settings.gateway.files;
        let attachments = Attachments::new(files, pending, analyzer, metrics.clone());
        runtime.spawn(attachments.run());
    }
    runtime.spawn(delivery.run());
    Ok(Running {
        spool,
        closer,
        adopting,
    })
}

/// A spool in the first folder that no other process has: the one before works in its own until
/// it has ended.
fn first_free<T>(
    base: &Path,
    open: impl Fn(&Path) -> Result<T, SpoolError>,
) -> Result<(PathBuf, T), SpoolError> {
    let mut last = None;
    for folder in spool::sibling_folders(base) {
        match open(&folder) {
            Err(error @ SpoolError::InUse { .. }) => last = Some(error),
            opened => return Ok((folder, opened?)),
        }
    }
    Err(last.unwrap_or_else(|| SpoolError::InUse {
        folder: base.into(),
    }))
}

/// Looks after the folders of processes before, from a thread of its own, until it is dropped.
struct Adopting(Option<(mpsc::Sender<()>, JoinHandle<()>)>);

impl Adopting {
    fn start(base: &Path, own: PathBuf) -> Self {
        let (base, (stop, stopped)) = (base.to_owned(), mpsc::channel());
        let thread = std::thread::Builder::new().name("adopting".into());
        let looking = thread.spawn(move || {
            while stopped.recv_timeout(ADOPT) == Err(RecvTimeoutError::Timeout) {
                let others = spool::existing_folders(&base);
                for from in others.into_iter().filter(|folder| *folder != own) {
                    match spool::take_over(&from, &own) {
                        Ok(None | Some(0)) => {}
                        Ok(Some(count)) => {
                            info!("{count} records of the previous process taken over")
                        }
                        Err(error) => {
                            warn!("spool: cannot take over {}: {error}", from.display())
                        }
                    }
                }
            }
        });
        Self(looking.ok().map(|thread| (stop, thread)))
    }
}

impl Drop for Adopting {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

impl Running {
    /// The request path's end.
    pub(crate) fn spool(&self) -> Spool {
        self.spool.clone()
    }

    /// Lets a backend that answers take what is on its way, unless it has to be quick or comes to have to;
    /// the rest waits on disk for the next start.
    pub(crate) fn stop(self, quick: impl Fn() -> bool) {
        drop(self.adopting);
        let since = Instant::now();
        let worth = || self.spool.waiting() > 0 && self.spool.backend_answers();
        while !quick() && worth() && since.elapsed() < FLUSH {
            std::thread::sleep(LOOK);
        }
        let waiting = self.spool.waiting();
        self.closer.close();
        if waiting > 0 {
            warn!("undelivered records stay on disk for the next start");
        }
    }
}
