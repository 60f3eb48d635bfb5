//! The list of sessions, the one with the latest record first.

use super::bounded_text::{self, LinkStyle};
use super::rows;
use crate::analysis::api::records::filters::session_cursor;
use crate::analysis::records::{SessionPage, SessionSummary};
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{
    self, PageLink, badge, content_or_refusal, head, time_exact,
};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::request::list_query::{ListQuery, Pairs};
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Services};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use std::sync::Arc;

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    pairs: Pairs,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let (query, r) = (ListQuery::read(pairs), visit.view.r());
    let (status, shown) = content_or_refusal(&visit.view, found(&services, &visit, &query).await)?;
    let content = html! {
        (head(r.sessions, html! { p.dim { (r.sessions_hint) } }, html! {}))
        (form(&visit.view, &query))
        (shown)
    };
    Ok((
        status,
        layout::page(&visit, Section::Sessions, r.sessions, content),
    )
        .into_response())
}

fn form(view: &View, query: &ListQuery) -> Markup {
    let (t, r) = (view.t, view.r());
    html! {
        form.card.filters method="get" action="/ui/sessions" role="search" data-skips-empty {
            div.row {
                (application_field::field(Label::Shown(r.application), query.text("application_id"), r.name_or_id))
                label { (r.user) input name="user_id" value=(query.text("user_id")) maxlength="1000" autocomplete="off" spellcheck="false"; }
                label { (r.from) input type="datetime-local" name="from" value=(query.text("from")) autocomplete="off"; }
                label { (r.until) input type="datetime-local" name="to" value=(query.text("to")) autocomplete="off"; }
            }
            div.row {
                label.tick { input type="checkbox" name="flagged" value="true" checked[query.has(&["flagged"])]; span { (r.flagged_sessions) } }
                div.actions {
                    button.primary type="submit" { (t.search) }
                    a.button.quiet href="/ui/sessions" { (t.clear) }
                }
            }
        }
    }
}

async fn found(services: &Services, visit: &Visit, query: &ListQuery) -> Result<Markup, ApiError> {
    let view = &visit.view;
    let query = query.resolved(services, &visit.caller, view.r()).await?;
    let filter = query.sessions()?;
    let SessionPage { sessions, has_more } =
        services.records.sessions(&visit.caller, filter).await?;
    let ids = sessions.iter().map(|session| session.application_id);
    let names = services.admin.application_names(&visit.caller, ids).await?;
    let next = sessions
        .last()
        .filter(|_| has_more)
        .map(|last| session_cursor(last.last_ms, last.application_id, &last.session_id));
    Ok(html! {
        @if sessions.is_empty() { div.empty { (view.t.nothing_found) } } @else { (table(view, &sessions, &names)) }
        (pager(view, &query, next.as_deref()))
    })
}

fn table(view: &View, sessions: &[SessionSummary], names: &Names) -> Markup {
    let (t, r) = (view.t, view.r());
    let table = Table {
        name: r.sessions,
        look: "records",
        columns: [
            Column::Text(r.session),
            Column::Text(r.application),
            Column::Text(r.user),
            Column::Number(r.messages),
            Column::Number(r.flagged_messages),
            Column::Number(t.tokens),
            Column::Text(r.last_message),
        ],
    };
    let rows = html! { @for session in sessions { (table.row(cells(view, session, names))) } };
    html! { div.table { (table.of(rows)) } }
}

fn cells(view: &View, session: &SessionSummary, names: &Names) -> [Markup; 7] {
    let id = &session.session_id;
    [
        bounded_text::link(
            id,
            LinkStyle {
                class: "cut",
                label: "",
            },
            |id| rows::session_address(session.application_id, id),
        ),
        rows::application(view.r(), session.application_id, names),
        html! { @if let Some(user) = &session.user_id { span.cut { (bounded_text::name(user)) } } @else { span.dim { "–" } } },
        html! { (session.messages) },
        html! { @if session.flagged > 0 { (badge("warn", &session.flagged.to_string())) } @else { span.dim { "0" } } },
        html! { (session.tokens) },
        time_exact(session.last_ms),
    ]
}

fn pager(view: &View, query: &ListQuery, next: Option<&str>) -> Markup {
    let r = view.r();
    let link = |label, before: Option<&str>| PageLink {
        label,
        address: query.with("before", before).address("/ui/sessions"),
    };
    let first = query.has(&["before"]).then(|| link(r.newest, None));
    components::pager(view.t, first, next.map(|next| link(r.older, Some(next))))
}
