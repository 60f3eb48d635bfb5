//! The descriptions of files for fuzz/fuzz_targets/attachments.rs, read as the gateway reads them. Only builds for
//! fuzzing and tests have it.

use super::descriptor::{self, Descriptor, Source};
use url::Url;

/// One file that a header describes.
pub struct Described {
    /// Where it is downloaded from; otherwise the header holds it.
    pub url: Option<Url>,
    /// What the header holds; None if that is no file of the size asked for.
    pub content: Option<Vec<u8>>,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its media type, if it has one.
    pub kind: Option<String>,
}

/// The files of a header, with at most so many bytes each; None in place of one that is refused, and for a header
/// that is no list.
pub fn read(header: &[u8], limit: u64) -> Option<Vec<Option<Described>>> {
    let elements = descriptor::elements(header).ok()?;
    let read = |element| Descriptor::read(element).ok();
    let read = |element| read(element).map(|descriptor| described(descriptor, limit));
    Some(elements.into_iter().map(read).collect())
}

fn described(descriptor: Descriptor, limit: u64) -> Described {
    let (url, content) = match descriptor.source {
        Source::Url(url) => (Some(url), None),
        Source::Inline(text) => (None, descriptor::decoded(&text, limit).ok()),
    };
    Described {
        url,
        content,
        name: descriptor.name,
        kind: descriptor.kind,
    }
}

/// The name that a server's Content-Disposition header gives to a file.
pub fn name_of_disposition(header: &str) -> Option<String> {
    descriptor::name_of_disposition(header)
}
