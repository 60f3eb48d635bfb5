//! What the keyboard does, and the list of pages that `Ctrl K` opens. Both are dialogs that the script opens
//! (`assets/comfort.js`); without scripts nobody sees them.

use crate::analysis::ui::request::view::View;
use maud::{Markup, html};

/// The dialogs. The script fills the list with the links of the navigation.
pub(super) fn dialogs(view: &View) -> Markup {
    let k = view.keys();
    let keys = [
        ("/", k.search),
        ("j", k.next_row),
        ("k", k.earlier_row),
        ("Ctrl K", k.go_to),
        ("?", k.this_help),
    ];
    html! {
        dialog #palette aria-label=(k.go_to) {
            label { (k.go_to) input type="search" autocomplete="off" spellcheck="false"; }
            ul.bare {}
            button.quiet type="button" data-closes { (k.close) }
        }
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { (k.keys) }
            dl.pairs { @for (key, does) in keys { dt { kbd { (key) } } dd { (does) } } }
            button.quiet type="button" data-closes { (k.close) }
        }
    }
}

/// The buttons of the person's corner.
pub(super) fn buttons(view: &View) -> Markup {
    let k = view.keys();
    html! {
        div.own.scripted {
            button.link type="button" data-copy-link=(k.link_copied) { (k.copy_link) }
            button.link type="button" data-opens="#keys" { (k.keys) }
        }
    }
}
