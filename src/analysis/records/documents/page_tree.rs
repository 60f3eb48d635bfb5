//! Completes the pages of a PDF file the way viewers do: what a page lacks it takes from the nodes above it,
//! else there is a default. The crate that takes out the text breaks on pages that viewers show.

use pdf_extract::{Dictionary, Document, Object, ObjectId};
use std::collections::HashSet;

/// Levels of the page tree that are read.
const DEPTH: usize = 256;
/// Nodes of the page tree that are read.
const NODES: usize = 16_384;
/// The size of a page that has none, in points: US Letter, as in other viewers.
const DEFAULT_BOX: [i64; 4] = [0, 0, 612, 792];

/// What a page takes from the nodes above it.
#[derive(Clone, Default)]
struct Inherited {
    media_box: Option<Object>,
    resources: Option<Object>,
}

/// A node of the tree that was not read yet.
struct Pending {
    node: ObjectId,
    inherited: Inherited,
    depth: usize,
}

/// Gives the first `most` pages a type, a size and resources.
pub(super) fn complete_pages(document: &mut Document, most: usize) {
    let root = document.catalog().and_then(|catalog| catalog.get(b"Pages"));
    let Ok(root) = root.and_then(Object::as_reference) else {
        return;
    };
    let mut pending = vec![Pending {
        node: root,
        inherited: Inherited::default(),
        depth: 0,
    }];
    let (mut seen, mut pages) = (HashSet::new(), 0);
    while let Some(Pending {
        node,
        inherited,
        depth,
    }) = pending.pop()
    {
        if pages == most || seen.len() == NODES {
            return;
        }
        if depth > DEPTH || !seen.insert(node) {
            continue;
        }
        let Ok(dictionary) = document.get_dictionary(node) else {
            continue;
        };
        let inherited = inherited.and_of(document, dictionary);
        let Some(kids) = kids(document, dictionary) else {
            complete(document, node, inherited);
            pages += 1;
            continue;
        };
        let pending_kid = |node: &ObjectId| Pending {
            node: *node,
            inherited: inherited.clone(),
            depth: depth + 1,
        };
        // The first one is read next.
        pending.extend(kids.iter().rev().map(pending_kid));
        if let Ok(dictionary) = document.get_dictionary_mut(node) {
            dictionary.set("Type", Object::Name(b"Pages".to_vec()));
        }
    }
}

impl Inherited {
    fn and_of(self, document: &Document, node: &Dictionary) -> Self {
        let resources = node.get(b"Resources").ok();
        let resources = resources.filter(|value| dereferenced(document, value).as_dict().is_ok());
        Self {
            media_box: media_box(document, node).or(self.media_box),
            resources: resources.cloned().or(self.resources),
        }
    }
}

fn complete(document: &mut Document, page: ObjectId, inherited: Inherited) {
    if let Ok(page) = document.get_dictionary_mut(page) {
        let default = || Object::Array(DEFAULT_BOX.map(Object::Integer).to_vec());
        let none = || Object::Dictionary(Dictionary::new());
        page.set("Type", Object::Name(b"Page".to_vec()));
        page.set("MediaBox", inherited.media_box.unwrap_or_else(default));
        page.set("Resources", inherited.resources.unwrap_or_else(none));
        // No text depends on it, and a malformed one breaks the crate.
        page.remove(b"ArtBox");
    }
}

/// The children of a node; None of a page.
fn kids(document: &Document, node: &Dictionary) -> Option<Vec<ObjectId>> {
    let kids = dereferenced(document, node.get(b"Kids").ok()?);
    let kids = kids.as_array().ok()?.iter();
    Some(kids.filter_map(|kid| kid.as_reference().ok()).collect())
}

/// The size of a page as four numbers; None where it has none or a malformed one.
fn media_box(document: &Document, node: &Dictionary) -> Option<Object> {
    let corners = dereferenced(document, node.get(b"MediaBox").ok()?);
    let corners = corners.as_array().ok()?.iter();
    let number = |corner: &Object| {
        let corner = dereferenced(document, corner);
        matches!(corner, Object::Integer(_) | Object::Real(_)).then(|| corner.clone())
    };
    let corners: Vec<Object> = corners.map_while(number).take(4).collect();
    (corners.len() == 4).then_some(Object::Array(corners))
}

fn dereferenced<'d>(document: &'d Document, object: &'d Object) -> &'d Object {
    document
        .dereference(object)
        .map_or(object, |(_, target)| target)
}
