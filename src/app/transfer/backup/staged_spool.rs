//! What a spool owes, on its way into an archive.

use super::unnamed_file;
use crate::app::transfer::archive::writer::ArchiveWriter;
use crate::config::Settings;
use crate::config::key_file::{self, FileKey, Owners};
use crate::spool::{self, CopiedSpool, Keyring, SpoolFolder};
use anyhow::{Context, Result, anyhow};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a file of the spool that are read at once.
const PIECE: usize = 256 * 1024;

/// What the spool owes, copied to the disk of the archive until it is in there. The copy has no name: it may be in clear
/// text, also where the archive is encrypted.
pub(super) struct StagedSpool {
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
        let staged = unnamed_file::create(file, "spool")?;
        let configured = SpoolFolder::new(base.clone(), Arc::new(keys));
        let folders = || {
            let found = spool::existing_folders(&configured).into_iter();
            found.map(|folder| configured.sibling(&folder))
        };
        let copied = spool::copy_owed(folders, staged).with_context(unusable)?;
        Ok(Self {
            copied,
            keys: plain,
        })
    }

    pub(super) fn write(&self, archive: &mut ArchiveWriter, is_encrypted: bool) -> Result<()> {
        let mut piece = vec![0; PIECE];
        for name in self.copied.names() {
            let mut file = self.copied.open(name)?;
            archive.spool(name, &[])?;
            loop {
                match file.read(&mut piece)? {
                    0 => break,
                    count => archive.spool(name, &piece[..count])?,
                }
            }
        }
        if is_encrypted {
            self.keys.iter().try_for_each(|key| archive.key(key))?;
        }
        Ok(())
    }
}
