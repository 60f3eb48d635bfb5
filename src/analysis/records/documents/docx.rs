//! The text of a DOCX file, with the crates `zip` and `quick-xml`: its body, headers, footers, notes and
//! comments, tracked deletions that are still in it, and the targets of its links.

use super::text::{Broken, Text};
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::io::{BufRead, BufReader, Cursor, Read as _};
use zip::ZipArchive;

/// Bytes of all parts of a file after decompression.
const DECOMPRESSED: u64 = 64 << 20;
/// Parts of a file that are read.
const PARTS: usize = 200;
/// Prefixes of the names of parts with text, and of the links of such parts.
const FOLDER: &str = "word/";
const WITH_TEXT: [&str; 6] = [
    "document",
    "header",
    "footer",
    "footnotes",
    "endnotes",
    "comments",
];
const LINKS: &str = "_rels/";

pub(super) fn read(bytes: &[u8], text: &mut Text) -> Result<(), Broken> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| Broken::Malformed)?;
    let names = archive.file_names().flatten();
    let names: Vec<String> = names
        .filter(|name| has_text(name))
        .map(|name| name.into_owned())
        .collect();
    if names.is_empty() {
        return Err(Broken::Malformed);
    }
    let mut left = DECOMPRESSED;
    for name in names.iter().take(PARTS) {
        if text.is_full() || left == 0 {
            text.leave_out();
            break;
        }
        let part = archive.by_name(name).map_err(|_| Broken::Malformed)?;
        let mut part = BufReader::new(part.take(left));
        let read = take_text(&mut part, text);
        left = part.get_ref().limit();
        match left {
            // Cut at the limit, not broken.
            0 => text.leave_out(),
            _ => read?,
        }
    }
    if names.len() > PARTS {
        text.leave_out();
    }
    Ok(())
}

fn has_text(name: &str) -> bool {
    let Some(part) = name.strip_prefix(FOLDER) else {
        return false;
    };
    let (part, end) = match part.strip_prefix(LINKS) {
        Some(part) => (part, ".xml.rels"),
        None => (part, ".xml"),
    };
    part.ends_with(end)
        && WITH_TEXT
            .iter()
            .any(|beginning| part.starts_with(beginning))
}

/// The text of one part. Elements are recognized by their local names, whatever encloses them.
fn take_text(part: impl BufRead, text: &mut Text) -> Result<(), Broken> {
    let malformed = |_| Broken::Malformed;
    let mut reader = Reader::from_reader(part);
    let (mut buffer, mut is_inside) = (Vec::new(), false);
    while !text.is_full() {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        match event.map_err(|_| Broken::Malformed)? {
            Event::Start(element) => {
                is_inside = holds_text(element.local_name().as_ref());
                link(&element, text);
            }
            Event::Empty(element) => {
                text.push(stands_for(element.local_name().as_ref()));
                link(&element, text);
            }
            Event::End(element) => {
                is_inside = false;
                text.push(stands_for(element.local_name().as_ref()));
            }
            Event::Text(words) if is_inside => text.push(&words.decode().map_err(malformed)?),
            Event::CData(words) if is_inside => text.push(&words.decode().map_err(malformed)?),
            Event::GeneralRef(reference) if is_inside => refer(&reference, text),
            Event::Eof => break,
            _ => {}
        }
    }
    Ok(())
}

/// Words, deleted words, and the codes of fields, which contain links.
fn holds_text(element: &[u8]) -> bool {
    matches!(element, b"t" | b"delText" | b"instrText")
}

fn stands_for(element: &[u8]) -> &'static str {
    match element {
        b"p" | b"br" | b"cr" => "\n",
        b"tc" | b"tab" => "\t",
        _ => "",
    }
}

/// The target of an external link.
fn link(element: &BytesStart<'_>, text: &mut Text) {
    if element.local_name().as_ref() != b"Relationship" {
        return;
    }
    let attribute = |name: &str| element.try_get_attribute(name).ok().flatten();
    if attribute("TargetMode").is_some_and(|mode| &*mode.value == b"External")
        && let Some(target) = attribute("Target")
        && let Ok(target) = target.normalized_value(XmlVersion::Implicit1_0)
    {
        text.push(&target);
        text.push("\n");
    }
}

fn refer(reference: &BytesRef<'_>, text: &mut Text) {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        text.push(character.encode_utf8(&mut [0; 4]));
        return;
    }
    text.push(match &**reference {
        b"amp" => "&",
        b"lt" => "<",
        b"gt" => ">",
        b"quot" => "\"",
        b"apos" => "'",
        _ => "",
    });
}
