//! `/ui/first-steps`: the way to a first blocked request, in two presses or with snippets to copy. The page can create
//! an access key, which it fills into the snippets once. The first record appears while the page is open,
//! by the live stream of the list.

mod blocking;
mod gateway_address;
mod sending;
mod snippets;

use crate::analysis::access::{Scope, Scopes};
use crate::analysis::admin::{Application, ApplicationFilter};
use crate::analysis::records::{RecordFilter, RecordPage};
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::application_names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{Tone, copy_box, head, notice, refusal, token_field};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths::address;
use crate::analysis::ui::records::rows;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::list_query::ListQuery;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use crate::analysis::{ApiError, Expiry, NewToken, Services};
use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use monitor_model::{ApplicationId, Secret};
use sending::Sent;
use serde::Deserialize;
use snippets::Snippets;
use std::sync::Arc;

/// Records that are shown.
const RECORDS: u32 = 5;
/// Applications that are read: a second one makes a choice.
const READ: u32 = 2;
/// The placeholder of the access key in the snippets.
const NO_KEY: &str = "YOUR_ACCESS_KEY";

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/first-steps", get(page).post(make_key))
        .route("/first-steps/block", post(blocking::block))
        .route("/first-steps/send", post(send))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FirstStepsQuery {
    application_id: String,
}

/// The data of the page.
struct FirstSteps {
    /// The application that the page is about; None where there is none yet.
    application: Option<Application>,
    /// Whether there are other applications to choose from.
    has_others: bool,
    /// Its latest records; None for those who may not read them.
    records: Option<RecordPage>,
}

/// What a press on the page gave.
#[derive(Clone, Copy, Default)]
struct StepResults<'a> {
    /// A new key, shown once.
    key: Option<&'a Secret>,
    /// The request that was sent from here.
    sent: Option<&'a Sent>,
}

async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Query(query): Query<FirstStepsQuery>,
) -> Result<Response, Failure> {
    visit.must_see_applications()?;
    let named = query.application_id.trim();
    match first_steps(&services, &visit, named).await {
        Ok(data) => {
            let steps = steps(&services, &visit, &data, StepResults::default()).await?;
            Ok(page_with(&visit, data.has_others, named, steps).into_response())
        }
        Err(error @ ApiError::Fields(_)) => {
            let message = refusal(visit.view.t, visit.view.t.refused, &error);
            let page = page_with(&visit, true, named, message);
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
        Err(other) => Err(other.into()),
    }
}

async fn make_key(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Html<String>, Failure> {
    visit.must(Scope::Admin)?;
    let named = form.text("application_id");
    let data = first_steps(&services, &visit, named).await?;
    let application = data.application.as_ref().ok_or(Failure::NotFound)?;
    let new = NewToken {
        name: format!("first steps of {}", visit.account.name),
        scopes: Scopes::of(&[Scope::Ingest]),
        application_id: Some(application.id),
        expiry: Expiry::Never,
    };
    let made = services.admin.create_token(&visit.caller, new).await?;
    let results = StepResults {
        key: Some(&made.value),
        ..StepResults::default()
    };
    let steps = steps(&services, &visit, &data, results).await?;
    Ok(page_with(&visit, data.has_others, named, steps))
}

async fn send(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Html<String>, Failure> {
    visit.must(Scope::Admin)?;
    let id = form.text("application_id").parse::<ApplicationId>();
    let id = id.map_err(|_| Failure::NotFound)?;
    let application = services.admin.find_application(&visit.caller, id).await?;
    if !sending::is_offered(&services, &visit, &application) {
        return Err(Failure::NotFound);
    }
    let sent = sending::send(&services, &visit, id).await?;
    let named = id.to_string();
    let data = first_steps(&services, &visit, &named).await?;
    let results = StepResults {
        sent: Some(&sent),
        ..StepResults::default()
    };
    let steps = steps(&services, &visit, &data, results).await?;
    Ok(page_with(&visit, data.has_others, &named, steps))
}

/// The data of the application that is named, or of the first one.
async fn first_steps(
    services: &Services,
    visit: &Visit,
    named: &str,
) -> Result<FirstSteps, ApiError> {
    let caller = &visit.caller;
    let filter = ApplicationFilter {
        limit: READ,
        ..ApplicationFilter::default()
    };
    let first = services
        .admin
        .list_applications(caller, filter)
        .await?
        .applications;
    let has_others = first.len() > 1;
    let application = match named {
        "" => first.into_iter().next(),
        named => {
            let id = application_names::resolve(services, caller, named, visit.view.r()).await?;
            Some(services.admin.find_application(caller, id).await?)
        }
    };
    let records = match &application {
        Some(application) if visit.may_read() => {
            let filter = RecordFilter {
                application_id: Some(application.id),
                limit: RECORDS,
                ..RecordFilter::default()
            };
            Some(services.records.page(caller, filter).await?)
        }
        _ => None,
    };
    Ok(FirstSteps {
        application,
        has_others,
        records,
    })
}

fn page_with(visit: &Visit, has_others: bool, named: &str, below: Markup) -> Html<String> {
    let (view, o) = (&visit.view, visit.view.o());
    let chooser = html! { @if has_others { (chooser(view, named)) } };
    let content = html! {
        (head(o.first_steps, html! { p.dim { (o.first_steps_hint) } }, chooser))
        (below)
    };
    layout::page(visit, Section::FirstSteps, o.first_steps, content)
}

async fn steps(
    services: &Services,
    visit: &Visit,
    data: &FirstSteps,
    results: StepResults<'_>,
) -> Result<Markup, Failure> {
    let (view, o) = (&visit.view, visit.view.o());
    let Some(application) = &data.application else {
        return Ok(html! { div.empty { (o.no_application) } });
    };
    let (snippets, is_known) = snippets(services, view, application, results.key);
    let live = live(services, visit, data, application.id).await?;
    let records = data.records.as_ref();
    let has_records = records.is_some_and(|page| !page.records.is_empty());
    let sending = html! {
        @if sending::is_offered(services, visit, application) { (sending::part(visit, application.id, results.sent)) }
    };
    let is_sent = has_records || results.sent.is_some();
    let step = |name: &str, is_done: bool, content: Markup| {
        html! { li.card.done[is_done] { h2 { (name) @if is_done { span.hidden { " (" (o.step_is_done) ")" } } } (content) } }
    };
    let blocking = blocking::step(services, visit, application);
    let key = key_step(visit, application.id, results.key);
    let snippets = send_step(view, &snippets, is_known);
    Ok(html! {
        ol.steps {
            (step(o.step_block, blocking::is_done(application), blocking))
            (step(o.step_key, is_sent || results.key.is_some(), key))
            (step(o.step_send, is_sent, html! { (sending) (snippets) }))
            (step(o.step_see, has_records, live))
        }
    })
}

/// What the snippets are filled with, and whether the gateway's address is known.
fn snippets(
    services: &Services,
    view: &View,
    application: &Application,
    key: Option<&Secret>,
) -> (Snippets, bool) {
    let (gateway, is_known) = gateway_address::find(services, view);
    let beside = services.ingest.gateways.local();
    let is_demo = beside.is_some_and(|gateway| gateway.demo);
    let snippets = Snippets {
        gateway,
        key: key.map_or(NO_KEY, |key| key.expose()).to_owned(),
        application: application.id.to_string(),
        model: if is_demo { "demo-small" } else { "YOUR_MODEL" },
        is_demo,
    };
    (snippets, is_known)
}

/// The form that chooses another application.
fn chooser(view: &View, named: &str) -> Markup {
    let r = view.r();
    html! {
        form.inline.pick method="get" action="/ui/first-steps" {
            (application_field::field(Label::Spoken(r.application), named, r.name_or_id))
            button type="submit" { (view.o().choose) }
        }
    }
}

fn key_step(visit: &Visit, id: ApplicationId, key: Option<&Secret>) -> Markup {
    let (view, t, o) = (&visit.view, visit.view.t, visit.view.o());
    html! {
        p.hint { (o.step_key_hint) }
        @if let Some(key) = key {
            div.notice.good role="status" {
                p { (o.made_key) }
                (copy_box(t, "made-key", key.expose()))
            }
        } @else if visit.may(Scope::Admin) {
            form method="post" action="/ui/first-steps" {
                (token_field(view))
                input type="hidden" name="application_id" value=(id);
                button.primary type="submit" { (o.make_key) }
            }
        } @else {
            p { (o.ask_for_key) }
        }
    }
}

fn send_step(view: &View, snippets: &Snippets, is_known: bool) -> Markup {
    let (t, o) = (view.t, view.o());
    html! {
        p.hint { (o.step_send_hint) }
        p { (o.gateway_address) ": " code { (snippets.gateway) } }
        @if !is_known { (notice(Tone::Bad, o.address_guessed)) }
        p.hint { @if snippets.is_demo { (o.demo_hint) } @else { (o.model_key_hint) } }
        // Of details with one name, a browser opens one at a time.
        @for (id, name, text) in snippets.all() {
            details.snippet name="snippets" open[id == "snippet-curl"] {
                summary { (name) }
                button.quiet type="button" data-copy={ "#" (id) } aria-label={ (t.copy) " " (name) } { (t.copy) }
                pre.text id=(id) tabindex="0" { (text) }
            }
        }
    }
}

/// The latest records, and those that come while the page is open.
async fn live(
    services: &Services,
    visit: &Visit,
    data: &FirstSteps,
    id: ApplicationId,
) -> Result<Markup, ApiError> {
    let (view, r, o) = (&visit.view, visit.view.r(), visit.view.o());
    let Some(page) = &data.records else {
        return Ok(html! { p { (o.not_yours_to_read) } });
    };
    let names = services
        .admin
        .application_names(&visit.caller, std::iter::once(id))
        .await?;
    let filter = RecordFilter {
        application_id: Some(id),
        ..RecordFilter::default()
    };
    let records = &services.records;
    let shown = records.rows(&visit.caller, &filter, &page.records).await?;
    let shown = rows::rows(view, &shown, &names, &ListQuery::default());
    let id = id.to_string();
    let tail = address("/ui/records/live", &[("application_id", &id)]);
    let is_empty = page.records.is_empty();
    Ok(html! {
        div.bar { (rows::live_switch(view, &tail, &page.records)) a href=(address("/ui/records", &[("application_id", &id)])) { (r.records) } }
        div.arrivals aria-live="polite" {
            div.empty #nothing hidden[!is_empty] { (o.waiting_for_first) }
            div.table #records hidden[is_empty] tabindex="0" role="region" aria-label=(o.has_arrived) {
                (rows::columns(view).of(shown))
            }
        }
    })
}
