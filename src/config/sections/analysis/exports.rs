//! The keys of `exports`: which records are written away once a day, and where. Nothing is opened here.

use super::files::BlobPlace;
use crate::config::reading::collections::groups;
use crate::config::reading::reader::Reader;
use crate::config::values::units::{self, Form, quote};
use monitor_model::ApplicationId;
use std::path::PathBuf;

const MOST_EXPORTS: usize = 16;
const LONGEST_NAME: usize = 64;
/// How many days are caught up with by default.
const DAYS: usize = 7;
const VERDICTS: &[(&str, &str)] = &[
    ("flagged", "flagged"),
    ("clean", "clean"),
    ("unchecked", "unchecked"),
    ("guardrails", "guardrails"),
    ("custom_policy", "custom_policy"),
    ("dataclean", "dataclean"),
    ("blocked", "blocked"),
    ("failed", "failed"),
];

/// Records that are written away once a day.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportSettings {
    /// Its name, for the names of objects and the audit log; no two have the same.
    pub name: String,
    /// Where the objects are.
    pub place: ExportPlace,
    /// Only records of this application.
    pub application: Option<ApplicationId>,
    /// Only records with this verdict, by its word in the API.
    pub verdict: Option<&'static str>,
    /// Only records in which this type was found.
    pub kind: Option<String>,
    /// Days before today whose objects are written if they are missing.
    pub days: u16,
}

/// Where the objects of an export are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportPlace {
    /// The bucket of `blobs`.
    Bucket {
        /// Name of the bucket.
        name: String,
        /// What the keys of all its objects begin with.
        prefix: String,
    },
    /// A folder of this machine.
    Folder(PathBuf),
}

/// A place as it is written.
enum Place {
    Bucket,
    Folder(PathBuf),
}

impl Place {
    /// None for the bucket where `blobs` names none.
    fn of(self, blobs: Option<&BlobPlace>) -> Option<ExportPlace> {
        match (self, blobs) {
            (Self::Folder(folder), _) => Some(ExportPlace::Folder(folder)),
            (Self::Bucket, Some(BlobPlace::Bucket { name, prefix })) => Some(ExportPlace::Bucket {
                name: name.clone(),
                prefix: prefix.clone(),
            }),
            (Self::Bucket, _) => None,
        }
    }
}

/// The exports; `blobs` is where attached files are.
pub(crate) fn read(
    r: &mut Reader<'_>,
    prefix: &str,
    blobs: Option<&BlobPlace>,
) -> Vec<ExportSettings> {
    const ALLOWED: &str =
        "a list of up to 16 exports, each {name, to, application, verdict, type, days}";
    let list_key = format!("{prefix}exports");
    let lines = groups(r, &list_key, ALLOWED, MOST_EXPORTS);
    let mut exports: Vec<ExportSettings> = Vec::with_capacity(lines.len());
    for (index, line) in lines.into_iter().enumerate() {
        let section = format!("{list_key}[{index}]");
        let Some(export) = export(r, &section, line, blobs) else {
            continue;
        };
        let is_taken = exports.iter().any(|it| it.name == export.name);
        let text = "is the name of another export; allowed: a name of its own";
        r.refuse_if(&format!("{section}.name"), is_taken, text);
        exports.push(export);
    }
    exports
}

/// One export, which begins at this line; None where something is wrong, which is reported.
fn export(
    r: &mut Reader<'_>,
    section: &str,
    line: usize,
    blobs: Option<&BlobPlace>,
) -> Option<ExportSettings> {
    let key = |name: &str| format!("{section}.{name}");
    let name = r.read(&key("name"), &name());
    let place = r.read(&key("to"), &place());
    let application = r.read(&key("application"), &units::application_id());
    let verdict = r.read(&key("verdict"), &units::word(VERDICTS));
    let kind = r.read(&key("type"), &units::text());
    let days = r.read(&key("days"), &units::count(1..=366));
    let required = [
        ("name", name.is_some(), "objects are named by it"),
        ("to", place.is_some(), "allowed: bucket, or a folder"),
    ];
    for (name, is_set, why) in required {
        if !is_set && !r.has_problem_in(&key(name)) {
            r.report_line(line, &key(name), format!("is not set; {why}"));
        }
    }
    let place = place?.of(blobs);
    let text = "is that of blobs, which names none; allowed: a folder, or blobs: s3://…";
    r.refuse_if(&key("to"), place.is_none(), text);
    Some(ExportSettings {
        name: name?,
        place: place?,
        application,
        verdict,
        kind,
        days: u16::try_from(days.unwrap_or(DAYS)).unwrap_or(u16::MAX),
    })
}

fn place() -> Form<Place> {
    Form::new(
        "bucket, which is that of blobs, or a folder",
        |text| match text {
            "" => Err("is empty".to_owned()),
            "bucket" => Ok(Place::Bucket),
            _ if text.contains("://") => Err("is no folder".to_owned()),
            _ => Ok(Place::Folder(text.into())),
        },
    )
    .text_only()
}

fn name() -> Form<String> {
    let allowed = "up to 64 letters, digits, - and _ of ASCII, in quotes if digits only";
    Form::new(allowed, |text| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        match text {
            "" => Err("is empty".to_owned()),
            _ if text.len() <= LONGEST_NAME && text.bytes().all(plain) => Ok(text.to_owned()),
            _ => Err(format!("{} is not a plain word", quote(text))),
        }
    })
    .text_only()
}
