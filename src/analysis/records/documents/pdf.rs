//! The text of a PDF file, with the crate `pdf-extract`: the text of its pages, and the strings of forms,
//! notes, links and the document information. A page that breaks the crate is left out, and so is one that
//! shows an image and no text; the file is marked as read in part then.

use super::page_tree::complete_pages;
use super::text::{Broken, Text};
use pdf_extract::{
    ConvertToFmt, Dictionary, Document, Object, ObjectId, PlainTextOutput, output_doc_page,
};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Pages that are read.
const PAGES: usize = 500;
/// The depth of nested dictionaries that is searched.
const DEPTH: usize = 4;
/// The keys of text in form fields, notes, links and the document information.
const KEYS: [&[u8]; 7] = [
    b"V",
    b"Contents",
    b"URI",
    b"Title",
    b"Author",
    b"Subject",
    b"Keywords",
];

pub(super) fn read(bytes: &[u8], text: &mut Text) -> Result<(), Broken> {
    let loaded = catch_unwind(|| Document::load_mem(bytes));
    let Ok(Ok(mut document)) = loaded else {
        return Err(Broken::Malformed);
    };
    // A file that needs no password has been decrypted by now, in most cases.
    if document.trailer.has(b"Encrypt") && document.decrypt("").is_err() {
        return Err(Broken::Encrypted);
    }
    complete_pages(&mut document, PAGES);
    let pages = document.get_pages();
    if pages.is_empty() {
        text.leave_out();
    }
    let mut seen = HashSet::new();
    // A tree that bites its tail has the same pages again.
    let own = pages.iter().filter(|(_, id)| seen.insert(**id));
    for (page, id) in own.take(PAGES) {
        if text.is_full() {
            text.leave_out();
            break;
        }
        let before = text.len();
        let shown = catch_unwind(AssertUnwindSafe(|| show(&document, *page, text)));
        let is_scanned = || text.is_blank_from(before) && shows_image(&document, *id);
        if !matches!(shown, Ok(true)) || is_scanned() {
            text.leave_out();
        }
        text.push("\n");
    }
    if pages.len() > PAGES {
        text.leave_out();
    }
    for object in document.objects.values() {
        if let Ok(dictionary) = object.as_dict() {
            strings(dictionary, DEPTH, text);
        }
    }
    Ok(())
}

/// Whether the whole page was read.
fn show(document: &Document, page: u32, text: &mut Text) -> bool {
    let mut output = PlainTextOutput::new(Shown(text));
    output_doc_page(document, &mut output, page).is_ok()
}

/// Whether a page may show an image, which is not read.
fn shows_image(document: &Document, page: ObjectId) -> bool {
    let dictionary_of = |dictionary: &Dictionary, key: &[u8]| {
        let value = dictionary.get_deref(key, document);
        value.and_then(Object::as_dict).cloned().unwrap_or_default()
    };
    let page = document.get_dictionary(page).cloned().unwrap_or_default();
    let objects = dictionary_of(&dictionary_of(&page, b"Resources"), b"XObject");
    let is_image = |object: &Object| {
        let object = document.dereference(object);
        let stream = object.and_then(|(_, object)| object.as_stream());
        stream.is_ok_and(|stream| {
            stream
                .dict
                .get(b"Subtype")
                .is_ok_and(|kind| kind.as_name().is_ok_and(|kind| kind == b"Image"))
        })
    };
    objects.iter().any(|(_, object)| is_image(object))
}

/// Where the text of the pages goes.
struct Shown<'a>(&'a mut Text);

impl<'a> ConvertToFmt for Shown<'a> {
    type Writer = &'a mut Text;

    fn convert(self) -> Self::Writer {
        self.0
    }
}

fn strings(dictionary: &Dictionary, depth: usize, text: &mut Text) {
    for (key, value) in dictionary {
        match value {
            Object::String(..) if KEYS.contains(&key.as_slice()) => {
                if let Ok(string) = pdf_extract::decode_text_string(value) {
                    text.push(&string);
                    text.push("\n");
                }
            }
            Object::Dictionary(inner) if depth > 1 => strings(inner, depth - 1, text),
            _ => {}
        }
    }
}
