//! The keys of `blobs` and `attachments`: where attached files are kept, and how large they may be.

use crate::config::reading::reader::Reader;
use crate::config::values::units::{self, DAY, Form, GIB, MIB};
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of files that are being uploaded; one file of `max_bytes` where that is larger.
const UPLOADING_BYTES: u64 = 256 * MIB;

/// Where the bytes of attached files are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobPlace {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket of an S3-compatible store; the AWS_* variables say how to reach it.
    Bucket {
        /// Name of the bucket.
        name: String,
        /// What the keys of all files begin with, without slashes around it; empty for nothing.
        prefix: String,
    },
}

/// Bounds of files that are attached to records; over them 413, and 429 over those of files that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachmentSettings {
    /// Bytes of one file, default 20 MiB.
    pub max_bytes: u64,
    /// Files of one request, default 64.
    pub max_files: usize,
    /// Files of one application that wait for their message, default 1,000.
    pub waiting_files: u64,
    /// Their bytes, default 1 GiB.
    pub waiting_bytes: u64,
    /// How long they wait, default a day.
    pub waiting_for: Duration,
    /// Bytes of files that are being uploaded, default 256 MiB.
    pub uploading_bytes: u64,
}

/// The place of attached files: a path, or a bucket with a prefix.
pub(crate) fn blob_place() -> Form<BlobPlace> {
    Form::new("a path, or s3://bucket[/prefix]", |text| {
        let Some(bucket) = text.strip_prefix("s3://") else {
            return match text {
                "" => Err("is empty".to_owned()),
                _ if text.contains("://") => {
                    Err("is not a place where files can be kept".to_owned())
                }
                _ => Ok(BlobPlace::Folder(text.into())),
            };
        };
        let (name, prefix) = bucket.split_once('/').unwrap_or((bucket, ""));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        let is_prefix = |c: char| is_plain(c) || c == '/';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err("names no bucket".to_owned());
        }
        if !prefix.chars().all(is_prefix) {
            return Err(
                "has a prefix with characters other than letters, digits and `.-_/`".to_owned(),
            );
        }
        Ok(BlobPlace::Bucket {
            name: name.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
        })
    })
    .text_only()
}

pub(crate) fn attachments(r: &mut Reader<'_>, prefix: &str) -> AttachmentSettings {
    let max_bytes = r.read(&format!("{prefix}max_bytes"), &units::size(1..=GIB));
    let max_files = r.read(&format!("{prefix}max_files"), &units::count(1..=1_000));
    let key = |name: &str| format!("{prefix}{name}");
    let waiting_files = r.read(&key("waiting_files"), &units::count(1..=1_000_000));
    let waiting_bytes = r.read(&key("waiting_bytes"), &units::size(MIB..=1 << 50));
    let waiting_for = r.read(
        &key("waiting_for"),
        &units::duration(Duration::from_secs(1)..=30 * DAY),
    );
    let uploading_bytes = r.read(&key("uploading_bytes"), &units::size(MIB..=1 << 50));
    let settings = AttachmentSettings {
        max_bytes: max_bytes.unwrap_or(20 * MIB),
        max_files: max_files.unwrap_or(64),
        waiting_files: waiting_files.map_or(1_000, |files| files as u64),
        waiting_bytes: waiting_bytes.unwrap_or(GIB),
        waiting_for: waiting_for.unwrap_or(DAY),
        uploading_bytes: uploading_bytes.unwrap_or(UPLOADING_BYTES.max(max_bytes.unwrap_or(0))),
    };
    r.refuse_if(
        &key("uploading_bytes"),
        settings.uploading_bytes < settings.max_bytes,
        "is smaller than attachments.max_bytes: a file of that size would have no room",
    );
    r.refuse_if(
        &key("waiting_bytes"),
        settings.waiting_bytes < settings.max_bytes,
        "is smaller than attachments.max_bytes: a file of that size could never wait for its message",
    );
    settings
}
