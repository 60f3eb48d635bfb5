//! One record: its texts side by side, what was decided and why, and everything else that is kept of it. Originals are
//! masked until somebody who may read them asks for them: the answer to that form has them, and no other page.

use super::bounded_text::{self, LinkStyle, TextLimit};
use super::exchange::{self, ExchangeContext};
use super::{by_value, details, record_id, rows, tool_calls, tool_parts, verdicts};
use crate::analysis::Services;
use crate::analysis::access::Scope;
use crate::analysis::records::StoredRecord;
use crate::analysis::records::masking::{CleanedRecord, MaskedText, has_original};
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::findings::panel;
use crate::analysis::ui::layout::components::{head, time_exact, token_field};
use crate::analysis::ui::layout::highlight::marked;
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths;
use crate::analysis::ui::phrases::RecordPhrases;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::list_query::{ListQuery, Pairs};
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use axum::extract::{Path, State};
use axum::response::Html;
use maud::{Markup, html};
use monitor_model::{Entity, Stage};
use serde_json::Value;
use std::sync::Arc;

/// How much of each text a page shows.
const SHOWN: TextLimit = TextLimit {
    bytes: 32 * 1024,
    marks: 250,
};

/// A record and how its page shows it.
struct Shown<'r> {
    record: StoredRecord,
    original: Original<'r>,
    /// The list that it was opened from.
    query: ListQuery,
}

/// What a page shows of the original.
#[derive(Clone, Copy)]
enum Original<'r> {
    /// There is none that anybody may see.
    NotKept,
    /// Its finds are masked; None where nobody knows them all.
    Masked(Option<&'r MaskedText>),
    /// As it is.
    Revealed,
}

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
    pairs: Pairs,
) -> Result<Html<String>, Failure> {
    visit.must_read()?;
    let found = services.records.record(&visit.caller, record_id(&id)?);
    let CleanedRecord {
        record,
        masked,
        has_original,
    } = found.await?;
    let original = match has_original {
        true => Original::Masked(masked.as_ref()),
        false => Original::NotKept,
    };
    let shown = Shown {
        record,
        original,
        query: ListQuery::read(pairs),
    };
    show(&services, &visit, shown).await
}

/// The page with the original, which the audit log has an entry of. It is not kept by the browser, and its address
/// shows the masked page.
pub(super) async fn reveal(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
    pairs: Pairs,
    _: Form,
) -> Result<Html<String>, Failure> {
    visit.must(Scope::Read)?;
    let record = services.records.original(&visit.caller, record_id(&id)?);
    let record = record.await?;
    let original = match has_original(&record) {
        true => Original::Revealed,
        false => Original::NotKept,
    };
    let shown = Shown {
        record,
        original,
        query: ListQuery::read(pairs),
    };
    show(&services, &visit, shown).await
}

async fn show(
    services: &Services,
    visit: &Visit,
    mut shown: Shown<'_>,
) -> Result<Html<String>, Failure> {
    let record = &mut shown.record;
    // What earlier versions stored is marked here only.
    record.summary.unchecked |=
        record.additional_parameters.get("unchecked") == Some(&Value::Bool(true));
    let (record, query) = (&shown.record, &shown.query);
    let files = services
        .records
        .attachments(&visit.caller, record.summary.seq)
        .await?;
    let ids = std::iter::once(record.summary.application_id);
    let names = services.admin.application_names(&visit.caller, ids).await?;
    let view = &visit.view;
    let tools = services.records.tool_calls(&visit.caller, &record.summary);
    let tools = tools.await?;
    let context = ExchangeContext::of(services, visit, &record.summary, query).await?;
    let same = services
        .records
        .same_values(&visit.caller, &record.summary)
        .await?;
    let triage = panel::of(services, visit, record).await?;
    let address = format!("/ui/records/{}", record.summary.id);
    let actions = html! {
        (context.ways(view))
        a.button href={ (address) "/json" } download { (view.r().save_json) }
        a.button href=(query.address("/ui/records")) { (view.r().records) }
    };
    let is_prompt = record.summary.stage == Stage::PreCall;
    let tools = tool_calls::card(view, &tools);
    let content = html! {
        (head(rows::kind_name(view, &record.summary), subtitle(view, record, &names), actions))
        (details::failure(view, record))
        (context.message(view, Stage::PreCall))
        @if !is_prompt { (tools) }
        (texts(visit, &shown))
        (triage)
        (tool_parts::card(view, record))
        @if is_prompt { (tools) }
        (context.message(view, Stage::PostCall))
        (context.outcome(view, &record.summary))
        div.halves {
            div { (verdicts::card(view, record)) (by_value::card(view, record.summary.id, &same)) (details::files(visit, &address, &files)) }
            div { (details::card(visit, record, context.other.as_ref().map(|other| &other.record.summary))) (details::parameters(view, record)) }
        }
    };
    let title = exchange::title(view, &record.summary);
    Ok(layout::page(visit, Section::Records, &title, content))
}

fn subtitle(view: &View, record: &StoredRecord, names: &Names) -> Markup {
    let (r, summary) = (view.r(), &record.summary);
    html! {
        p.facts {
            span { (time_exact(summary.created_at_ms)) " " span data-zone { "UTC" } }
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

fn texts(visit: &Visit, shown: &Shown<'_>) -> Markup {
    let (view, r) = (&visit.view, visit.view.r());
    let (record, query) = (&shown.record, &shown.query);
    let address = format!("/ui/records/{}", record.summary.id);
    let report = &record.answer.dataclean;
    let cleaned = report.cleaned_text.as_deref();
    html! {
        section.card aria-label=(r.texts) {
            div.halves {
                div {
                    h2 { (r.original) }
                    @match shown.original {
                        Original::NotKept => p.dim { (r.original_not_kept) },
                        Original::Masked(masked) => {
                            (way_to_original(visit, &query.address(&format!("{address}/original"))))
                            @if let Some(masked) = masked { (block(view, &masked.text, &masked.entities)) }
                        }
                        Original::Revealed => {
                            (revealed(r, &query.address(&address)))
                            @if let Some(text) = &record.message { (block(view, text, &report.entities)) }
                        }
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

/// The button that shows the original, for those who may read it.
fn way_to_original(visit: &Visit, address: &str) -> Markup {
    html! {
        @if visit.may(Scope::Read) { (reveal_form(visit, address)) }
        @else { p.dim { (visit.view.r().original_not_yours) } }
    }
}

/// The form that shows originals.
pub(super) fn reveal_form(visit: &Visit, address: &str) -> Markup {
    let r = visit.view.r();
    html! {
        form.inline #reveal method="post" action=(address) {
            (token_field(&visit.view))
            button type="submit" { (r.reveal) }
            span.hint { (r.reveal_hint) }
        }
    }
}

/// Says that originals are shown, with the way back to the masked page.
pub(super) fn revealed(r: &RecordPhrases, masked: &str) -> Markup {
    html! { p.hint data-revealed=(masked) { (r.revealed) " " a href=(masked) { (r.mask_again) } } }
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
