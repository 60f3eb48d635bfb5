//! The files of one call, from its header to the backend. Each fault is its own file's (§7.3.2).

use super::budget::Budget;
use super::descriptor::{self, Descriptor, Source};
use super::fault::Fault;
use super::fetch::{Fetched, Fetcher};
use crate::backend::{Analyzer, AttachError, Attachment, FileList, RecordContext};
use crate::config::FilesSettings;
use crate::observe::Metrics;
use crate::observe::events::AttachmentsEnded;
use crate::spool::PendingAttachments;
use futures_util::stream::{self, StreamExt};
use monitor_model::RecordId;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

/// Files of one call (CONTRACT 31).
const MAX_FILES: usize = 64;
/// Failures of a backend that was asked, after which a file is given up; one that cannot be reached,
/// or asks to wait, is waited for.
const MAX_FAILURES: u32 = 32;
/// The wait before a file is sent again; it doubles up to the longest one.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What all calls share.
pub(super) struct Tools {
    pub(super) fetcher: Fetcher,
    pub(super) settings: FilesSettings,
    pub(super) backend: Arc<dyn Analyzer>,
    pub(super) files: Semaphore,
    pub(super) metrics: Arc<Metrics>,
}

/// The files of one call, and where they go.
pub(super) struct Job {
    list: Arc<FileList>,
    target: Arc<Target>,
}

struct Target {
    context: Arc<RecordContext>,
    record: RecordId,
    budget: Budget,
    tools: Arc<Tools>,
}

/// A descriptor or its fault, with its place in the list, counted from 1; 0 is the list itself.
type Listed = (usize, Result<Descriptor, Fault>);

impl Job {
    pub(super) fn new(owed: &PendingAttachments, tools: Arc<Tools>) -> Self {
        Self {
            list: owed.list.clone(),
            target: Arc::new(Target {
                context: owed.context.clone(),
                record: owed.record,
                budget: Budget::default(),
                tools,
            }),
        }
    }

    /// Ends when each file has come to its end.
    pub(super) async fn run(self) {
        let work = listed(&self.list.headers).into_iter();
        let work = work.map(|(place, descriptor)| {
            let target = self.target.clone();
            async move {
                let done = match descriptor {
                    Ok(descriptor) => target.attach(descriptor).await,
                    Err(fault) => Err(fault),
                };
                (place, done)
            }
        });
        let limit = self.target.tools.settings.max_concurrency;
        let mut done: Vec<_> = stream::iter(work).buffer_unordered(limit).collect().await;
        done.sort_by_key(|(place, _)| *place);
        self.ended(&done);
    }

    fn ended(&self, done: &[(usize, Result<(), Fault>)]) {
        let faults = done.iter().filter_map(|(place, done)| {
            let fault = done.as_ref().err()?;
            Some((*place, fault.outcome(), fault.to_string()))
        });
        let skipped: Vec<_> = faults.collect();
        AttachmentsEnded {
            request_id: &self.list.request_id,
            attached: (done.len() - skipped.len()) as u64,
            skipped: &skipped,
        }
        .emit(&self.target.tools.metrics);
    }
}

fn listed(headers: &[String]) -> Vec<Listed> {
    let mut listed: Vec<Listed> = Vec::new();
    for header in headers {
        match descriptor::elements(header.as_bytes()) {
            Err(fault) => listed.push((0, Err(fault))),
            Ok(elements) => listed.extend(elements.into_iter().map(read)),
        }
    }
    let files = listed.iter_mut().filter(|(place, _)| *place > 0);
    for (index, (place, read)) in files.enumerate() {
        *place = index + 1;
        if index >= MAX_FILES {
            *read = Err(Fault::TooMany);
        }
    }
    listed
}

fn read(element: &RawValue) -> Listed {
    (1, Descriptor::read(element))
}

impl Target {
    async fn attach(&self, descriptor: Descriptor) -> Result<(), Fault> {
        // Closed never; the permit is held until the file is out of memory again.
        let _room = self.tools.files.acquire().await;
        let file = self.file(descriptor).await?;
        self.deliver(file).await
    }

    async fn file(&self, descriptor: Descriptor) -> Result<Attachment, Fault> {
        let fetched = match descriptor.source {
            Source::Inline(text) => Fetched {
                content: descriptor::decoded(&text, self.tools.settings.max_bytes)?.into(),
                name: None,
                kind: None,
            },
            Source::Url(url) => self.download(url).await?,
        };
        let name = descriptor.name.or(fetched.name);
        let inferred = || name.as_deref().and_then(descriptor::type_of_name);
        let kind = descriptor.kind.or_else(inferred).or(fetched.kind);
        Ok(Attachment {
            name: name.unwrap_or_else(|| descriptor::made_up_name(kind.as_deref())),
            content_type: kind.unwrap_or_else(|| descriptor::UNKNOWN_TYPE.to_owned()),
            content: fetched.content,
        })
    }

    async fn download(&self, url: Url) -> Result<Fetched, Fault> {
        let (own, left) = (self.tools.settings.timeout, self.budget.left());
        let since = Instant::now();
        let fetched = timeout(own.min(left), self.tools.fetcher.get(url)).await;
        self.budget.spend(since.elapsed());
        fetched.unwrap_or(Err(Fault::Late(match own <= left {
            true => "it took longer than files.timeout",
            false => "the files of its call took too long",
        })))
    }

    async fn deliver(&self, file: Attachment) -> Result<(), Fault> {
        let key = &self.context.access_key;
        let (mut wait, mut failures) = (FIRST_WAIT, 0);
        loop {
            let error = match self
                .tools
                .backend
                .attach(key, self.record, file.clone())
                .await
            {
                Err(error @ (AttachError::Unavailable(_) | AttachError::Failed(_))) => error,
                done => return Ok(done?),
            };
            failures += u32::from(matches!(error, AttachError::Failed(_)));
            if failures >= MAX_FAILURES {
                return Err(error.into());
            }
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}
