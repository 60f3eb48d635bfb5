//! The text of a file (CONTRACT 29): plain text, CSV and HTML are read here; PDF and DOCX are recognized
//! here and read by `documents`. `attachments` analyzes it.

use crate::analysis::records::documents::Document;
use std::borrow::Cow;

/// Media types that are plain text, besides `text/*`.
const PLAIN: [&str; 8] = [
    "application/json",
    "application/x-ndjson",
    "application/xml",
    "application/csv",
    "application/yaml",
    "application/x-yaml",
    "application/javascript",
    "application/sql",
];
/// File name extensions, for files without a media type of their own.
const PLAIN_ENDS: [&str; 10] = [
    "txt", "csv", "tsv", "md", "json", "jsonl", "log", "xml", "yaml", "yml",
];
const HTML_ENDS: [&str; 2] = ["html", "htm"];
const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
/// The first bytes of a PDF file, whatever its type says.
const PDF_BEGINNING: &[u8] = b"%PDF-";

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Html,
    /// Read completely, in a process of its own.
    Document(Document),
}

/// The text at the beginning of a file; None where it is not the text that its type promises.
pub(crate) fn read(form: Form, beginning: &[u8]) -> Option<String> {
    let text = decode(beginning)?;
    match form {
        Form::Plain => Some(text.into_owned()),
        Form::Html => Some(html(&text)),
        Form::Document(_) => None,
    }
}

/// How to read a file; None where it has no text.
pub(crate) fn form(kind: &str, name: &str, beginning: &[u8]) -> Option<Form> {
    if beginning.starts_with(PDF_BEGINNING) {
        return Some(Form::Document(Document::Pdf));
    }
    let essence = kind.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    match essence.as_str() {
        "text/html" | "application/xhtml+xml" => Some(Form::Html),
        "application/pdf" => Some(Form::Document(Document::Pdf)),
        DOCX => Some(Form::Document(Document::Docx)),
        "" | "application/octet-stream" => by_end(name),
        other => {
            let is_plain = other.starts_with("text/") || PLAIN.contains(&other);
            let is_built = other.ends_with("+json") || other.ends_with("+xml");
            (is_plain || is_built).then_some(Form::Plain)
        }
    }
}

fn by_end(name: &str) -> Option<Form> {
    let (_, end) = name.rsplit_once('.')?;
    let end = end.to_ascii_lowercase();
    match end.as_str() {
        "pdf" => Some(Form::Document(Document::Pdf)),
        "docx" => Some(Form::Document(Document::Docx)),
        end if HTML_ENDS.contains(&end) => Some(Form::Html),
        end => PLAIN_ENDS.contains(&end).then_some(Form::Plain),
    }
}

/// UTF-8, or UTF-16 with a byte order mark. Invalid or truncated characters are replaced.
fn decode(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let units: fn([u8; 2]) -> u16 = match bytes {
        [0xFF, 0xFE, ..] => u16::from_le_bytes,
        [0xFE, 0xFF, ..] => u16::from_be_bytes,
        _ => {
            let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
            return (!text.contains(&0)).then(|| String::from_utf8_lossy(text));
        }
    };
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().skip(1).map(|pair| units(*pair));
    let text = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
    Some(Cow::Owned(text.collect()))
}

/// Text and attribute values, where addresses hide, without the names of tags and attributes. This is not
/// an HTML parser: malformed markup is read as text rather than skipped.
fn html(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        match after.split_once('>') {
            Some((tag, next)) => {
                text.push(' ');
                for value in tag.split(['"', '\'']).skip(1).step_by(2) {
                    text.push_str(value);
                    text.push(' ');
                }
                rest = next;
            }
            // There is no further tag; checked once, however many begin.
            None => {
                text.push_str(&after.replace('<', " "));
                rest = "";
            }
        }
    }
    text.push_str(rest);
    unescape(&text)
}

fn unescape(text: &str) -> String {
    /// The longest known character reference, with its ampersand.
    const LONGEST: usize = 10;
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let end = after.bytes().take(LONGEST).position(|byte| byte == b';');
        let found =
            end.and_then(|end| Some((character(after.get(..end)?)?, after.get(end + 1..)?)));
        let (character, next) = found.unwrap_or(('&', after));
        plain.push(character);
        rest = next;
    }
    plain.push_str(rest);
    plain
}

fn character(reference: &str) -> Option<char> {
    match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        "commat" => Some('@'),
        _ => {
            let number = reference.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const PDF: Option<Form> = Some(Form::Document(Document::Pdf));

    #[test]
    fn the_type_says_how_a_file_is_read_and_the_name_where_there_is_none() {
        for (kind, name, expected) in [
            ("text/plain", "a", Some(Form::Plain)),
            ("Text/CSV; charset=utf-8", "a", Some(Form::Plain)),
            ("text/html", "a.txt", Some(Form::Html)),
            ("application/problem+json", "a", Some(Form::Plain)),
            ("application/octet-stream", "a.CSV", Some(Form::Plain)),
            ("", "page.htm", Some(Form::Html)),
            ("", "noend", None),
            ("application/pdf", "a.txt", PDF),
            ("", "a.PDF", PDF),
            (DOCX, "a", Some(Form::Document(Document::Docx))),
            (
                "application/octet-stream",
                "a.docx",
                Some(Form::Document(Document::Docx)),
            ),
            ("image/png", "a.png", None),
        ] {
            assert_eq!(form(kind, name, b"x"), expected, "{kind} {name}");
        }
        assert_eq!(form("text/plain", "a.txt", b"%PDF-1.7"), PDF);
    }

    #[test]
    fn html_gives_its_text_and_its_values() {
        for (source, expected) in [
            ("<p>write to <b>a&#64;b.org</b></p>", " write to  a@b.org  "),
            ("<a href=\"mailto:a@b.org\">x</a>", " mailto:a@b.org x "),
            ("1 < 2 &amp; &unknown; &", "1  2 & &unknown; &"),
            ("<p title='x&#x41;' broken", "p title='xA' broken"),
        ] {
            assert_eq!(html(source), expected, "{source}");
        }
    }

    #[test]
    fn a_file_that_only_begins_tags_is_read_once() {
        let text = html(&"<".repeat(1 << 20));
        assert!(text.trim().is_empty());
    }

    #[test]
    fn bytes_become_text_or_none() {
        assert_eq!(decode(b"\xEF\xBB\xBFabc").unwrap(), "abc");
        assert_eq!(decode(b"\xFF\xFEa\0b\0").unwrap(), "ab");
        assert_eq!(decode(b"\xFE\xFF\0a\0b\0").unwrap(), "ab");
        assert_eq!(decode("я".as_bytes().split_at(1).0).unwrap(), "\u{FFFD}");
        assert!(decode(b"PK\x03\x04\0\0").is_none());
    }
}
