//! The tools that were called in the exchange of a record: what each was given, what it gave back, and what the
//! checks say about it.

use super::bounded_text::{self, TextLimit};
use super::rows;
use crate::analysis::records::masking::CleanedRecord;
use crate::analysis::ui::layout::highlight::marked;
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::phrases::RecordPhrases;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};

/// How much of each text is shown.
const SHOWN: TextLimit = TextLimit {
    bytes: 1_000,
    marks: 24,
};
/// How much of all of them: of what comes behind, the texts are on pages of their own.
const SHOWN_TOGETHER: usize = 24 * 1024;

pub(super) fn card(view: &View, parts: &[CleanedRecord]) -> Markup {
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

/// Why no text is shown.
pub(super) fn no_text(r: &RecordPhrases, record: &CleanedRecord) -> &'static str {
    match record.text().is_none() && record.has_original {
        true => r.text_hidden,
        false => r.no_text,
    }
}

fn cells(view: &View, part: &CleanedRecord, left: &mut usize) -> [Markup; 3] {
    let (r, summary) = (view.r(), &part.record.summary);
    let (text, entities) = part.text().unwrap_or_default();
    let limit = TextLimit {
        bytes: SHOWN.bytes.min(*left),
        ..SHOWN
    };
    let (text, is_cut) = bounded_text::part(text, entities, limit);
    *left = left.saturating_sub(text.len());
    [
        html! {
            a href={ "/ui/records/" (summary.id) } title=(r.whole_record) { (rows::kind(view, summary)) }
        },
        html! { div.badges { (rows::verdict(r, summary)) } },
        html! {
            @if text.is_empty() { span.dim { (no_text(r, part)) } } @else { span.pre { (marked(text, entities)) @if is_cut { "…" } } }
        },
    ]
}
