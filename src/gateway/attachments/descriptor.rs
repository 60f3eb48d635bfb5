//! Parses a client's description of its files (§2.2): the list in the header, one descriptor, and the name and
//! the media type of a file that has none. Pure text; nothing is downloaded here.

use super::file_error::FileError;
use super::guard;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::value::RawValue;
use url::Url;

/// The longest file name, in bytes.
const LONGEST_NAME: usize = 255;
/// The longest media type, in bytes.
const LONGEST_TYPE: usize = 255;
/// The media type of a file when nothing else is known.
pub(super) const UNKNOWN_TYPE: &str = "application/octet-stream";
const UNNAMED: &str = "file";

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Media types by extension.
const TYPES: [(&str, &str); 25] = [
    ("bmp", "image/bmp"),
    ("csv", "text/csv"),
    ("doc", "application/msword"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("rtf", "application/rtf"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("xls", "application/vnd.ms-excel"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// One element of the list.
pub(super) struct Descriptor {
    pub(super) source: Source,
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
}

/// The source of a file.
pub(super) enum Source {
    /// Downloaded from this URL.
    Url(Url),
    /// Its base64 text in the header itself.
    Inline(String),
}

#[derive(Deserialize)]
struct Written {
    url: Option<String>,
    content_base64: Option<String>,
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// The elements of one header, unparsed.
///
/// # Errors
/// [`FileError::Malformed`] when the header is no JSON array.
pub(super) fn elements(header: &[u8]) -> Result<Vec<&RawValue>, FileError> {
    serde_json::from_slice(header)
        .map_err(|_| FileError::Malformed("the header is not a JSON array"))
}

impl Descriptor {
    /// Reads one element.
    ///
    /// # Errors
    /// [`FileError::Malformed`], or [`FileError::Forbidden`] for a URL with credentials.
    pub(super) fn read(element: &RawValue) -> Result<Self, FileError> {
        // The reader of a struct takes a list of its values as well.
        let object = Some(element.get()).filter(|text| text.starts_with('{'));
        let written: Option<Written> = object.and_then(|text| serde_json::from_str(text).ok());
        let written =
            written.ok_or(FileError::Malformed("the element is not a file descriptor"))?;
        let name = written.name.and_then(|name| file_name(&name));
        let mut kind = written.kind.and_then(|kind| media_type(&kind));
        let source = match (written.url, written.content_base64) {
            (Some(url), None) => match data_uri(url.trim()) {
                Some(inline) => {
                    let inline = inline?;
                    kind = kind.or(inline.kind);
                    Source::Inline(inline.base64)
                }
                None => Source::Url(guard::parse(&url)?),
            },
            (None, Some(text)) => Source::Inline(text),
            _ => {
                return Err(FileError::Malformed(
                    "the descriptor needs either url or content_base64",
                ));
            }
        };
        Ok(Self { source, name, kind })
    }
}

/// The content of a data: URI (RFC 2397).
struct DataUri {
    kind: Option<String>,
    base64: String,
}

/// Parses a data: URI; None for another scheme.
fn data_uri(url: &str) -> Option<Result<DataUri, FileError>> {
    let scheme = url.get(..5)?;
    if !scheme.eq_ignore_ascii_case("data:") {
        return None;
    }
    let parts = url[5..].split_once(',').and_then(|(head, text)| {
        let (kind, coding) = head.rsplit_once(';')?;
        coding
            .trim()
            .eq_ignore_ascii_case("base64")
            .then_some((kind, text))
    });
    let Some((kind, text)) = parts else {
        return Some(Err(FileError::Malformed("the data: URI is not base64")));
    };
    Some(match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(DataUri {
            kind: media_type(kind),
            base64: text.into_owned(),
        }),
        Err(_) => Err(FileError::Malformed("the content is not base64")),
    })
}

/// Decodes a base64 text, ignoring white space. The size is checked before anything is decoded.
///
/// # Errors
/// [`FileError::TooLarge`] over `limit` bytes, [`FileError::Malformed`] when the text is not base64.
pub(super) fn decoded(text: &str, limit: u64) -> Result<Vec<u8>, FileError> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let padding = digits
        .iter()
        .rev()
        .take_while(|byte| **byte == b'=')
        .count();
    let size = (digits.len() - padding) as u64 * 3 / 4;
    if size > limit {
        return Err(FileError::TooLarge);
    }
    BASE64
        .decode(digits)
        .map_err(|_| FileError::Malformed("the content is not base64"))
}

/// Sanitizes a file name: the part behind the last path separator, without control and bidirectional
/// characters, at most 255 bytes. None when nothing is left.
pub(super) fn file_name(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next()?;
    let shown = |c: &char| !c.is_control() && !is_direction(*c);
    let mut name: String = last.chars().filter(shown).take(LONGEST_NAME).collect();
    name.truncate(name.floor_char_boundary(LONGEST_NAME));
    let name = name.trim();
    (!name.chars().all(|c| c == '.')).then(|| name.to_owned())
}

/// Bidirectional controls, which can make a name look like another one.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The file name in the last segment of a URL's path.
pub(super) fn name_in(url: &Url) -> Option<String> {
    let last = url.path_segments()?.next_back()?;
    file_name(&percent_decode_str(last).decode_utf8_lossy())
}

/// The file name in a Content-Disposition header (RFC 6266).
pub(super) fn name_of_disposition(header: &str) -> Option<String> {
    let mut plain = None;
    for parameter in header.split(';').skip(1) {
        let (name, value) = parameter.split_once('=')?;
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        if name.eq_ignore_ascii_case("filename*") {
            let text = value.splitn(3, '\'').nth(2)?;
            return file_name(&percent_decode_str(text).decode_utf8_lossy());
        }
        if name.eq_ignore_ascii_case("filename") {
            plain = file_name(value);
        }
    }
    plain
}

/// A media type that is safe in a header; None for anything else.
pub(super) fn media_type(text: &str) -> Option<String> {
    let text = text.trim();
    let (kind, subtype) = text.split_once('/')?;
    let is_valid = text.len() <= LONGEST_TYPE
        && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
        && !kind.is_empty()
        && !subtype.is_empty();
    is_valid.then(|| text.to_owned())
}

/// The media type for the extension of a name.
pub(super) fn type_of_name(name: &str) -> Option<String> {
    let (_, extension) = name.rsplit_once('.')?;
    let known = TYPES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(extension));
    known.map(|(_, kind)| (*kind).to_owned())
}

/// The name of a file without one, with the extension of its media type if that is known.
pub(super) fn default_name(kind: Option<&str>) -> String {
    let essence = kind
        .and_then(|kind| kind.split(';').next())
        .unwrap_or_default();
    let known = TYPES
        .iter()
        .find(|(_, known)| known.eq_ignore_ascii_case(essence.trim()));
    match known {
        Some((extension, _)) => format!("{UNNAMED}.{extension}"),
        None => UNNAMED.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> Result<Descriptor, FileError> {
        let elements = elements(text.as_bytes()).unwrap();
        Descriptor::read(elements[0])
    }

    #[test]
    fn a_name_is_never_a_path() {
        for (said, name) in [
            ("report.pdf", Some("report.pdf")),
            ("../../etc/passwd", Some("passwd")),
            ("C:\\temp\\a.txt", Some("a.txt")),
            ("a\0b\r\nc.txt", Some("abc.txt")),
            ("\u{202e}txt.exe", Some("txt.exe")),
            ("..", None),
            ("a/", None),
            (" ", None),
            ("отчёт.docx", Some("отчёт.docx")),
        ] {
            assert_eq!(file_name(said).as_deref(), name, "{said:?}");
        }
        let long = file_name(&"я".repeat(1_000)).unwrap();
        assert!(long.len() <= LONGEST_NAME && long.len() > LONGEST_NAME - 2);
    }

    #[test]
    fn an_element_has_one_of_url_and_content() {
        for wrong in [
            r#"["text"]"#,
            r#"[["http://a.example/",null,"name","text/plain"]]"#,
            r#"[{}]"#,
            r#"[{"url":"http://a.example/","content_base64":"aGk="}]"#,
            r#"[{"url":7}]"#,
            r#"[{"url":"ftp://a.example/"}]"#,
            r#"[{"url":"file:///etc/passwd"}]"#,
            r#"[{"url":"data:text/plain,hello"}]"#,
            r#"[{"url":"not a url"}]"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(elements(b"{}").is_err());
        assert!(elements(b"[").is_err());
    }

    #[test]
    fn a_data_uri_brings_its_type_and_its_content() {
        let file = read(r#"[{"url":"DATA:text/csv;charset=utf-8;base64,aGVs%62G8="}]"#).unwrap();
        assert_eq!(file.kind.as_deref(), Some("text/csv;charset=utf-8"));
        let Source::Inline(text) = file.source else {
            panic!("inline")
        };
        assert_eq!(decoded(&text, 5).unwrap(), b"hello");
        let said = read(r#"[{"url":"data:text/csv;base64,aGk=","type":"text/plain"}]"#).unwrap();
        assert_eq!(said.kind.as_deref(), Some("text/plain"));
        let said = read(r#"[{"content_base64":"aGk=","type":"text/plain\r\nX: y"}]"#).unwrap();
        assert_eq!(said.kind, None);
    }

    #[test]
    fn the_size_of_base64_is_checked_before_it_is_decoded() {
        assert_eq!(decoded(" aGVs\n bG8 = ", 5).unwrap(), b"hello");
        assert_eq!(decoded("aGVsbG8", 5).unwrap(), b"hello");
        assert!(matches!(decoded("aGVsbG8=", 4), Err(FileError::TooLarge)));
        assert!(matches!(decoded("a-_=", 99), Err(FileError::Malformed(_))));
        assert!(matches!(decoded("!!!!!!!!", 2), Err(FileError::TooLarge)));
        assert_eq!(decoded("", 1).unwrap(), b"");
    }

    #[test]
    fn names_and_types_are_inferred() {
        let name = |url: &str| name_in(&Url::parse(url).unwrap());
        assert_eq!(
            name("http://a.example/x/a%20b.pdf?c=d").as_deref(),
            Some("a b.pdf")
        );
        assert_eq!(
            name("http://a.example/%2e%2e%2fpasswd").as_deref(),
            Some("passwd")
        );
        assert_eq!(name("http://a.example/"), None);
        for (header, name) in [
            ("attachment; filename=\"a.txt\"", Some("a.txt")),
            ("attachment; filename=../b.txt", Some("b.txt")),
            (
                "attachment; filename=x; filename*=UTF-8''%D1%8F.txt",
                Some("я.txt"),
            ),
            ("inline", None),
        ] {
            assert_eq!(name_of_disposition(header).as_deref(), name, "{header}");
        }
        assert_eq!(type_of_name("a.PDF").as_deref(), Some("application/pdf"));
        assert_eq!(type_of_name("a"), None);
        assert_eq!(default_name(Some("text/csv; charset=utf-8")), "file.csv");
        assert_eq!(default_name(None), "file");
    }
}
