//! Reads an archive from front to back and checks all of it on the way. Nothing that it gives may be taken for good
//! before it has come to the end.

use super::cipher::{self, Opening};
use super::manifest::{About, Complete, Counts, FIRST, FORMAT, LAST, PART};
use super::writer::add_entry;
use crate::config::key_file::FileKey;
use crate::spool;
use anyhow::{Context, Result, anyhow, bail, ensure};
use monitor_store::{BlobHash, Row, Table};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use tar::{Archive, Entry};
use zstd::stream::read::Decoder;

/// The most bytes of an entry with rows: a row is larger than a part only if its texts are.
const LARGEST_ROWS: u64 = 256 << 20;
/// Of the first entry, the last one and a key.
const LARGEST_NOTE: u64 = 1 << 20;

/// What an archive holds, piece by piece.
pub(in crate::app::transfer) enum Part {
    /// What it is; comes first.
    About(About),
    /// Rows of one table.
    Rows(Table, Vec<Row>),
    /// Bytes of an attached file; `is_first` for the first ones.
    File {
        hash: BlobHash,
        is_first: bool,
        bytes: Vec<u8>,
    },
    /// Bytes of a file of the spool, whose name is one that a spool gives.
    Spool {
        name: String,
        is_first: bool,
        bytes: Vec<u8>,
    },
    /// A key of the spool, and its id.
    Key { id: String, bytes: Vec<u8> },
}

/// An archive to read.
pub(in crate::app::transfer) struct ArchiveReader {
    path: PathBuf,
    source: Box<dyn Read>,
}

impl ArchiveReader {
    /// Opens an archive; `key` is that of an encrypted one.
    ///
    /// # Errors
    /// When it cannot be read, is no archive, or does not fit the key.
    pub(in crate::app::transfer) fn open(path: &Path, key: Option<&FileKey>) -> Result<Self> {
        let shown = path.display();
        let opened = File::open(path).with_context(|| format!("{shown} cannot be read"))?;
        ensure!(opened.metadata()?.is_file(), "{shown} is not a file");
        let mut file = BufReader::new(opened);
        let mut head = [0; 16];
        let count = read_some(&mut file, &mut head)?;
        file.seek(SeekFrom::Start(0))?;
        let source: Box<dyn Read> = match (cipher::key_id(&head[..count]), key) {
            (None, None) => Box::new(file),
            (None, Some(_)) => bail!("{shown} is not encrypted: leave out --key-file"),
            (Some(id), None) => {
                bail!("{shown} is encrypted with the key {id}: name its file with --key-file")
            }
            (Some(id), Some(key)) if key.id() != id => bail!(
                "{shown} is encrypted with the key {id}, and --key-file names a file with the key {}: name the file \
                 of the other key",
                key.id()
            ),
            (Some(_), Some(key)) => {
                let opening = Opening::begin(file, key);
                Box::new(opening.with_context(|| format!("{shown} cannot be read"))?)
            }
        };
        Ok(Self {
            path: path.to_owned(),
            source,
        })
    }

    /// Calls `take` with each part in order; gives what there was once everything is checked.
    ///
    /// # Errors
    /// When the archive is damaged or not complete, or the error of `take`.
    pub(in crate::app::transfer) fn read(
        self,
        mut take: impl FnMut(Part) -> Result<()>,
    ) -> Result<Counts> {
        let path = self.path;
        let decoder = Decoder::new(self.source)?;
        let mut archive = Archive::new(decoder);
        let mut check = Check::default();
        let damaged = || {
            format!(
                "{} is damaged or not complete: use another backup",
                path.display()
            )
        };
        // Extensions, such as names of any length, are read into memory before anybody sees them: no version writes any.
        for entry in archive.entries().with_context(damaged)?.raw(true) {
            let (name, content) = content(entry).with_context(damaged)?;
            if let Some(part) = check.entry(&name, content).with_context(damaged)? {
                if let Part::About(about) = &part {
                    check_format(&path, about)?;
                }
                take(part)?;
            }
        }
        // The checksum of the compressed stream comes behind its last entry.
        io::copy(&mut archive.into_inner(), &mut io::sink()).with_context(damaged)?;
        check.end().with_context(damaged)
    }
}

/// Name and content of an entry.
fn content(entry: io::Result<Entry<'_, impl Read>>) -> Result<(String, Vec<u8>)> {
    let entry = entry?;
    let name = String::from_utf8(entry.path_bytes().into_owned());
    let name = name.map_err(|_| anyhow!("an entry has no name"))?;
    ensure!(
        entry.header().entry_type().is_file(),
        "an entry is not a file, as no version of this program writes it"
    );
    let (size, largest) = (entry.header().entry_size()?, largest(&name));
    ensure!(
        size <= largest,
        "the entry {name} has more than {largest} bytes, as no version of this program writes it"
    );
    let mut content = Vec::with_capacity(usize::try_from(size)?);
    entry.take(size).read_to_end(&mut content)?;
    ensure!(content.len() as u64 == size, "the entry {name} is cut off");
    Ok((name, content))
}

/// The most bytes of an entry of this name.
fn largest(name: &str) -> u64 {
    match name.split_once('/').map(|(kind, _)| kind) {
        Some("store") => LARGEST_ROWS,
        Some("files" | "spool") => PART as u64,
        _ => LARGEST_NOTE,
    }
}

fn check_format(path: &Path, about: &About) -> Result<()> {
    ensure!(
        about.format <= FORMAT,
        "{} has format {}, this program knows up to {FORMAT}: restore it with version {} or later",
        path.display(),
        about.format,
        about.version
    );
    Ok(())
}

fn read_some(file: &mut impl Read, head: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < head.len() {
        match file.read(&mut head[count..])? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}

/// What was read so far.
#[derive(Default)]
struct Check {
    digest: Sha256,
    counts: Counts,
    /// The folder of the entry before and the number of its part.
    before: (String, u32),
    complete: bool,
    has_begun: bool,
}

impl Check {
    fn entry(&mut self, name: &str, content: Vec<u8>) -> Result<Option<Part>> {
        ensure!(!self.complete, "something follows its end");
        ensure!(self.has_begun == (name != FIRST), "it has no beginning");
        if name == LAST {
            self.check_end(&content)?;
            return Ok(None);
        }
        add_entry(&mut self.digest, name, &content);
        if name == FIRST {
            self.has_begun = true;
            let about =
                serde_json::from_slice(&content).context("its beginning is not readable")?;
            return Ok(Some(Part::About(about)));
        }
        if let Some(id) = name.strip_prefix("keys/") {
            ensure!(content.len() == 32 && is_hexadecimal(id), "a key is none");
            self.counts.keys += 1;
            let (id, bytes) = (id.to_owned(), content);
            return Ok(Some(Part::Key { id, bytes }));
        }
        let (folder, number) = name.rsplit_once('/').context("an entry has no folder")?;
        let is_first = self.enter_part(folder, number)?;
        self.part(folder, is_first, content).map(Some)
    }

    /// Parts come in order, and none is missing; tells whether it is the first of its folder.
    fn enter_part(&mut self, folder: &str, number: &str) -> Result<bool> {
        let digits = number.strip_suffix(".jsonl").unwrap_or(number);
        let number: u32 = digits.parse().context("a part has no number")?;
        let is_first = self.before.0 != folder;
        let expected = match is_first {
            true => 1,
            false => self.before.1 + 1,
        };
        ensure!(number == expected, "a part is missing");
        self.before = (folder.to_owned(), number);
        Ok(is_first)
    }

    fn part(&mut self, folder: &str, is_first: bool, bytes: Vec<u8>) -> Result<Part> {
        let (kind, name) = folder.split_once('/').context("an entry has no folder")?;
        match kind {
            "store" => {
                let table = Table::named(name).with_context(|| {
                    format!("it holds a table that this version does not know: restore it with a later version ({name})")
                })?;
                let text = std::str::from_utf8(&bytes).context("rows are not readable")?;
                let rows = text.lines().map(|line| Row::from_line(table, line));
                let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
                *self.counts.rows.entry(name.to_owned()).or_default() += rows.len() as u64;
                Ok(Part::Rows(table, rows))
            }
            "files" => {
                ensure!(bytes.len() <= PART, "a part is too large");
                let hash = name.parse().map_err(|()| anyhow!("a file has no hash"))?;
                self.counts.files += u64::from(is_first);
                self.counts.file_bytes += bytes.len() as u64;
                Ok(Part::File {
                    hash,
                    is_first,
                    bytes,
                })
            }
            "spool" => {
                ensure!(spool::is_copy(name), "a file of the spool has another name");
                self.counts.spool_files += u64::from(is_first);
                let name = name.to_owned();
                Ok(Part::Spool {
                    name,
                    is_first,
                    bytes,
                })
            }
            _ => bail!("it holds what this version does not know: restore it with a later version"),
        }
    }

    fn check_end(&mut self, content: &[u8]) -> Result<()> {
        let complete: Complete =
            serde_json::from_slice(content).context("its end is not readable")?;
        let digest = format!("{:x}", self.digest.clone().finalize());
        ensure!(complete.sha256 == digest, "its contents have another hash");
        ensure!(
            complete.counts == self.counts,
            "it holds more or less than it says"
        );
        self.complete = true;
        Ok(())
    }

    fn end(self) -> Result<Counts> {
        ensure!(self.complete, "its end is missing");
        Ok(self.counts)
    }
}

fn is_hexadecimal(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
