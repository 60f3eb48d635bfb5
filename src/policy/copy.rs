//! A copy of the last valid policies on disk, for a start while the store is down (CONTRACT 14): `policies.json`,
//! readable by its owner only, replaced atomically. Its modification time is when the store last confirmed it.

use log::warn;
use monitor_model::{ApplicationId, ApplicationPolicy, Policy, StoredPolicy};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

const NAME: &str = "policies.json";
const FORMAT: u32 = 1;
/// How often the modification time of an unchanged copy is updated.
const CONFIRM_EVERY: Duration = Duration::from_secs(30);

/// The largest copy that is read.
const LARGEST: u64 = 256 << 20;

/// The file, and the result of the last write.
pub(super) struct DiskCopy {
    path: PathBuf,
    confirmed: Option<Instant>,
    /// Whether the last write failed, so that the file does not hold the policies in force.
    behind: bool,
}

/// Work for a thread that may block on the disk.
pub(super) enum Job {
    Write(PathBuf, Vec<ApplicationPolicy>),
    Confirm(PathBuf),
}

#[derive(Serialize)]
struct Written<'a> {
    format: u32,
    applications: &'a [ApplicationPolicy],
}

/// The content of a file; policies are parsed one by one, so that an invalid one affects no other.
#[derive(Deserialize)]
struct Found {
    format: u32,
    applications: Vec<FoundApplication>,
}

#[derive(Deserialize)]
struct FoundApplication {
    id: ApplicationId,
    name: String,
    policy: Value,
}

impl DiskCopy {
    pub(super) fn in_folder(data_dir: &Path) -> Self {
        Self {
            path: data_dir.join(NAME),
            confirmed: None,
            behind: false,
        }
    }

    /// The copy that an earlier process wrote, and when the store confirmed it; None if there is none.
    pub(super) fn read(&self) -> Result<Option<(Vec<StoredPolicy>, SystemTime)>, String> {
        let told = |error: io::Error| format!("{}: {error}", self.path.display());
        let about = match regular(&self.path) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(told(error)),
        };
        let confirmed_at = about.modified();
        let file = File::open(&self.path).map_err(told)?;
        let text = io::read_to_string(file.take(LARGEST)).map_err(told)?;
        let found: Found = serde_json::from_str(&text)
            .map_err(|error| format!("{}: line {}", self.path.display(), error.line()))?;
        if found.format != FORMAT {
            return Err(format!("{}: format {}", self.path.display(), found.format));
        }
        let rows = found.applications.into_iter().map(|found| StoredPolicy {
            id: found.id,
            name: found.name,
            policy: Policy::from_value(&found.policy),
        });
        Ok(Some((rows.collect(), confirmed_at.map_err(told)?)))
    }

    /// The work that is due after a read of the store.
    pub(super) fn due(
        &mut self,
        differs: bool,
        good: impl FnOnce() -> Vec<ApplicationPolicy>,
    ) -> Option<Job> {
        if differs || self.behind {
            return Some(Job::Write(self.path.clone(), good()));
        }
        let is_old = self
            .confirmed
            .is_none_or(|at| at.elapsed() >= CONFIRM_EVERY);
        is_old.then(|| Job::Confirm(self.path.clone()))
    }

    /// Notes the result of the work; after a failure the next read tries again.
    pub(super) fn done(&mut self, result: io::Result<()>) {
        match result {
            Ok(()) => {
                self.confirmed = Some(Instant::now());
                self.behind = false;
            }
            Err(error) if !self.behind => {
                self.behind = true;
                let path = self.path.display();
                warn!(target: "policy", "cannot keep a copy of the policies in {path}: {error}");
            }
            Err(_) => {}
        }
    }
}

impl Job {
    pub(super) fn run(self) -> io::Result<()> {
        match self {
            Self::Write(path, applications) => replace(&path, &applications),
            Self::Confirm(path) => {
                regular(&path)?;
                let file = OpenOptions::new().append(true).open(path)?;
                file.set_modified(SystemTime::now())
            }
        }
    }
}

/// Looks at a file before it is opened: opening a pipe waits, and a device has no end.
fn regular(path: &Path) -> io::Result<Metadata> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        let text = "it is not a regular file; remove it";
        return Err(io::Error::new(ErrorKind::InvalidData, text));
    }
    if about.len() > LARGEST {
        let text = format!("it is larger than {LARGEST} bytes; remove it");
        return Err(io::Error::new(ErrorKind::InvalidData, text));
    }
    Ok(about)
}

pub(super) fn interrupted() -> io::Error {
    io::Error::from(ErrorKind::Interrupted)
}

/// Readers see either the old file or the new one, even after a power failure.
fn replace(path: &Path, applications: &[ApplicationPolicy]) -> io::Result<()> {
    let written = Written {
        format: FORMAT,
        applications,
    };
    let text = serde_json::to_vec(&written).map_err(io::Error::from)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // Named after this process: two processes that share a folder must not write to the same file.
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    // A file left by a killed process with the same id may have another mode.
    let _ = std::fs::remove_file(&draft);
    let result = write(&draft, &text).and_then(|()| std::fs::rename(&draft, path));
    if result.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    result?;
    File::open(folder)?.sync_all()
}

fn write(draft: &Path, text: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)?;
    file.write_all(text)?;
    file.sync_all()
}
