//! The process that reads one document: bounds for itself first, then the file from its standard
//! input, then a letter and the text to its standard output. Whatever it breaks on ends it, and it
//! leaves no image of its memory.

use super::text::{Broken, Text};
use super::{Document, LONGEST_TEXT, docx, pdf};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{self, Read, Write};

/// Seconds of the processor.
const CPU_SECONDS: u64 = 10;
/// Bytes of memory, the program itself with it.
const MEMORY: u64 = 768 << 20;
/// Bytes of the largest file that is read.
const LARGEST: u64 = 64 << 20;

/// All of the text follows.
pub(super) const WHOLE: u8 = b'W';
/// A part of the text follows.
pub(super) const PART: u8 = b'P';
/// The file is not of its format.
pub(super) const MALFORMED: u8 = b'M';
/// The text cannot be read without a password.
pub(super) const ENCRYPTED: u8 = b'E';
/// The file is over [`LARGEST`].
pub(super) const TOO_LARGE: u8 = b'L';

/// Reads the document on standard input and writes its text to standard output.
///
/// # Errors
/// When a bound cannot be set, or input or output fail; nothing was written then.
pub fn read_document(document: Document) -> io::Result<()> {
    for (resource, bound) in [
        (Resource::Core, 0),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::As, MEMORY),
    ] {
        let bound = Some(bound);
        setrlimit(
            resource,
            Rlimit {
                current: bound,
                maximum: bound,
            },
        )?;
    }
    // What a crate says when it panics may hold words of the file.
    std::panic::set_hook(Box::new(|_| {}));
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)?;
    let (letter, text) = match bytes.len() as u64 > LARGEST {
        true => (TOO_LARGE, String::new()),
        false => read(document, &bytes),
    };
    let mut out = io::stdout().lock();
    out.write_all(&[letter])?;
    out.write_all(text.as_bytes())?;
    out.flush()
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
