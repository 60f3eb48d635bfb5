//! Attaching files to records, and reading them (CONTRACT 29). The text of a file is analyzed like a
//! message of its record's application. Of an application that keeps no originals the bytes are not stored
//! either, only name, size, hash and findings.

use super::Records;
use super::documents::Extracted;
use super::exchanges::ExchangeName;
use super::files::Linked;
use super::files::file_text::{self, Form};
use super::files::upload_room::UploadPlace;
use crate::analysis::access::caller::Caller;
use crate::analysis::audit::{Action, Target};
use crate::analysis::clock::now_ms;
use crate::analysis::error::ApiError;
use crate::analysis::ingest::application_cache::LoadedApplication;
use crate::fair_queue::{Claim, Tenant, Urgency};
use bytes::Bytes;
use monitor_model::{ApplicationId, RecordId, Secret, Stage, stored_id};
use monitor_store::{
    AttachTarget, Attachment, BlobBytes, BlobHash, Exchange, Extraction, Findings, Received,
    Scanned, Scope, Upload, WaitingLimits,
};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The time limit for analyzing the text of one file.
const ANALYSIS_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest stored name and media type, in characters.
const LONGEST_NAME: usize = 255;
const LONGEST_KIND: usize = 127;
const UNKNOWN_KIND: &str = "application/octet-stream";

/// A file to be attached.
#[derive(Clone, Debug)]
pub struct NewFile {
    /// The caller's name for it, cut at 255 characters. Never used as a path.
    pub name: String,
    /// Its media type; None stands for `application/octet-stream`.
    pub kind: Option<String>,
    /// The content of the file.
    pub bytes: Bytes,
}

/// The record that files are attached to, and the stage it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachTo {
    /// Its analysis id: `request_id` of the answer of §2.9.
    pub record: RecordId,
    /// `user_prompt` or `llm_answer`.
    pub stage: Stage,
}

/// A file of a record, by its bytes and, where they have several names, its name.
pub(crate) struct WantedFile {
    pub(crate) hash: BlobHash,
    pub(crate) name: Option<String>,
}

impl WantedFile {
    fn is(&self, file: &Attachment) -> bool {
        let is_named = |name: &String| *name == file.name;
        file.hash == self.hash && self.name.as_ref().is_none_or(is_named)
    }
}

/// A record that files may be attached to, or that they wait for.
pub(crate) struct UploadTarget {
    to: AttachTarget,
    stage: Stage,
    application: Arc<LoadedApplication>,
    tenant: Tenant,
}

/// A file that is being uploaded.
pub(crate) struct UploadInRoom {
    upload: Upload,
    _place: UploadPlace,
}

impl Records {
    /// Attaches a file to a record; durable when this returns. Attaching the same content under the same name
    /// again changes nothing and returns the first link. The call does not count against the rate limit.
    ///
    /// # Errors
    /// [`ApiError`]: token, scope; 404 for a record that does not exist or is not the caller's, 422 for one
    /// of the other stage, 413 over `attachments.max_bytes`, 503 if it could not be stored.
    pub async fn attach(
        &self,
        key: &Secret,
        to: AttachTo,
        file: NewFile,
    ) -> Result<Attachment, ApiError> {
        let caller = self.access.recognize(key, Scope::Ingest).await?;
        let target = self.upload_target(&caller, to).await?;
        let size = file.bytes.len() as u64;
        let mut upload = self.begin_upload(&target, Some(size)).await?;
        self.write_upload(&mut upload, file.bytes).await?;
        let linked = self
            .finish_upload(&target, upload, file.name, file.kind)
            .await?;
        Ok(linked.file)
    }

    /// The record that files go to, if the caller may attach files to it.
    pub(crate) async fn upload_target(
        &self,
        caller: &Caller,
        to: AttachTo,
    ) -> Result<UploadTarget, ApiError> {
        let record = self.record(caller, to.record).await?.record.summary;
        if record.stage != to.stage {
            return Err(ApiError::Field {
                field: "request_id",
                problem: match record.stage {
                    Stage::PreCall => "is a user_prompt: use /user_prompt_analysis/",
                    Stage::PostCall => "is an llm_answer: use /llm_response_analysis/",
                },
            });
        }
        let application = self.application_of(record.application_id, caller).await?;
        Ok(UploadTarget {
            to: AttachTarget::Record(record.seq),
            stage: record.stage,
            tenant: caller.tenant(application.id),
            application,
        })
    }

    /// The record of an exchange, whether or not it has arrived, if the caller may attach files to it.
    pub(crate) async fn exchange_target(
        &self,
        caller: &Caller,
        name: ExchangeName,
    ) -> Result<UploadTarget, ApiError> {
        let named = name.application_id.as_deref();
        let application = self.application_cache.resolve(named, caller).await?;
        let exchange = Exchange {
            application_id: application.id,
            id: stored_id(&name.id).into_owned(),
            stage: name.stage,
        };
        let limits = WaitingLimits {
            files: self.files.limits.waiting_files,
            bytes: self.files.limits.waiting_bytes,
        };
        Ok(UploadTarget {
            to: AttachTarget::Exchange(exchange, limits),
            stage: name.stage,
            tenant: caller.tenant(application.id),
            application,
        })
    }

    async fn application_of(
        &self,
        id: ApplicationId,
        caller: &Caller,
    ) -> Result<Arc<LoadedApplication>, ApiError> {
        let id = id.to_string();
        match self.application_cache.resolve(Some(&id), caller).await {
            // The application was removed since the record was found.
            Err(ApiError::Field { .. }) => Err(ApiError::NotFound),
            other => other,
        }
    }

    /// Begins a file of at most this size, once there is room for it.
    pub(crate) async fn begin_upload(
        &self,
        target: &UploadTarget,
        size: Option<u64>,
    ) -> Result<UploadInRoom, ApiError> {
        let most = self.files.limits.max_bytes;
        let bytes = size.map_or(most, |size| size.min(most));
        let _place = self.uploads.claim(target.tenant, bytes).await?;
        Ok(UploadInRoom {
            upload: self.files.blobs.begin().await?,
            _place,
        })
    }

    /// Writes the next bytes of a file, up to the size limit.
    pub(crate) async fn write_upload(
        &self,
        to: &mut UploadInRoom,
        bytes: Bytes,
    ) -> Result<(), ApiError> {
        let upload = &mut to.upload;
        let limit = self.files.limits.max_bytes;
        if upload.size() + bytes.len() as u64 > limit {
            return Err(ApiError::FileTooLarge(limit));
        }
        Ok(upload.write(bytes).await?)
    }

    /// Stores an upload that is complete, with its name and type. One that is not is dropped.
    pub(crate) async fn finish_upload(
        &self,
        target: &UploadTarget,
        complete: UploadInRoom,
        name: String,
        kind: Option<String>,
    ) -> Result<Linked, ApiError> {
        let UploadInRoom { upload, _place } = complete;
        let received = upload.finish().await?;
        let mut attachment = Attachment {
            hash: received.hash,
            name: cut(&name, LONGEST_NAME),
            kind: cut(kind.as_deref().unwrap_or(UNKNOWN_KIND), LONGEST_KIND),
            size: received.size,
            kept: target.application.rules.keep_original,
            findings: nothing(Scanned::No),
            attached_at_ms: now_ms(),
        };
        attachment.findings = self.found_in(target, &received, &attachment).await;
        let linked = self.link(target, &received, attachment).await;
        received.discard().await;
        if let (Ok(_), Some(metrics)) = (&linked, self.analyzer.remote.metrics()) {
            metrics.analysis.files.inc();
        }
        linked
    }

    /// Stores a file once there is room for its bytes.
    async fn link(
        &self,
        target: &UploadTarget,
        received: &Received,
        attachment: Attachment,
    ) -> Result<Linked, ApiError> {
        if !attachment.kept {
            return self.files.link(&target.to, received, attachment).await;
        }
        let claim = Claim {
            tenant: target.tenant,
            urgency: Urgency::Awaited,
        };
        let _room = self.room.claim(claim, attachment.size).await?;
        let linked = self.files.link(&target.to, received, attachment).await;
        let is_refused = matches!(
            linked,
            Err(ApiError::TooManyWaiting
                | ApiError::Conflict(_)
                | ApiError::NotFound
                | ApiError::ExchangeErased)
        );
        if is_refused {
            self.room.note_unlinked();
        }
        linked
    }

    async fn found_in(
        &self,
        target: &UploadTarget,
        received: &Received,
        file: &Attachment,
    ) -> Findings {
        let (text, is_whole) = match self.text(received, file, target.tenant).await {
            Ok(Some(Extracted { text, is_whole })) => (text, is_whole),
            Ok(None) => return nothing(Scanned::No),
            Err(reason) => {
                return Findings {
                    extraction: Some(reason),
                    ..nothing(Scanned::No)
                };
            }
        };
        let rules = target.application.rules.of(target.stage);
        let claim = Claim {
            tenant: target.tenant,
            urgency: Urgency::Deferred,
        };
        let analyzed = self.analyzer.analyze_locally(text.into(), rules, claim);
        let Ok(Ok(report)) = tokio::time::timeout(ANALYSIS_TIMEOUT, analyzed).await else {
            return nothing(Scanned::Failed);
        };
        let is_part = report.cleaned_in_part || !is_whole;
        let scanned = match report.dataclean.cleaned_text {
            // The rules have it switched off, or it failed.
            None if report.errors.is_empty() => Scanned::No,
            None => Scanned::Failed,
            Some(_) if is_part => Scanned::Part,
            Some(_) => Scanned::Whole,
        };
        Findings {
            types: report.dataclean.types,
            ..nothing(scanned)
        }
    }

    /// The text of a file; None where its type has none. Read away from the threads that serve connections.
    async fn text(
        &self,
        received: &Received,
        file: &Attachment,
        tenant: Tenant,
    ) -> Result<Option<Extracted>, Extraction> {
        let form = file_text::form(&file.kind, &file.name, &received.beginning);
        match form {
            None => Ok(None),
            Some(Form::Document(document)) => {
                let opened = self.files.blobs.open(received);
                let opened = opened.map_err(|_| Extraction::Failed)?;
                let read = self.documents.read(document, opened, tenant).await;
                read.map(Some)
            }
            Some(form) => {
                let beginning = received.beginning.clone();
                let is_whole = beginning.len() as u64 == received.size;
                let read = move || file_text::read(form, &beginning);
                let text = tokio::task::spawn_blocking(read).await;
                let text = text.map_err(|_| Extraction::Failed)?;
                Ok(text.map(|text| Extracted { text, is_whole }))
            }
        }
    }

    /// The files of the record at this position; without their names for callers that see no originals.
    pub(crate) async fn attachments(
        &self,
        caller: &Caller,
        seq: i64,
    ) -> Result<Vec<Attachment>, ApiError> {
        let files = self.files.store.clone();
        let read = async move { files.attachments(seq).await };
        let mut files = self.reads.read(caller, read).await?;
        if !caller.reads_originals() {
            files.iter_mut().for_each(|file| file.name.clear());
        }
        Ok(files)
    }

    /// One file of a record with its bytes, which is an event of the audit log. Without a name, the first of the names
    /// that these bytes have.
    pub(crate) async fn attachment(
        &self,
        caller: &Caller,
        record: RecordId,
        wanted: &WantedFile,
    ) -> Result<(Attachment, BlobBytes), ApiError> {
        caller.must_have(&[Scope::Read])?;
        let record = self.record(caller, record).await?.record.summary;
        let files = self.attachments(caller, record.seq).await?;
        let file = files.into_iter().find(|file| file.kept && wanted.is(file));
        let file = file.ok_or(ApiError::NotFound)?;
        let bytes = self.files.blobs.read(wanted.hash).await?;
        let bytes = bytes.ok_or(ApiError::NotFound)?;
        let target = Target::Record(record.id, record.application_id);
        let details = json!({"sha256": wanted.hash.to_string(), "size": file.size});
        let noted = self
            .audit
            .note_read(caller, Action::AttachmentDownload, target, details);
        noted.await?;
        Ok((file, bytes))
    }

    /// The limit of files in one request.
    pub(crate) fn max_files(&self) -> usize {
        self.files.limits.max_files
    }
}

fn nothing(scanned: Scanned) -> Findings {
    Findings {
        scanned,
        extraction: None,
        types: Vec::new(),
    }
}

/// The beginning of a text without control characters, for lists and headers.
fn cut(text: &str, longest: usize) -> String {
    let shown = text.chars().filter(|character| !character.is_control());
    shown.take(longest).collect()
}
