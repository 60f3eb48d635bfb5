//! Starts the spool of one process and stops it in order (CONTRACT 11, 23).

use crate::backend::Analyzer;
use crate::config::Settings;
use crate::config::key_file::Owners;
use crate::gateway::attachments::{Attachments, SharedLimits};
use crate::observe::Metrics;
use crate::spool::Spool;
use crate::spool::{self, Closer, Keyring, MissingKey, MovedSegments, Opened};
use crate::spool::{SpoolBounds, SpoolError, SpoolFolder};
use anyhow::{Result, anyhow};
use log::{info, warn};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How long a stop waits for a backend that answers to take the records in memory.
const FLUSH: Duration = Duration::from_secs(30);
/// How often a stop checks whether everything has been delivered.
const FLUSH_POLL: Duration = Duration::from_millis(10);
/// How often the folders of other processes are checked for one whose process has ended.
const TAKEOVER_INTERVAL: Duration = Duration::from_millis(500);

/// The spool of a running process.
pub(crate) struct Running {
    spool: Spool,
    closer: Closer,
    takeover: Takeover,
}

/// Opens the spool's folder and starts delivery on `runtime`.
///
/// # Errors
/// When the folder cannot be used.
pub(crate) fn start(
    settings: &Settings,
    runtime: &Runtime,
    analyzer: Arc<dyn Analyzer>,
    shared: SharedLimits,
    takes_over: bool,
) -> Result<Running> {
    let metrics = &shared.metrics.clone();
    let (base, bounds) = (settings.spool_dir(), bounds(settings));
    let keys = Keyring::load(&settings.gateway.spool.encryption, Owners::of_process());
    let keys = keys.map_err(|error| anyhow!("spool.encryption: {error}"))?;
    let configured = SpoolFolder::new(base.clone(), Arc::new(keys));
    check_keys(&configured)?;
    let open = |folder: &Path| {
        let folder = configured.sibling(folder);
        Spool::open(&folder, bounds, analyzer.clone(), metrics.clone())
    };
    let (folder, opened) = match takes_over {
        true => first_free(&base, open)?,
        false => (base.clone(), open(&base)?),
    };
    let Opened {
        spool,
        mut delivery,
        closer,
    } = opened;
    let takeover = Takeover::start(&base, configured.sibling(&folder), metrics.clone());
    if let Some(pending) = delivery.attachments() {
        let files = &settings.gateway.files;
        let attachments = Attachments::new(files, pending, analyzer, shared);
        runtime.spawn(attachments.run());
    }
    runtime.spawn(delivery.run());
    Ok(Running {
        spool,
        closer,
        takeover,
    })
}

fn bounds(settings: &Settings) -> SpoolBounds {
    let (queue, limits) = (&settings.gateway.queue, &settings.gateway.spool);
    SpoolBounds {
        bytes: limits.max_bytes,
        age: limits.max_age,
        memory: queue.max_bytes,
        concurrency: queue.concurrency,
        dead: limits.max_dead_bytes,
    }
}

/// Whether the files in the configured folder can be read, and those beside it have their keys. What else is wrong
/// with the folder of another process is logged when it is taken over.
fn check_keys(configured: &SpoolFolder) -> Result<(), SpoolError> {
    for folder in spool::existing_folders(configured) {
        match spool::check_keys(&configured.sibling(&folder)) {
            Err(error) if *folder == **configured || MissingKey::is_in(&error) => {
                return Err(SpoolError::folder(&folder, &error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Opens a spool in the first folder that no other process uses. The process before keeps its own folder
/// until it has ended.
fn first_free<T>(
    base: &Path,
    open: impl Fn(&Path) -> Result<T, SpoolError>,
) -> Result<(PathBuf, T), SpoolError> {
    let mut last = None;
    for folder in spool::sibling_folders(base) {
        match open(&folder) {
            Ok(opened) => return Ok((folder, opened)),
            Err(error @ SpoolError::Folder { .. }) if folder == base => return Err(error),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| SpoolError::InUse {
        folder: base.into(),
    }))
}

/// Takes over what ended processes left in folders of their own, on a thread of its own until it is dropped.
struct Takeover {
    /// The thread, and the end of this channel that stops it when it is dropped; None without a thread.
    running: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
}

impl Takeover {
    /// `base` is the configured folder, `own` the one of this process.
    fn start(base: &Path, own: SpoolFolder, metrics: Arc<Metrics>) -> Self {
        let (base, (stop, stopped)) = (base.to_owned(), mpsc::channel());
        let thread = std::thread::Builder::new().name("takeover".into());
        let thread = thread.spawn(move || {
            let mut progress = TakeoverProgress::default();
            while stopped.recv_timeout(TAKEOVER_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                progress.take_over_all(&base, &own, &metrics);
            }
        });
        Self {
            running: thread.ok().map(|thread| (stop, thread)),
        }
    }
}

impl Drop for Takeover {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

/// What is remembered from one attempt to the next.
#[derive(Default)]
struct TakeoverProgress {
    /// The last failure that was logged for each folder; it is not repeated with each attempt.
    logged: HashMap<PathBuf, String>,
    moved: MovedSegments,
}

impl TakeoverProgress {
    fn take_over_all(&mut self, base: &Path, own: &SpoolFolder, metrics: &Metrics) {
        let folders = spool::existing_folders(base).into_iter();
        for from in folders.filter(|folder| **folder != **own) {
            match spool::take_over(&from, own, &mut self.moved, metrics) {
                Ok(None | Some(0)) => {}
                Ok(Some(count)) => info!("{count} records of the previous process taken over"),
                Err(error) => {
                    let failure = format!("cannot take over {}: {error}", from.display());
                    if self.logged.get(&from) != Some(&failure) {
                        warn!("spool: {failure}");
                        self.logged.insert(from, failure);
                    }
                }
            }
        }
    }
}

impl Running {
    /// The request path's end.
    pub(crate) fn spool(&self) -> Spool {
        self.spool.clone()
    }

    /// Delivers the records in memory to a backend that answers, until `quick` is true; the rest stays on disk
    /// for the next start.
    pub(crate) fn stop(self, quick: impl Fn() -> bool) {
        drop(self.takeover);
        let since = Instant::now();
        let can_deliver = || self.spool.waiting() > 0 && self.spool.backend_answers();
        while !quick() && can_deliver() && since.elapsed() < FLUSH {
            std::thread::sleep(FLUSH_POLL);
        }
        let waiting = self.spool.waiting();
        self.closer.close();
        if waiting > 0 {
            warn!("undelivered records stay on disk for the next start");
        }
    }
}
