//! Creating and editing an application. A save names the version it is based on; where somebody else
//! saved first, the page shows both versions and loses neither.

use super::controls::FormControls;
use super::current::{CurrentApplication, Editable};
use super::problems::refusal;
use super::{budgets, differences, document, fields, sections, summary, trial};
use crate::analysis::Services;
use crate::analysis::access::Scope;
use crate::analysis::admin::Application;
use crate::analysis::admin::applications::Basis;
use crate::analysis::admin::draft::policy_problems;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{
    self, Tone, head, notice, problems, time, token_field,
};
use crate::analysis::ui::layout::{self, Section, error_page};
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::kept;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use crate::analysis::{ApiError, FieldProblem};
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use monitor_model::Stage;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct EditQuery {
    saved: Option<String>,
}

pub(super) async fn blank(
    State(services): State<Arc<Services>>,
    visit: Visit,
) -> Result<Html<String>, Failure> {
    visit.must(Scope::Admin)?;
    let form = fields::of(&fields::new_application()).with("phrase", visit.view.o().usual_phrase);
    let edited = Edited::new(&services);
    Ok(editor_page(&visit, edited, &form, html! {}))
}

pub(super) async fn create(State(ui): State<Ui>, request: Request) -> Result<Response, Failure> {
    let (visit, form) = kept::read::<Visit>(request, &ui).await?;
    visit.must(Scope::Admin)?;
    let edit = document::edit(&form, None);
    match ui
        .services
        .admin
        .create_application(&visit.caller, None, edit)
        .await
    {
        Ok(made) => {
            visit.forget_form();
            Ok(Redirect::to(&format!("/ui/applications/{}?saved", made.id)).into_response())
        }
        Err(error) => not_saved(&visit, Edited::new(&ui.services), &form, error),
    }
}

pub(super) async fn page(
    current: CurrentApplication,
    Query(query): Query<EditQuery>,
) -> Html<String> {
    let CurrentApplication { visit, stored, .. } = &current;
    let t = visit.view.t;
    let message = match (&stored.policy, query.saved) {
        (Some(Err(wrong)), _) => problems(t, t.unreadable_policy, &policy_problems(wrong)),
        (_, Some(_)) => saved(&current),
        _ => html! {},
    };
    let form = fields::of(stored);
    let used = budgets::spent::card(&current).await;
    let above = html! { (message) (used) };
    editor_page(visit, Edited::of(&current), &form, above)
}

fn saved(current: &CurrentApplication) -> Markup {
    let view = &current.visit.view;
    html! {
        div.notice.good role="status" {
            (view.t.saved_live) " "
            a href={ "/ui/first-steps?application_id=" (current.stored.id) } { (view.a().next_send) }
        }
    }
}

/// The form again that was sent after its session had ended. Nothing of it is saved until it is sent again.
pub(super) async fn kept(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    let t = visit.view.t;
    let sent = id.parse().ok().and_then(|id| visit.kept_form(id));
    let Some(sent) = sent else {
        let page = error_page(&visit.view, t.form_is_over, t.form_is_over_hint);
        return Ok((StatusCode::NOT_FOUND, page).into_response());
    };
    let form = Form::from_pairs(sent.fields);
    let message = notice(Tone::Bad, t.form_is_back);
    let id = sent.path.strip_prefix("/ui/applications/");
    let id = id.map(|id| id.trim_end_matches("preset").trim_end_matches('/'));
    let Some(id) = id.filter(|id| !id.is_empty()) else {
        return Ok(editor_page(&visit, Edited::new(&ui.services), &form, message).into_response());
    };
    let current = CurrentApplication::find(visit, id, &ui).await?;
    let page = editor_page(&current.visit, Edited::of(&current), &form, message);
    Ok(page.into_response())
}

pub(super) async fn save(State(ui): State<Ui>, request: Request) -> Result<Response, Failure> {
    let (Editable(current), form) = kept::read::<Editable>(request, &ui).await?;
    let CurrentApplication {
        services,
        visit,
        stored,
    } = &current;
    let version = form.text("version").parse().unwrap_or_default();
    let edit = document::edit(&form, Some(stored));
    let basis = Basis {
        id: stored.id,
        version,
    };
    match services
        .admin
        .change_application(&visit.caller, basis, edit)
        .await
    {
        Ok(_) => {
            visit.forget_form();
            Ok(Redirect::to(&format!("{}?saved", current.address())).into_response())
        }
        Err(ApiError::VersionConflict(_)) => conflict(&current, version, form).await,
        Err(error) => not_saved(visit, Edited::of(&current), &form, error),
    }
}

/// The form with fields that nobody has saved yet.
pub(super) fn prefilled(
    current: &CurrentApplication,
    form: &Form,
    message: Markup,
) -> Html<String> {
    editor_page(&current.visit, Edited::of(current), form, message)
}

/// The form again as it was sent, with the reason why it was not saved.
fn not_saved(
    visit: &Visit,
    edited: Edited<'_>,
    form: &Form,
    error: ApiError,
) -> Result<Response, Failure> {
    let refused = match Failure::from(error) {
        Failure::Refused(error) => error,
        other => return Err(other),
    };
    let message = refusal(&visit.view, visit.view.t.not_saved, &refused, form);
    let page = editor_page(visit, edited, form, message);
    let status = StatusCode::from_u16(refused.status());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, page).into_response();
    if let Some(seconds) = refused.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    Ok(response)
}

pub(super) async fn remove(Editable(current): Editable, form: Form) -> Result<Response, Failure> {
    let CurrentApplication {
        services,
        visit,
        stored,
    } = &current;
    let t = visit.view.t;
    if form.text("confirmation").trim() != stored.name {
        let problem = FieldProblem::new("confirmation", t.remove_wrong_name);
        let message = components::refusal(t, t.not_removed, &problem.into());
        let page = editor_page(visit, Edited::of(&current), &fields::of(stored), message);
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
    }
    let basis = Basis {
        id: stored.id,
        version: stored.version,
    };
    services
        .admin
        .remove_application(&visit.caller, basis)
        .await?;
    Ok(Redirect::to("/ui/applications").into_response())
}

/// Shows what others saved meanwhile beside what was about to be saved. Saving again overwrites their
/// version, this time on purpose.
async fn conflict(
    current: &CurrentApplication,
    version: i64,
    form: Form,
) -> Result<Response, Failure> {
    let CurrentApplication {
        services,
        visit,
        stored,
    } = current;
    let t = visit.view.t;
    let base = services
        .admin
        .find_version(&visit.caller, stored.id, version)
        .await;
    let mut base = base.map_or(Value::Null, |base| differences::content_of(&base));
    let mut theirs = differences::content(stored);
    let mut own = json!({
        "name": form.text("name").trim(), "description": form.text("description").trim(),
        "rules": document::rules(&form, stored.rules.clone()), "policy": document::policy(&form, Some(stored)),
    });
    if services.admin.is_in_file(stored.id) {
        // The policy in force has no versions, and the stored one is not in force.
        for content in [&mut base, &mut theirs, &mut own] {
            content
                .as_object_mut()
                .map(|content| content.remove("policy"));
        }
    }
    let message = html! {
        div.notice.bad role="alert" {
            strong { (t.conflict) } " " (t.conflict_hint)
            h3 { (t.their_changes) }
            (differences::table(&visit.view, &differences::between(&base, &theirs), (t.before, t.theirs)))
            h3 { (t.own_changes) }
            (differences::table(&visit.view, &differences::between(&theirs, &own), (t.theirs, t.yours)))
            p { a.button href=(current.address()) { (t.take_theirs) } }
        }
    };
    let form = form.with("version", &stored.version.to_string());
    let page = editor_page(visit, Edited::of(current), &form, message);
    Ok((StatusCode::CONFLICT, page).into_response())
}

/// The application that an editor is for.
#[derive(Clone, Copy)]
pub(super) struct Edited<'a> {
    /// None for a new one.
    stored: Option<&'a Application>,
    /// The configuration file has its policy, which cannot be changed here.
    policy_is_in_file: bool,
    /// No judge is configured for its custom policies.
    lacks_judge: bool,
}

impl<'a> Edited<'a> {
    pub(super) fn new(services: &Services) -> Self {
        Self {
            stored: None,
            policy_is_in_file: false,
            lacks_judge: services.ingest.remote().model_judge().is_none(),
        }
    }

    pub(super) fn of(current: &'a CurrentApplication) -> Self {
        let stored = &current.stored;
        Self {
            stored: Some(stored),
            policy_is_in_file: current.services.admin.is_in_file(stored.id),
            ..Self::new(&current.services)
        }
    }
}

/// The page of an application with this form.
pub(super) fn editor_page(
    visit: &Visit,
    edited: Edited<'_>,
    form: &Form,
    message: Markup,
) -> Html<String> {
    let stored = edited.stored;
    let t = visit.view.t;
    let title = stored.map_or(t.new_application, |stored| stored.name.as_str());
    let may_change = visit.may(Scope::Admin);
    let address = stored.map_or("/ui/applications".to_owned(), |stored| {
        format!("/ui/applications/{}", stored.id)
    });
    let controls = FormControls {
        form,
        may_change,
        preset_at: &visit.kept_at(&format!("{address}/preset")),
    };
    layout::page(
        visit,
        Section::Applications,
        title,
        html! {
            (head(title, stored.map_or(html! {}, |stored| subtitle(visit, stored)), html! {
                @if let Some(stored) = stored { (links(visit, stored)) }
            }))
            (message)
            (summary::card(&visit.view, form))
            (editor_form(visit, edited, controls, &address))
            @if let Some(stored) = stored { @if visit.may(Scope::Admin) && visit.account.application_id.is_none() && !edited.policy_is_in_file { (removal(visit, stored)) } }
        },
    )
}

fn editor_form(
    visit: &Visit,
    edited: Edited<'_>,
    controls: FormControls<'_>,
    address: &str,
) -> Markup {
    let t = visit.view.t;
    html! {
        form.editor #application method="post" action=(visit.kept_at(address)) data-guard=(t.unsaved) {
            (token_field(&visit.view))
            input type="hidden" name="version" value=(controls.form.text("version"));
            // The button that the Enter key presses is the first one.
            @if controls.may_change { button.hidden type="submit" tabindex="-1" aria-hidden="true" { (t.save) } }
            div.columns-editor {
            (settings(&visit.view, edited, controls))
            @if controls.may_change { (trial::panel(visit, edited.stored, address)) }
            }
            @if controls.may_change { div.savebar {
                button.primary type="submit" { (t.save) }
                @if edited.stored.is_some() { a.button.quiet href=(address) { (t.discard) } }
            } }
        }
    }
}

/// Links to the pages that belong to an application.
fn links(visit: &Visit, stored: &Application) -> Markup {
    html! {
        @if visit.may(Scope::Admin) { a.button href={ "/ui/tokens?application_id=" (stored.id) } { (visit.view.k().tokens) } }
        a.button href={ "/ui/first-steps?application_id=" (stored.id) } { (visit.view.o().first_steps) }
        a.button href={ "/ui/applications/" (stored.id) "/versions" } { (visit.view.t.versions) " (" (stored.version) ")" }
    }
}

fn settings(view: &View, edited: Edited<'_>, controls: FormControls<'_>) -> Markup {
    let t = view.t;
    // A form that was sent has no fields that were disabled.
    let in_force = edited
        .stored
        .filter(|_| edited.policy_is_in_file)
        .map(fields::of);
    html! {
        fieldset.bare disabled[!controls.may_change] {
            legend.hidden { (t.settings) }
            (sections::general(t, controls))
            @match &in_force {
                Some(form) => {
                    p.card { (t.policy_in_file) }
                    fieldset.bare disabled { (sections::policy(view, FormControls { form, ..controls })) }
                }
                None => (sections::policy(view, controls)),
            }
            (sections::direction(view, controls, Stage::PreCall, edited.lacks_judge))
            (sections::direction(view, controls, Stage::PostCall, edited.lacks_judge))
            (sections::keeping(t, controls))
        }
    }
}

fn subtitle(visit: &Visit, stored: &Application) -> Markup {
    let t = visit.view.t;
    html! {
        p.dim {
            code #application-id { (stored.id) } " "
            button.quiet.scripted type="button" data-copy="#application-id" { (t.copy) }
            " · " (t.changed) " " (time(stored.updated_at_ms))
        }
    }
}

fn removal(visit: &Visit, stored: &Application) -> Markup {
    let t = visit.view.t;
    html! {
        details.card.danger {
            summary { (t.remove_application) }
            p { (t.remove_hint) }
            form.row method="post" action={ "/ui/applications/" (stored.id) "/remove" } {
                (token_field(&visit.view))
                label { (t.remove_type_name) input name="confirmation" required autocomplete="off" placeholder=(stored.name); }
                button.danger type="submit" { (t.remove_application) }
            }
        }
    }
}
