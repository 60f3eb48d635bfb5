//! Processes the files of one call, from its header to the backend. An error affects its own file only
//! (§7.3.2).

use super::budget::DownloadBudget;
use super::descriptor::{self, Descriptor, Source};
use super::fetch::{Fetched, Fetcher};
use super::file_error::FileError;
use super::file_memory::FileMemory;
use super::places::FilePlaces;
use crate::backend::{Analyzer, AttachError, Attachment, FileList, RecordContext};
use crate::config::FilesSettings;
use crate::fair_queue::Tenant;
use crate::gateway::limits::{MemoryBudget, MemoryReservation};
use crate::observe::Metrics;
use crate::observe::events::AttachmentsEnded;
use crate::spool::PendingAttachments;
use futures_util::stream::{self, StreamExt};
use monitor_model::RecordId;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

/// The most files of one call (CONTRACT 31).
const MAX_FILES: usize = 64;
/// A file is dropped after this many failures of the backend. An unreachable backend, or one that asks to
/// retry later, does not count as failed.
const MAX_FAILURES: u32 = 32;
/// The wait before a file is sent again, doubled each time up to the longest one.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What the jobs of all calls share.
pub(super) struct JobContext {
    pub(super) fetcher: Fetcher,
    pub(super) settings: FilesSettings,
    pub(super) backend: Arc<dyn Analyzer>,
    /// Bounds the files in memory by their number,
    pub(super) places: Arc<FilePlaces>,
    /// and by their bytes.
    pub(super) memory: Arc<MemoryBudget>,
    pub(super) metrics: Arc<Metrics>,
}

/// The files of one call.
pub(super) struct Job {
    list: Arc<FileList>,
    uploader: Arc<Uploader>,
}

/// Fetches the files of one call and sends them to its record.
struct Uploader {
    call: Arc<RecordContext>,
    record: RecordId,
    budget: DownloadBudget,
    shared: Arc<JobContext>,
}

/// An element of the list.
struct Listed {
    /// Its position, counted from 1; 0 for an error of the list itself.
    position: usize,
    descriptor: Result<Descriptor, FileError>,
}

/// The outcome of one element.
struct Finished {
    position: usize,
    result: Result<(), FileError>,
}

impl Job {
    pub(super) fn new(pending: &PendingAttachments, shared: Arc<JobContext>) -> Self {
        Self {
            list: pending.list.clone(),
            uploader: Arc::new(Uploader {
                call: pending.context.clone(),
                record: pending.record,
                budget: DownloadBudget::default(),
                shared,
            }),
        }
    }

    /// Processes every file, at most `files.max_concurrency` at a time.
    pub(super) async fn run(self) {
        let work = listed(&self.list.headers).into_iter();
        let work = work.map(|listed| {
            let uploader = self.uploader.clone();
            async move {
                let result = match listed.descriptor {
                    Ok(descriptor) => uploader.attach(descriptor).await,
                    Err(error) => Err(error),
                };
                Finished {
                    position: listed.position,
                    result,
                }
            }
        });
        let limit = self.uploader.shared.settings.max_concurrency;
        let mut finished: Vec<_> = stream::iter(work).buffer_unordered(limit).collect().await;
        finished.sort_by_key(|file| file.position);
        self.report(&finished);
    }

    fn report(&self, finished: &[Finished]) {
        let skipped = finished.iter().filter_map(|file| {
            let error = file.result.as_ref().err()?;
            Some((file.position, error.outcome(), error.to_string()))
        });
        let skipped: Vec<_> = skipped.collect();
        AttachmentsEnded {
            request_id: &self.list.request_id,
            attached: (finished.len() - skipped.len()) as u64,
            skipped: &skipped,
        }
        .emit(&self.uploader.shared.metrics);
    }
}

fn listed(headers: &[String]) -> Vec<Listed> {
    let mut listed: Vec<Listed> = Vec::new();
    let mut files = 0;
    for header in headers {
        let elements = match descriptor::elements(header.as_bytes()) {
            Ok(elements) => elements,
            Err(error) => {
                listed.push(Listed {
                    position: 0,
                    descriptor: Err(error),
                });
                continue;
            }
        };
        for element in elements {
            files += 1;
            let descriptor = match files <= MAX_FILES {
                true => Descriptor::read(element),
                false => Err(FileError::TooMany),
            };
            listed.push(Listed {
                position: files,
                descriptor,
            });
        }
    }
    listed
}

impl Uploader {
    async fn attach(&self, descriptor: Descriptor) -> Result<(), FileError> {
        // Both are held until the file is sent and dropped.
        let tenant = Tenant::new(&self.call.access_key, &self.call.application_id);
        let _place = self.shared.places.take(tenant).await;
        let reservation = MemoryReservation::new(&self.shared.memory, tenant.holder);
        let mut memory = FileMemory::new(reservation);
        let file = self.file(descriptor, &mut memory).await?;
        self.deliver(file).await
    }

    async fn file(
        &self,
        descriptor: Descriptor,
        memory: &mut FileMemory,
    ) -> Result<Attachment, FileError> {
        let fetched = match descriptor.source {
            Source::Inline(text) => {
                memory.cover(text.len()).await?;
                Fetched {
                    content: descriptor::decoded(&text, self.shared.settings.max_bytes)?.into(),
                    name: None,
                    kind: None,
                }
            }
            Source::Url(url) => self.download(url, memory).await?,
        };
        let name = descriptor.name.or(fetched.name);
        let inferred = || name.as_deref().and_then(descriptor::type_of_name);
        let kind = descriptor.kind.or_else(inferred).or(fetched.kind);
        Ok(Attachment {
            name: name.unwrap_or_else(|| descriptor::default_name(kind.as_deref())),
            content_type: kind.unwrap_or_else(|| descriptor::UNKNOWN_TYPE.to_owned()),
            content: fetched.content,
        })
    }

    async fn download(&self, url: Url, memory: &mut FileMemory) -> Result<Fetched, FileError> {
        let (own, left) = (self.shared.settings.timeout, self.budget.left());
        let since = Instant::now();
        let fetched = timeout(own.min(left), self.shared.fetcher.get(url, memory)).await;
        self.budget.spend(since.elapsed());
        fetched.unwrap_or(Err(FileError::Late(match own <= left {
            true => "the download took longer than files.timeout",
            false => "the downloads of the call took too long together",
        })))
    }

    async fn deliver(&self, file: Attachment) -> Result<(), FileError> {
        let key = &self.call.access_key;
        let (mut wait, mut failures) = (FIRST_WAIT, 0);
        loop {
            let error = match self
                .shared
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
