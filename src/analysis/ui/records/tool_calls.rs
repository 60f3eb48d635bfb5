//! The tools that were called in the exchange of a record: what each was given, what it gave back, and what the
//! checks say about it.

use super::bounded_text::{self, TextLimit};
use super::rows;
use crate::analysis::records::StoredRecord;
use crate::analysis::ui::layout::highlight::marked;
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};

/// How much of each text is shown.
const SHOWN: TextLimit = TextLimit {
    bytes: 1_000,
    marks: 24,
};
/// How much of all of them: of what comes behind, the texts are on pages of their own.
const SHOWN_TOGETHER: usize = 24 * 1024;

pub(super) fn card(view: &View, parts: &[StoredRecord]) -> Markup {
    let r = view.r();
    let table = Table {
        name: r.tool_calls,
        look: "",
        columns: [
            Column::Text(r.part),
            Column::Text(r.verdict),
            Column::Text(r.text),
        ],
    };
    let mut left = SHOWN_TOGETHER;
    let rows = html! { @for part in parts { (table.row(cells(view, part, &mut left))) } };
    html! {
        @if !parts.is_empty() {
            section.card { h2 { (r.tool_calls) } div.table.flat { (table.of(rows)) } }
        }
    }
}

fn cells(view: &View, part: &StoredRecord, left: &mut usize) -> [Markup; 3] {
    let (r, report) = (view.r(), &part.answer.dataclean);
    let entities = match part.message {
        Some(_) => report.entities.as_slice(),
        None => &[],
    };
    let text = part.message.as_deref().or(report.cleaned_text.as_deref());
    let limit = TextLimit {
        bytes: SHOWN.bytes.min(*left),
        ..SHOWN
    };
    let (text, is_cut) = bounded_text::part(text.unwrap_or_default(), entities, limit);
    *left = left.saturating_sub(text.len());
    [
        html! {
            a href={ "/ui/records/" (part.summary.id) } title=(r.whole_record) { (rows::kind(view, &part.summary)) }
        },
        html! { div.badges { (rows::verdict(r, &part.summary)) } },
        html! {
            @if text.is_empty() { span.dim { (r.no_text) } } @else { span.pre { (marked(text, entities)) @if is_cut { "…" } } }
        },
    ]
}
