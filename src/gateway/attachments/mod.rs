//! Attached files (§2.2, §4.1.4, §7.3.2, CONTRACT 31): what the header lists is downloaded or decoded
//! and handed to the backend for the call's pre-call record. The request path only reads the header:
//! the list goes into the spool with that record, so that a call neither waits for its files nor fails
//! with them, and a crash loses none of a list that is on disk.

mod budget;
mod descriptor;
mod fault;
mod fetch;
mod guard;
mod job;

use crate::backend::{Analyzer, FileList};
use crate::config::FilesSettings;
use crate::observe::Metrics;
use crate::spool::PendingAttachments;
use fetch::Fetcher;
use futures_util::FutureExt;
use guard::Guard;
use http::{HeaderMap, HeaderValue};
use job::{Job, Tools};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// The header and its alias (§2.1).
const HEADERS: [&str; 2] = ["x-attached-files", "x-attachedfiles"];
/// Files of all calls in memory at once.
const FILES_AT_ONCE: usize = 16;

/// What a call lists; None where it lists nothing.
pub(super) fn list(headers: &HeaderMap, request_id: &str) -> Option<Arc<FileList>> {
    let said = HEADERS.iter().flat_map(|name| headers.get_all(*name));
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers: Vec<String> = said.filter(|value| !value.is_empty()).map(text).collect();
    (!headers.is_empty()).then(|| {
        Arc::new(FileList {
            headers,
            request_id: request_id.to_owned(),
            record: None,
        })
    })
}

/// Handles the files of records that the backend has.
pub struct Attachments {
    queue: mpsc::UnboundedReceiver<PendingAttachments>,
    tools: Arc<Tools>,
}

impl Attachments {
    /// `queue` is bounded by the spool that fills it.
    pub fn new(
        settings: &FilesSettings,
        queue: mpsc::UnboundedReceiver<PendingAttachments>,
        backend: Arc<dyn Analyzer>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let tools = Arc::new(Tools {
            fetcher: Fetcher::new(Guard::new(settings), settings.max_bytes),
            settings: settings.clone(),
            backend,
            files: Semaphore::new(FILES_AT_ONCE),
            metrics,
        });
        Self { queue, tools }
    }

    /// Handles one call's files beside the others', until the spool ends.
    pub async fn run(mut self) {
        let mut calls = JoinSet::new();
        loop {
            tokio::select! {
                owed = self.queue.recv() => match owed {
                    Some(owed) => drop(calls.spawn(handle(owed, self.tools.clone()))),
                    None => break,
                },
                Some(_) = calls.join_next() => {}
            }
        }
        while calls.join_next().await.is_some() {}
    }
}

async fn handle(owed: PendingAttachments, tools: Arc<Tools>) {
    let job = Job::new(&owed, tools);
    // What panics once would panic at every start.
    if AssertUnwindSafe(job.run()).catch_unwind().await.is_err() {
        log::error!("the files of a call could not be handled");
    }
    owed.done();
}
