//! Cuts files and pipes into blocks of whole lines. Where a text is cut depends on the text alone, so
//! that the finds are the same however it arrives; lines of JSON are handed on as they come, so that a
//! pipe sees its answers at once. The content of a line is not examined here.

use super::ScanRequest;
use anyhow::{Context, bail};
use monitor_detect::MaskStyle;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes after which a text is cut at its next empty line, and those after which at its next line.
const PARAGRAPHS: usize = 64 << 10;
const LINES: usize = 1 << 20;
/// The most bytes of one block, and so of one line.
const LARGEST: usize = 256 << 20;
/// Bytes asked for at once.
const READ: usize = 256 << 10;
const BOM: &str = "\u{feff}";

/// Whole lines of one file, with their end.
pub(super) struct Block {
    /// The file's name as it was given.
    pub(super) file: PathBuf,
    /// Number of the first line, from 1.
    pub(super) line: u64,
    pub(super) text: String,
}

/// Where blocks end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A paragraph, which ends at an empty line.
    Text,
    /// Nowhere: pseudonyms are numbered through the whole text.
    Whole,
    /// Between lines, as soon as there are any.
    Jsonl,
}

impl Shape {
    pub(super) fn of(request: &ScanRequest) -> Self {
        match (request.jsonl, request.mask) {
            (true, _) => Self::Jsonl,
            (false, Some(MaskStyle::Pseudonym)) => Self::Whole,
            (false, _) => Self::Text,
        }
    }

    /// One past the last byte of the block that `bytes` begin with; None: there is none yet.
    /// `seen` bytes were examined before.
    fn end(self, bytes: &[u8], seen: usize) -> Option<usize> {
        match self {
            Self::Whole => None,
            Self::Jsonl => memchr::memrchr(b'\n', bytes).map(|end| end + 1),
            Self::Text => paragraph_end(bytes, seen),
        }
    }
}

/// The first empty line from [`PARAGRAPHS`] on, else the first line end from [`LINES`] on.
fn paragraph_end(bytes: &[u8], seen: usize) -> Option<usize> {
    let from = seen.max(PARAGRAPHS).min(bytes.len());
    // The examined part may have ended between the two.
    let from = from.saturating_sub(3).max(PARAGRAPHS.min(bytes.len()));
    for end in memchr::memchr_iter(b'\n', &bytes[from..]).map(|at| from + at) {
        let before = &bytes[..end];
        let is_empty = before.ends_with(b"\n") || before.ends_with(b"\n\r");
        if is_empty || end >= LINES {
            return Some(end + 1);
        }
    }
    None
}

/// The blocks of one file.
pub(super) struct Blocks {
    file: PathBuf,
    source: Box<dyn Read + Send>,
    shape: Shape,
    line: u64,
    rest: Vec<u8>,
    seen: usize,
    is_over: bool,
}

impl Blocks {
    pub(super) fn open(file: &Path, shape: Shape) -> anyhow::Result<Self> {
        let source: Box<dyn Read + Send> = match is_stdin(file) {
            true => Box::new(io::stdin()),
            false => {
                let name = || format!("cannot read {}", file.display());
                let opened = File::open(file).with_context(name)?;
                if opened.metadata().with_context(name)?.is_dir() {
                    bail!("{} is a folder; name the files in it", file.display());
                }
                Box::new(opened)
            }
        };
        Ok(Self {
            file: file.into(),
            source,
            shape,
            line: 1,
            rest: Vec::new(),
            seen: 0,
            is_over: false,
        })
    }

    fn step(&mut self) -> anyhow::Result<Option<Block>> {
        loop {
            if let Some(end) = self.shape.end(&self.rest, self.seen) {
                return self.cut(end).map(Some);
            }
            self.seen = self.rest.len();
            if self.is_over {
                let end = self.rest.len();
                return (end > 0).then(|| self.cut(end)).transpose();
            }
            if self.rest.len() > LARGEST {
                bail!(
                    "{}, line {}: more than {} MiB that cannot be cut; split the file, or give it \
                     line ends",
                    self.file.display(),
                    self.line,
                    LARGEST >> 20
                );
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> anyhow::Result<()> {
        let old = self.rest.len();
        self.rest.resize(old + READ, 0);
        let count = loop {
            match self.source.read(&mut self.rest[old..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.rest.truncate(old + *count.as_ref().unwrap_or(&0));
        let name = || format!("cannot read {}", self.file.display());
        self.is_over = count.with_context(name)? == 0;
        Ok(())
    }

    fn cut(&mut self, end: usize) -> anyhow::Result<Block> {
        let rest = self.rest.split_off(end);
        let bytes = std::mem::replace(&mut self.rest, rest);
        self.seen = 0;
        let mut text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let right = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                bail!(
                    "{}, line {}: not UTF-8; convert it first, for example with iconv -f \
                     WINDOWS-1251 -t UTF-8",
                    self.file.display(),
                    self.line + lines(right)
                );
            }
        };
        let line = self.line;
        self.line += lines(text.as_bytes());
        if line == 1 && self.shape == Shape::Jsonl && text.starts_with(BOM) {
            text.drain(..BOM.len());
        }
        Ok(Block {
            file: self.file.clone(),
            line,
            text,
        })
    }
}

impl Iterator for Blocks {
    type Item = anyhow::Result<Block>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = self.step();
        if block.is_err() {
            self.is_over = true;
            self.rest.clear();
        }
        block.transpose()
    }
}

fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Bytes of all files; None where one has no size that is known before.
pub(super) fn total_bytes(files: &[PathBuf]) -> Option<u64> {
    let size = |file: &PathBuf| {
        let about = std::fs::metadata(file).ok()?;
        (about.is_file() && !is_stdin(file)).then_some(about.len())
    };
    files.iter().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &[u8], shape: Shape, at_once: usize) -> Vec<usize> {
        struct Slow<'t>(&'t [u8], usize);
        impl Read for Slow<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let most = self.1.min(out.len());
                (&mut self.0).take(most as u64).read(out)
            }
        }
        let bytes: &'static [u8] = text.to_vec().leak();
        let blocks = Blocks {
            file: "-".into(),
            source: Box::new(Slow(bytes, at_once)),
            shape,
            line: 1,
            rest: Vec::new(),
            seen: 0,
            is_over: false,
        };
        blocks
            .map(|block| block.map_or(0, |block| block.text.len()))
            .collect()
    }

    #[test]
    fn where_a_text_is_cut_does_not_depend_on_how_it_arrives() {
        let mut text = Vec::new();
        for number in 0..40_000 {
            let end = if number % 700 == 699 {
                "\r\n\r\n"
            } else {
                "\n"
            };
            text.extend_from_slice(format!("line {number} of a long text{end}").as_bytes());
        }
        text.extend(std::iter::repeat_n(b"x\n", LINES).flatten());
        let whole = cut(&text, Shape::Text, usize::MAX);
        assert!(whole.len() > 10);
        assert_eq!(whole.iter().sum::<usize>(), text.len());
        assert_eq!(cut(&text, Shape::Text, 1021), whole);
        assert_eq!(cut(&text, Shape::Whole, 4096), [text.len()]);
    }

    #[test]
    fn lines_of_json_are_handed_on_as_they_come() {
        let text = b"{\"a\":1}\n{\"b\":2}\n{\"c\"";
        assert_eq!(cut(text, Shape::Jsonl, 8), [8, 8, 4]);
    }
}
