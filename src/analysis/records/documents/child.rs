//! The process that reads one document: it limits itself, reads the file from standard input and writes a
//! status letter and the text to standard output. Whatever breaks it only ends this process, without a core
//! dump.

use super::text::{Broken, Text};
use super::{Document, LONGEST_TEXT, docx, pdf};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{self, Read, Write};

/// CPU time in seconds.
const CPU_SECONDS: u64 = 10;
/// Memory in bytes, including the program itself.
const MEMORY: u64 = 768 << 20;
/// What reading a PDF file takes beside the program and the file: so much, and so many times the file's bytes. What
/// it decompresses to, and what is parsed of that, may be many thousand times as large as the file.
const READING: u64 = 256 << 20;
const TIMES: u64 = 16;
/// The largest file that is read, in bytes.
const LARGEST: u64 = 64 << 20;

/// The whole text follows.
pub(super) const WHOLE: u8 = b'W';
/// A part of the text follows.
pub(super) const PART: u8 = b'P';
/// The file is not of the expected format.
pub(super) const MALFORMED: u8 = b'M';
/// A password is required to read the text.
pub(super) const ENCRYPTED: u8 = b'E';
/// The file is over [`LARGEST`].
pub(super) const TOO_LARGE: u8 = b'L';

/// Reads the document on standard input and writes its text to standard output.
///
/// # Errors
/// When a limit cannot be set, or input or output fail; nothing has been written then.
pub fn read_document(document: Document) -> io::Result<()> {
    bound(Resource::Core, 0)?;
    bound(Resource::Cpu, CPU_SECONDS)?;
    bound(Resource::As, MEMORY)?;
    // The panic message of a crate could contain words of the file.
    std::panic::set_hook(Box::new(|_| {}));
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)?;
    if document == Document::Pdf {
        let reading = READING + TIMES * bytes.len() as u64;
        bound(Resource::As, MEMORY.min(own_memory()? + reading))?;
    }
    let (letter, text) = match bytes.len() as u64 > LARGEST {
        true => (TOO_LARGE, String::new()),
        false => read(document, &bytes),
    };
    let mut out = io::stdout().lock();
    out.write_all(&[letter])?;
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn bound(resource: Resource, most: u64) -> io::Result<()> {
    let most = Some(most);
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    Ok(setrlimit(resource, limit)?)
}

/// What this process has at the moment, in bytes.
fn own_memory() -> io::Result<u64> {
    let figures = std::fs::read_to_string("/proc/self/status")?;
    let size = figures
        .lines()
        .find_map(|line| line.strip_prefix("VmSize:"));
    let size = size.and_then(|size| size.trim().strip_suffix(" kB"));
    let kib: u64 = size
        .and_then(|size| size.parse().ok())
        .ok_or(io::ErrorKind::InvalidData)?;
    Ok(kib << 10)
}

fn read(document: Document, bytes: &[u8]) -> (u8, String) {
    let mut text = Text::new(LONGEST_TEXT);
    let read = match document {
        Document::Pdf => pdf::read(bytes, &mut text),
        Document::Docx => docx::read(bytes, &mut text),
    };
    match read {
        Ok(()) if text.is_whole() => (WHOLE, text.into_string()),
        Ok(()) => (PART, text.into_string()),
        Err(Broken::Malformed) => (MALFORMED, String::new()),
        Err(Broken::Encrypted) => (ENCRYPTED, String::new()),
    }
}
