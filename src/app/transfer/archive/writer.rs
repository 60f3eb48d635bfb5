//! Writes an archive. It has its name only once it is whole, on disk and read again.

use super::cipher::Sealing;
use super::manifest::{About, Complete, Counts, FIRST, LAST, PART};
use crate::config::key_file::FileKey;
use monitor_store::{BlobHash, Row, Table};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use tar::{Builder, Header};
use zstd::stream::write::Encoder;

/// How hard zstd tries; text shrinks to about a fifth.
const LEVEL: i32 = 3;

/// The file, encrypted or not.
enum Output {
    Plain(BufWriter<File>),
    Sealed(Box<Sealing<BufWriter<File>>>),
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Sealed(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Sealed(out) => out.flush(),
        }
    }
}

/// Where the parts of an entry that is written in several belong.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Series {
    Rows(Table),
    File(BlobHash),
    Spool(String),
}

/// An archive that is being written.
pub(in crate::app::transfer) struct ArchiveWriter {
    tar: Builder<Encoder<'static, Output>>,
    at_ms: i64,
    digest: Sha256,
    counts: Counts,
    /// What is being written, the number of its next part, and the bytes of that part so far.
    series: Option<Series>,
    number: u32,
    part: Vec<u8>,
}

impl ArchiveWriter {
    /// Begins an archive in an empty file.
    pub(in crate::app::transfer) fn begin(
        file: File,
        key: Option<&FileKey>,
        about: &About,
    ) -> io::Result<Self> {
        let file = BufWriter::new(file);
        let output = match key {
            None => Output::Plain(file),
            Some(key) => Output::Sealed(Box::new(Sealing::begin(file, key)?)),
        };
        let mut encoder = Encoder::new(output, LEVEL)?;
        encoder.include_checksum(true)?;
        let mut writer = Self {
            tar: Builder::new(encoder),
            at_ms: about.at_ms,
            digest: Sha256::new(),
            counts: Counts::default(),
            series: None,
            number: 1,
            part: Vec::new(),
        };
        writer.document(FIRST, about)?;
        Ok(writer)
    }

    /// Appends rows of a table.
    pub(in crate::app::transfer) fn rows(&mut self, table: Table, rows: &[Row]) -> io::Result<()> {
        self.begin_series(Series::Rows(table))?;
        for row in rows {
            self.part.extend_from_slice(row.to_line().as_bytes());
            if self.part.len() >= PART {
                self.end_part()?;
            }
        }
        let count = self.counts.rows.entry(table.name().to_owned());
        *count.or_default() += rows.len() as u64;
        Ok(())
    }

    /// Appends bytes of an attached file.
    pub(in crate::app::transfer) fn file(
        &mut self,
        hash: BlobHash,
        bytes: &[u8],
    ) -> io::Result<()> {
        if self.begin_series(Series::File(hash))? {
            self.counts.files += 1;
        }
        self.counts.file_bytes += bytes.len() as u64;
        self.bytes(bytes)
    }

    /// Appends bytes of a file of the spool.
    pub(in crate::app::transfer) fn spool(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if self.begin_series(Series::Spool(name.to_owned()))? {
            self.counts.spool_files += 1;
        }
        self.bytes(bytes)
    }

    /// Adds a key of the spool.
    pub(in crate::app::transfer) fn key(&mut self, key: &FileKey) -> io::Result<()> {
        self.end_series()?;
        self.counts.keys += 1;
        self.entry(&format!("keys/{}", key.id()), key.expose())
    }

    /// Writes the last entry; everything is on disk when this returns.
    pub(in crate::app::transfer) fn finish(mut self) -> io::Result<Counts> {
        self.end_series()?;
        let complete = Complete {
            counts: self.counts.clone(),
            sha256: format!("{:x}", self.digest.clone().finalize()),
        };
        self.document(LAST, &complete)?;
        let encoder = self.tar.into_inner()?;
        let out = match encoder.finish()? {
            Output::Plain(out) => out,
            Output::Sealed(sealing) => sealing.finish()?,
        };
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(self.counts)
    }

    /// Ends what was written before if this is something else; tells whether it is.
    fn begin_series(&mut self, series: Series) -> io::Result<bool> {
        if self.series.as_ref() == Some(&series) {
            return Ok(false);
        }
        self.end_series()?;
        self.series = Some(series);
        Ok(true)
    }

    fn end_series(&mut self) -> io::Result<()> {
        // An empty file has one part, an empty table none.
        let is_whole = match (&self.series, self.number) {
            (None, _) => true,
            (Some(Series::Rows(_)), _) => self.part.is_empty(),
            (Some(_), number) => self.part.is_empty() && number > 1,
        };
        if !is_whole {
            self.end_part()?;
        }
        self.series = None;
        self.number = 1;
        Ok(())
    }

    fn bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = PART - self.part.len();
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            self.part.extend_from_slice(now);
            bytes = rest;
            if self.part.len() == PART {
                self.end_part()?;
            }
        }
        Ok(())
    }

    fn end_part(&mut self) -> io::Result<()> {
        let number = self.number;
        let name = match &self.series {
            Some(Series::Rows(table)) => format!("store/{}/{number:06}.jsonl", table.name()),
            Some(Series::File(hash)) => format!("files/{hash}/{number:06}"),
            Some(Series::Spool(name)) => format!("spool/{name}/{number:06}"),
            None => return Ok(()),
        };
        let mut part = std::mem::take(&mut self.part);
        self.entry(&name, &part)?;
        part.clear();
        // A part with one very long row does not keep its memory.
        part.shrink_to(2 * PART);
        self.part = part;
        self.number += 1;
        Ok(())
    }

    fn document(&mut self, name: &str, document: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(document)?;
        text.push(b'\n');
        self.entry(name, &text)
    }

    fn entry(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut header = Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(self.at_ms / 1_000).unwrap_or(0));
        self.tar.append_data(&mut header, name, content)?;
        add_entry(&mut self.digest, name, content);
        Ok(())
    }
}

/// Adds an entry to the hash over all of them.
pub(super) fn add_entry(digest: &mut Sha256, name: &str, content: &[u8]) {
    digest.update((name.len() as u64).to_be_bytes());
    digest.update(name);
    digest.update((content.len() as u64).to_be_bytes());
    digest.update(content);
}
