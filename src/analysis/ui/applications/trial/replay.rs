//! The draft in a form tried on the application's stored records, before it is saved: how many verdicts change, and
//! what changes, grouped.

use super::effects::{self, Kind};
use super::form::{FROM, TO, wrong};
use crate::analysis::access::Scope;
use crate::analysis::records::RecordFilter;
use crate::analysis::ui::applications::current::{CurrentApplication, Editable};
use crate::analysis::ui::applications::document;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{refusal, time};
use crate::analysis::ui::phrases::counted;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::list_query::ListQuery;
use crate::analysis::ui::request::view::View;
use crate::analysis::{ApiError, ChangedVerdict, Replay, ReplayPage};
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use monitor_model::Stage;
use std::collections::BTreeMap;

/// Records replayed at once.
const LOOKED_AT: u32 = 100;
/// Records of one group that are linked.
const LINKED: usize = 20;

pub(super) async fn page(Editable(current): Editable, form: Form) -> Result<Response, Failure> {
    let address = format!("{}/replay", current.address());
    let CurrentApplication {
        services,
        visit,
        stored,
    } = current;
    // The finds of a draft's regex reveal texts, so the right to change rules is not enough.
    visit.must(Scope::Read)?;
    let view = &visit.view;
    let filter = match filter(&form) {
        Ok(filter) => filter,
        Err(error) => {
            let part = refusal(view.t, view.r().wrong_filter, &error).into_string();
            return Ok((StatusCode::UNPROCESSABLE_ENTITY, Html(part)).into_response());
        }
    };
    let document = document::rules(&form, stored.rules);
    let admin = &services.admin;
    let draft = match admin.check_draft(&visit.caller, stored.id, document).await {
        Ok(draft) => draft,
        Err(error) => return wrong(view, error, &form),
    };
    let replay = Replay { draft, filter };
    let page = admin.replay(&visit.caller, stored.id, replay).await?;
    Ok(Html(result(view, &page, &address).into_string()).into_response())
}

/// The records of the period that the form names, or of its next page; the latest ones where it names none.
fn filter(form: &Form) -> Result<RecordFilter, ApiError> {
    let parts = [("from", form.text(FROM)), ("to", form.text(TO))];
    let own = parts.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let period = ListQuery::read(Query(Vec::from(own))).records()?;
    let before = form.value("replay.before");
    Ok(RecordFilter {
        before: before.and_then(|before| before.parse().ok()),
        limit: LOOKED_AT,
        ..period
    })
}

fn result(view: &View, page: &ReplayPage, address: &str) -> Markup {
    let t = view.t;
    html! {
        p { strong { (summary(view, page)) } }
        @if page.on_cleaned_text > 0 { p.hint { (t.on_cleaned_text) ": " (page.on_cleaned_text) } }
        @if page.without_text > 0 { p.hint { (t.without_text) ": " (page.without_text) } }
        ul.changes { @for (text, records) in groups(view, page) { li { (group(view, &text, &records)) } } }
        @if let Some(before) = page.next_before {
            button type="submit" formaction=(address) formnovalidate data-into="#replay-result" name="replay.before" value=(before) { (t.older_records) }
        }
    }
}

/// How many of the verdicts change, and in which direction.
fn summary(view: &View, page: &ReplayPage) -> String {
    let a = view.a();
    let has = |changed: &&ChangedVerdict, kinds: &[Kind]| {
        let effects = effects::of(view, changed);
        effects.iter().any(|effect| kinds.contains(&effect.kind))
    };
    let changed = page.changed.len();
    let with = |kinds: &[Kind]| page.changed.iter().filter(|one| has(one, kinds)).count();
    if changed == 0 {
        return match page.records {
            0 => a.replay_none.to_owned(),
            records => counted(a.replay_same, records),
        };
    }
    let told = counted(a.replay_changes, changed as u64);
    let told = told.replacen("{}", &page.records.to_string(), 1);
    let told = told.replacen("{}", &with(&[Kind::Lost]).to_string(), 1);
    let told = told.replacen("{}", &with(&[Kind::New]).to_string(), 1);
    match changed - with(&[Kind::Lost, Kind::New]) {
        0 => format!("{told}."),
        others => {
            let others = a.replay_otherwise.replace("{}", &others.to_string());
            format!("{told}, {others}.")
        }
    }
}

/// The changed records by what changes, those of the most records first. A record may be in several groups.
fn groups<'p>(view: &View, page: &'p ReplayPage) -> Vec<(String, Vec<&'p ChangedVerdict>)> {
    let mut groups: BTreeMap<String, Vec<&ChangedVerdict>> = BTreeMap::new();
    for changed in &page.changed {
        for effect in effects::of(view, changed) {
            groups.entry(effect.text).or_default().push(changed);
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, records)| std::cmp::Reverse(records.len()));
    groups
}

fn group(view: &View, text: &str, records: &[&ChangedVerdict]) -> Markup {
    let (t, a) = (view.t, view.a());
    let stage = |stage: Stage| match stage {
        Stage::PreCall => t.prompt,
        Stage::PostCall => t.answer,
    };
    let more = records.len().saturating_sub(LINKED);
    html! {
        details {
            summary { (text) " · " (counted(a.changed_records, records.len() as u64)) }
            p.facts {
                @for record in records.iter().take(LINKED) {
                    a href={ "/ui/records/" (record.request_id) } target="_blank" rel="noopener" {
                        (time(record.created_at_ms)) " · " (stage(record.stage))
                    }
                }
                @if more > 0 { span { (a.and_more.replace("{}", &more.to_string())) } }
            }
        }
    }
}
