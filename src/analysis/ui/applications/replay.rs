//! The draft in a form tried on the application's stored records, before it is saved.

use super::current::{CurrentApplication, Editable};
use super::{document, trial};
use crate::analysis::access::Scope;
use crate::analysis::records::RecordFilter;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{badge, time};
use crate::analysis::ui::phrases::Phrases;
use crate::analysis::ui::request::form::Form;
use crate::analysis::{ChangedVerdict, Replay, ReplayPage};
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use monitor_model::Stage;
use serde_json::Value;

/// Records replayed at once.
const LOOKED_AT: u32 = 100;

pub(super) async fn page(Editable(current): Editable, form: Form) -> Result<Response, Failure> {
    let address = format!("{}/replay", current.address());
    let CurrentApplication {
        services,
        visit,
        stored,
    } = current;
    // The finds of a draft's regex reveal texts, so the right to change rules is not enough.
    visit.must(Scope::Read)?;
    let document = document::rules(&form, stored.rules);
    let admin = &services.admin;
    let draft = match admin.check_draft(&visit.caller, stored.id, document).await {
        Ok(draft) => draft,
        Err(error) => return trial::wrong(&visit.view, error, &form),
    };
    let filter = RecordFilter {
        before: form
            .value("replay.before")
            .and_then(|before| before.parse().ok()),
        limit: LOOKED_AT,
        ..RecordFilter::default()
    };
    let replay = Replay { draft, filter };
    let page = admin.replay(&visit.caller, stored.id, replay).await?;
    Ok(Html(result(visit.view.t, &page, &address).into_string()).into_response())
}

fn result(t: &Phrases, page: &ReplayPage, address: &str) -> Markup {
    html! {
        p.badges {
            (badge("plain", &format!("{}: {}", t.records_looked_at, page.records)))
            (badge(if page.changed.is_empty() { "good" } else { "warn" }, &format!("{}: {}", t.verdicts_changed, page.changed.len())))
        }
        @if page.on_cleaned_text > 0 { p.hint { (t.on_cleaned_text) ": " (page.on_cleaned_text) } }
        @if page.without_text > 0 { p.hint { (t.without_text) ": " (page.without_text) } }
        ul.changes { @for changed in &page.changed { (changed_record(t, changed)) } }
        @if let Some(before) = page.next_before {
            button type="submit" formaction=(address) formnovalidate data-into="#replay-result" name="replay.before" value=(before) { (t.older_records) }
        }
    }
}

fn changed_record(t: &Phrases, changed: &ChangedVerdict) -> Markup {
    let stage = match changed.stage {
        Stage::PreCall => t.prompt,
        Stage::PostCall => t.answer,
    };
    html! {
        li {
            div { (time(changed.created_at_ms)) " · " (stage) }
            @for difference in &changed.differences {
                div.small { code { (difference.field) } ": " (value(&difference.was)) " → " strong { (value(&difference.now)) } }
            }
        }
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".to_owned(),
        other => other.to_string(),
    }
}
