//! `/ui/alerts`: what fired and who was told, the rules and the channels. For those who administer the whole server.

mod channels;
mod fired;
mod rules;

use crate::analysis::ApiError;
use crate::analysis::ui::application_names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{Tone, head, notice, refusal};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

const PAGE: &str = "/ui/alerts";
const SAVED: &str = "/ui/alerts?saved=1";
const DAY_MS: i64 = 86_400_000;

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/alerts", get(page))
        .route("/alerts/rules", post(put_rule))
        .route("/alerts/rules/{id}/remove", post(remove_rule))
        .route("/alerts/channels", post(put_channel))
        .route("/alerts/channels/{id}/remove", post(remove_channel))
        .route("/alerts/channels/{id}/test", post(test_channel))
        .route("/alerts/deliveries/{id}/retry", post(retry))
        .route("/alerts/{id}/resolve", post(resolve))
        .route("/alerts/{id}/mute", post(mute))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AlertsQuery {
    /// The rule in the form.
    rule: String,
    /// The channel in the form.
    channel: String,
    before: String,
    saved: Option<String>,
}

/// What the forms of the page hold beside what is stored.
#[derive(Default)]
struct Filled {
    before: Option<(i64, Uuid)>,
    /// As they were typed, and refused.
    rule: Option<Form>,
    channel: Option<Form>,
    /// What is changed.
    rule_id: Option<Uuid>,
    channel_id: Option<Uuid>,
}

async fn page(
    State(ui): State<Ui>,
    visit: Visit,
    Query(query): Query<AlertsQuery>,
) -> Result<Response, Failure> {
    visit.must_administer()?;
    let filled = Filled {
        before: fired::read_position(&query.before),
        rule_id: query.rule.parse().ok(),
        channel_id: query.channel.parse().ok(),
        ..Filled::default()
    };
    let message = match query.saved {
        Some(_) => notice(Tone::Good, visit.view.t.saved),
        None => html! {},
    };
    let page = content(&ui, &visit, filled, message).await?;
    Ok(page.into_response())
}

async fn content(
    ui: &Ui,
    visit: &Visit,
    filled: Filled,
    message: Markup,
) -> Result<axum::response::Html<String>, Failure> {
    let alerts = &ui.services.alerts;
    let rules = alerts.rules(&visit.caller).await?;
    let channels = alerts.channels(&visit.caller).await?;
    let applications = rules.iter().filter_map(|known| known.rule.application_id);
    let names = ui
        .services
        .admin
        .application_names(&visit.caller, applications)
        .await?;
    let fired = fired::Fired::read(ui, visit, filled.before).await?;
    let a = visit.view.alerts();
    let content = html! {
        (head(a.alerts, html! { p.dim { (a.alerts_hint) } }, html! {}))
        (message)
        (fired.markup(visit))
        (rules::section(visit, &rules, &channels, &names))
        (rules::form(visit, &rules, &channels, &filled))
        (channels::section(visit, &channels))
        (channels::form(visit, &channels, &filled))
    };
    Ok(layout::page(visit, Section::Alerts, a.alerts, content))
}

/// The page after a change: anew, or as it was with what is wrong.
async fn answered(
    ui: &Ui,
    visit: &Visit,
    outcome: Result<(), ApiError>,
    filled: Filled,
) -> Result<Response, Failure> {
    let error = match outcome {
        Ok(()) => return Ok(Redirect::to(SAVED).into_response()),
        Err(error @ ApiError::Fields(_)) => error,
        Err(other) => return Err(other.into()),
    };
    let t = visit.view.t;
    let message = refusal(t, t.not_saved, &error);
    let page = content(ui, visit, filled, message).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
}

async fn put_rule(State(ui): State<Ui>, visit: Visit, form: Form) -> Result<Response, Failure> {
    visit.must_administer()?;
    let id = edited(&form)?;
    let application = application_names::of_form(&ui.services, &visit, &form).await;
    let outcome = match application {
        Ok(application) => {
            let rule = rules::read(&form, application);
            let put = ui.services.alerts.put_rule(&visit.caller, id, rule);
            put.await.map(drop)
        }
        Err(problem) => Err(problem),
    };
    let filled = Filled {
        rule: Some(form),
        rule_id: id,
        ..Filled::default()
    };
    answered(&ui, &visit, outcome, filled).await
}

async fn put_channel(State(ui): State<Ui>, visit: Visit, form: Form) -> Result<Response, Failure> {
    visit.must_administer()?;
    let id = edited(&form)?;
    let outcome = match channels::read(&form) {
        Ok(edit) => {
            let put = ui.services.alerts.put_channel(&visit.caller, id, edit);
            put.await.map(drop)
        }
        Err(problem) => Err(problem.into()),
    };
    let filled = Filled {
        channel: Some(form),
        channel_id: id,
        ..Filled::default()
    };
    answered(&ui, &visit, outcome, filled).await
}

/// What a form changes; None of one that adds something.
fn edited(form: &Form) -> Result<Option<Uuid>, Failure> {
    match form.text("id") {
        "" => Ok(None),
        id => identifier(id).map(Some),
    }
}

fn identifier(text: &str) -> Result<Uuid, Failure> {
    text.parse().map_err(|_| Failure::NotFound)
}

async fn remove_rule(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
    _: Form,
) -> Result<Redirect, Failure> {
    visit.must_administer()?;
    let alerts = &ui.services.alerts;
    alerts.remove_rule(&visit.caller, identifier(&id)?).await?;
    Ok(Redirect::to(SAVED))
}

async fn remove_channel(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
    _: Form,
) -> Result<Redirect, Failure> {
    visit.must_administer()?;
    let alerts = &ui.services.alerts;
    alerts
        .remove_channel(&visit.caller, identifier(&id)?)
        .await?;
    Ok(Redirect::to(SAVED))
}

async fn test_channel(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
    _: Form,
) -> Result<Response, Failure> {
    visit.must_administer()?;
    let id = identifier(&id)?;
    let sent = ui.services.alerts.test_channel(&visit.caller, id).await?;
    let channels = ui.services.alerts.channels(&visit.caller).await?;
    let name = channels.into_iter().find(|known| known.id == id);
    let name = name.map(|known| known.channel.name).unwrap_or_default();
    let a = visit.view.alerts();
    let message = match sent {
        Ok(()) => notice(Tone::Good, &format!("{} {name}", a.test_sent)),
        Err(reason) => notice(
            Tone::Bad,
            &format!("{} {}", a.test_failed, visit.view.t.tell(&reason)),
        ),
    };
    let page = content(&ui, &visit, Filled::default(), message).await?;
    Ok(page.into_response())
}

async fn retry(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
    _: Form,
) -> Result<Redirect, Failure> {
    visit.must_administer()?;
    let alerts = &ui.services.alerts;
    alerts.retry(&visit.caller, identifier(&id)?).await?;
    Ok(Redirect::to(SAVED))
}

async fn resolve(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
    _: Form,
) -> Result<Redirect, Failure> {
    visit.must_administer()?;
    let alerts = &ui.services.alerts;
    alerts.close(&visit.caller, identifier(&id)?).await?;
    Ok(Redirect::to(SAVED))
}

async fn mute(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Result<Redirect, Failure> {
    visit.must_administer()?;
    let span = match form.text("until") {
        "now" => 0,
        _ => DAY_MS,
    };
    let alerts = &ui.services.alerts;
    alerts.mute(&visit.caller, identifier(&id)?, span).await?;
    Ok(Redirect::to(SAVED))
}
