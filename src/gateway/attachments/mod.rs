//! Attached files (§2.2, §4.1.4, §7.3.2, CONTRACT 31): downloads or decodes the files that the header lists
//! and sends them to the backend for the call's pre-call record. The request path only reads the header and
//! puts the list into the spool with that record, so that a call neither waits for its files nor fails with
//! them, and a crash loses no list that is on disk.

mod budget;
mod descriptor;
mod fetch;
mod file_error;
mod file_memory;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod guard;
mod job;
mod places;

use crate::backend::{Analyzer, FileList};
use crate::config::FilesSettings;
use crate::gateway::limits::MemoryBudget;
use crate::observe::Metrics;
use crate::spool::PendingAttachments;
use fetch::Fetcher;
use futures_util::FutureExt;
use guard::Guard;
use http::{HeaderMap, HeaderName, HeaderValue};
use job::{Job, JobContext};
use places::FilePlaces;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The header and its alias (§2.1).
static HEADERS: [HeaderName; 2] = [
    HeaderName::from_static("x-attached-files"),
    HeaderName::from_static("x-attachedfiles"),
];
/// The most files of all calls in memory at the same time. One access key gets half of them at most.
const FILES_AT_ONCE: usize = 32;

/// The list of a call's files, unparsed; None without one.
pub(super) fn list(headers: &HeaderMap, request_id: &str) -> Option<Arc<FileList>> {
    let values = HEADERS.iter().flat_map(|name| headers.get_all(name));
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers: Vec<String> = values.filter(|value| !value.is_empty()).map(text).collect();
    (!headers.is_empty()).then(|| {
        Arc::new(FileList {
            headers,
            request_id: request_id.to_owned(),
            record: None,
        })
    })
}

/// What the files share with the calls of the gateway.
pub struct SharedLimits {
    /// The memory that `limits.buffered_bytes` bounds.
    pub(crate) memory: Arc<MemoryBudget>,
    /// Counts what happens.
    pub(crate) metrics: Arc<Metrics>,
}

/// Sends the files of records that the backend has stored.
pub struct Attachments {
    queue: mpsc::UnboundedReceiver<PendingAttachments>,
    context: Arc<JobContext>,
}

impl Attachments {
    /// `queue` is bounded by the spool that fills it.
    pub fn new(
        settings: &FilesSettings,
        queue: mpsc::UnboundedReceiver<PendingAttachments>,
        backend: Arc<dyn Analyzer>,
        shared: SharedLimits,
    ) -> Self {
        let context = Arc::new(JobContext {
            fetcher: Fetcher::new(Guard::new(settings), settings.max_bytes),
            settings: settings.clone(),
            backend,
            places: FilePlaces::new(FILES_AT_ONCE),
            memory: shared.memory,
            metrics: shared.metrics,
        });
        Self { queue, context }
    }

    /// Processes the files of all calls concurrently, until the spool closes the queue.
    pub async fn run(mut self) {
        let mut calls = JoinSet::new();
        loop {
            tokio::select! {
                pending = self.queue.recv() => match pending {
                    Some(pending) => drop(calls.spawn(process(pending, self.context.clone()))),
                    None => break,
                },
                Some(_) = calls.join_next() => {}
            }
        }
        while calls.join_next().await.is_some() {}
    }
}

async fn process(pending: PendingAttachments, context: Arc<JobContext>) {
    let job = Job::new(&pending, context);
    // A panic is contained and the list is done: retried, it would panic again at every start.
    if AssertUnwindSafe(job.run()).catch_unwind().await.is_err() {
        log::error!("processing the attachments of a call panicked; they are dropped");
    }
    pending.done();
}
