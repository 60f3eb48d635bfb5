//! One record: its texts side by side, what was decided and why, and everything else that is kept of
//! it.

use super::bounded_text::{self, LinkStyle, TextLimit};
use super::{details, record_id, rows, tool_calls, verdicts};
use crate::analysis::Services;
use crate::analysis::access::Scope;
use crate::analysis::records::StoredRecord;
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{head, time_exact};
use crate::analysis::ui::layout::highlight::marked;
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use axum::extract::{Path, State};
use axum::response::Html;
use maud::{Markup, html};
use monitor_model::Entity;
use std::sync::Arc;

/// How much of each text a page shows.
const SHOWN: TextLimit = TextLimit {
    bytes: 32 * 1024,
    marks: 250,
};

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
) -> Result<Html<String>, Failure> {
    visit.must(Scope::Read)?;
    let record = services
        .records
        .record(&visit.caller, record_id(&id)?)
        .await?;
    let files = services
        .records
        .attachments(&visit.caller, record.summary.seq)
        .await?;
    let ids = std::iter::once(record.summary.application_id);
    let names = services.admin.application_names(&visit.caller, ids).await?;
    let view = &visit.view;
    let title = rows::kind_name(view, &record.summary);
    let tools = services.records.tool_calls(&visit.caller, &record.summary);
    let tools = tools.await?;
    let address = format!("/ui/records/{}", record.summary.id);
    let actions = html! {
        a.button href={ (address) "/json" } download { (view.r().save_json) }
        a.button href="/ui/records" { (view.r().records) }
    };
    let content = html! {
        (head(title, subtitle(view, &record, &names), actions))
        (details::failure(view, &record))
        (texts(view, &record))
        (tool_calls::card(view, &tools))
        div.halves {
            div { (verdicts::card(view, &record)) (details::files(view, &address, &files)) }
            div { (details::card(&visit, &record)) (details::parameters(view, &record)) }
        }
    };
    Ok(layout::page(&visit, Section::Records, title, content))
}

fn subtitle(view: &View, record: &StoredRecord, names: &Names) -> Markup {
    let (r, summary) = (view.r(), &record.summary);
    html! {
        p.facts {
            span { (time_exact(summary.created_at_ms)) " UTC" }
            (rows::application(r, summary.application_id, names))
            @if let Some(user) = &summary.user_id {
                (bounded_text::link(user, LinkStyle::plain(r.user), |user| paths::address("/ui/records", &[("user_id", user)])))
            }
            @if let Some(session) = &summary.session_id {
                (bounded_text::link(session, LinkStyle::plain(r.session), |session| rows::session_address(summary.application_id, session)))
            }
        }
        div.badges { (rows::verdict(r, summary)) }
    }
}

fn texts(view: &View, record: &StoredRecord) -> Markup {
    let r = view.r();
    let report = &record.answer.dataclean;
    let (original, cleaned) = (record.message.as_deref(), report.cleaned_text.as_deref());
    html! {
        section.card aria-label=(r.texts) {
            div.halves {
                div {
                    h2 { (r.original) }
                    @match original {
                        Some(text) => (block(view, text, &report.entities)),
                        None => p.dim { (r.original_not_kept) },
                    }
                }
                div {
                    h2 { (r.cleaned) }
                    @match cleaned {
                        Some(text) => (block(view, text, &[])),
                        None => p.dim { (r.no_text) },
                    }
                }
            }
        }
    }
}

fn block(view: &View, text: &str, entities: &[Entity]) -> Markup {
    let (first, is_cut) = bounded_text::part(text, entities, SHOWN);
    html! {
        @if text.is_empty() { p.dim { (view.r().no_text) } } @else {
            pre.text tabindex="0" { (marked(first, entities)) @if is_cut { "…" } }
        }
        @if is_cut { p.hint { (view.r().text_cut) } }
    }
}
