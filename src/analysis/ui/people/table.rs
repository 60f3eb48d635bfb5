//! The list of end users as a table.

use super::bars::{self, bars, change_note, share};
use super::links::{application, name, user_address};
use crate::analysis::records::{UserDay, UserPage, UserTotal};
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::layout::components::{badge, number, time};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};

/// Types of finds that a row names.
const TYPES: usize = 3;

pub(super) fn all(view: &View, page: &UserPage, days: (i64, i64), names: &Names) -> Markup {
    let (r, p) = (view.r(), view.p());
    let table = Table {
        name: p.people,
        look: "records people",
        columns: [
            Column::Text(r.user),
            Column::Text(r.application),
            Column::Number(p.messages),
            Column::Number(p.flagged),
            Column::Number(p.blocked),
            Column::Text(p.types),
            Column::Text(p.last_seen),
            Column::Text(p.last_days),
        ],
    };
    let rows = html! {
        @for user in &page.users { (table.row(cells(view, user, &Shown { page, days, names }))) }
    };
    html! { div.table { (table.of(rows)) } }
}

/// What all rows are made of.
struct Shown<'a> {
    page: &'a UserPage,
    days: (i64, i64),
    names: &'a Names,
}

fn cells(view: &View, user: &UserTotal, shown: &Shown<'_>) -> [Markup; 8] {
    let (first, last) = shown.days;
    let own =
        |day: &&UserDay| day.application_id == user.application_id && day.user_id == user.user_id;
    let days = || shown.page.days.iter().filter(own);
    let by_day = bars::by_day(days(), (last - bars::DAYS + 1, last));
    let types = bars::types(days(), first);
    let counts = user.counts;
    let flagged = view.u().percent(share(counts.flagged, counts.messages), 1);
    let to = user_address(user.application_id, &user.user_id, shown.days);
    [
        html! { a.cut href=(to) title=(user.user_id) { (name(&user.user_id)) } },
        application(view, user.application_id, shown.names),
        html! { (number(counts.messages)) " " (change_note(view, counts.messages, user.before.messages)) },
        html! {
            @if counts.flagged > 0 { (badge("warn", &number(counts.flagged))) " " span.dim.small { (flagged) } } @else { span.dim { "0" } }
        },
        html! { @if counts.blocked > 0 { (badge("bad", &number(counts.blocked))) } @else { span.dim { "0" } } },
        html! {
            @if types.is_empty() { span.dim { "–" } }
            div.badges { @for found in types.iter().take(TYPES) { (badge("warn", &format!("{} × {}", found.kind, found.count))) } }
        },
        time(user.last_ms),
        bars(view, &by_day),
    ]
}
