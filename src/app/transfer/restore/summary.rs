//! What a restore prints at its end.

use crate::app::transfer::archive::manifest::{About, Counts};
use crate::app::transfer::filling::Filled;
use crate::app::transfer::moment::moment;
use crate::app::transfer::source::{files_name, known_schema, oldest_schema, store_name};
use crate::config::Settings;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What was restored.
pub(super) struct Summary {
    pub(super) schema: i64,
    pub(super) about: Option<About>,
    pub(super) filled: Filled,
    pub(super) kept: u64,
    pub(super) damaged: u64,
    pub(super) keys: Vec<PathBuf>,
}

impl Summary {
    pub(super) fn text(&self, settings: &Settings, counts: &Counts, file: &Path) -> String {
        let mut text = format!(
            "{} restored and checked\nstore: {}\nfiles in: {}\n",
            file.display(),
            store_name(settings),
            files_name(settings)
        );
        let _ = write!(text, "{}", counts.rows_text());
        let _ = writeln!(text, "files: {}", self.kept);
        let _ = writeln!(text, "files of the spool: {}", counts.spool_files);
        let Filled {
            erased,
            tombstones,
            left_out,
            ..
        } = self.filled;
        let _ = writeln!(
            text,
            "erasures done again: {} records, {} files of records ({tombstones} tombstones)",
            erased.records, erased.attachments
        );
        if left_out > 0 {
            let _ = writeln!(
                text,
                "note: {left_out} parts of tool calls that name no user are left out: this schema has no exchanges, so \
                 that an erasure of their exchange's user would not find them; a restore into schema {} has them",
                known_schema(settings)
            );
        }
        if self.damaged > 0 {
            let _ = writeln!(
                text,
                "note: {} files were damaged before the backup and are left out",
                self.damaged
            );
        }
        for key in &self.keys {
            let path = settings.spool_dir().join(key);
            let _ = writeln!(
                text,
                "key of the spool: {} (move it to where spool.encryption names it)",
                path.display()
            );
        }
        if self.schema == oldest_schema(settings) && counts.spool_files > 0 {
            let _ = writeln!(
                text,
                "note: version 4.1.0 does not read the files of the spool; the next upgrade delivers them"
            );
        }
        if let Some(about) = &self.about {
            let _ = writeln!(
                text,
                "snapshot at: {}\nnote: erasures, revoked access keys and changes since then are not in it; repeat \
                 erasures that no --erasures archive knows (docs/operations.md, \"Backup and restore\")",
                moment(about.at_ms)
            );
        }
        text
    }
}
