//! What a spool owes, on its way into an archive.

use super::archive::writer::ArchiveWriter;
use super::place::{PartialFolder, make_private};
use crate::config::Settings;
use crate::config::key_file::{self, FileKey, Owners};
use crate::spool::{self, CopiedSpool, Keyring, SpoolFolder};
use anyhow::{Context, Result, anyhow};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a file of the spool that are read at once.
const PIECE: usize = 256 * 1024;

/// What the spool owes, copied beside the archive until it is in there.
pub(super) struct StagedSpool {
    folder: PartialFolder,
    pub(super) copied: CopiedSpool,
    keys: Vec<FileKey>,
}

impl StagedSpool {
    pub(super) fn copy(settings: &Settings, file: &Path) -> Result<Self> {
        let base = settings.spool_dir();
        let unusable = || format!("the spool's folder {} cannot be read", base.display());
        let encryption = &settings.gateway.spool.encryption;
        let owners = Owners::of_folder(&base);
        let keys = Keyring::load(encryption, owners);
        let keys = keys.map_err(|error| anyhow!("spool.encryption: {error}"))?;
        let files = encryption.key_file.iter().chain(&encryption.old_key_files);
        let plain = files.map(|file| key_file::read(file, owners));
        let plain = plain
            .collect::<Result<_, _>>()
            .map_err(|error| anyhow!(error))?;
        let staged = PartialFolder::begin(file, ".spool")?;
        make_private(staged.path())?;
        let configured = SpoolFolder::new(base.clone(), Arc::new(keys));
        let folders = || {
            let found = spool::existing_folders(&configured).into_iter();
            found.map(|folder| configured.sibling(&folder))
        };
        let copied = spool::copy_owed(folders, staged.path()).with_context(unusable)?;
        Ok(Self {
            folder: staged,
            copied,
            keys: plain,
        })
    }

    pub(super) fn write(&self, archive: &mut ArchiveWriter, is_encrypted: bool) -> Result<()> {
        let mut names: Vec<PathBuf> = std::fs::read_dir(self.folder.path())?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        names.sort();
        let mut piece = vec![0; PIECE];
        for path in names {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let mut file = File::open(&path)?;
            archive.spool(&name, &[])?;
            loop {
                match file.read(&mut piece)? {
                    0 => break,
                    count => archive.spool(&name, &piece[..count])?,
                }
            }
        }
        if is_encrypted {
            self.keys.iter().try_for_each(|key| archive.key(key))?;
        }
        Ok(())
    }
}
