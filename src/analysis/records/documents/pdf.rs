//! The text of a PDF file, with the crate `pdf-extract`: the text of its pages, and the strings of forms,
//! notes, links and the document information. A page that breaks the crate is left out. Scanned text is not
//! read.

use super::text::{Broken, Text};
use pdf_extract::{ConvertToFmt, Dictionary, Document, Object, PlainTextOutput, output_doc_page};
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
    let pages = document.get_pages();
    for page in pages.keys().take(PAGES) {
        if text.is_full() {
            text.leave_out();
            break;
        }
        let shown = catch_unwind(AssertUnwindSafe(|| show(&document, *page, text)));
        if !matches!(shown, Ok(true)) {
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
