//! `/ui/link/{value}`: a one-time link, by which the owner of an account sets its password and signs
//! in. Opening the page does not use the link up; sending the form does.

use super::browser_session::{fresh_browser, with_cookie};
use super::code::enter_or_ask;
use super::password::fields;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout;
use crate::analysis::ui::layout::components::{refusal, token_field};
use crate::analysis::ui::request::{PublicForm, View};
use crate::analysis::ui::state::Ui;
use crate::analysis::{ApiError, FieldProblem};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::html;
use monitor_model::Secret;

pub(super) async fn page(
    State(ui): State<Ui>,
    mut view: View,
    Path(value): Path<String>,
) -> Result<Response, Failure> {
    let Some(owner) = ui.services.people.link_owner(&Secret::new(&*value)).await? else {
        return Ok((StatusCode::NOT_FOUND, used_up(&view)).into_response());
    };
    let cookie = fresh_browser(&mut view)?;
    let page = form(&view, &owner.name, None).into_response();
    Ok(with_cookie(page, cookie))
}

pub(super) async fn accept(
    State(ui): State<Ui>,
    view: View,
    Path(value): Path<String>,
    PublicForm(posted): PublicForm,
) -> Result<Response, Failure> {
    let link = Secret::new(&*value);
    let Some(owner) = ui.services.people.link_owner(&link).await? else {
        return Ok((StatusCode::NOT_FOUND, used_up(&view)).into_response());
    };
    let refused = |error: &ApiError| {
        let page = form(&view, &owner.name, Some(error));
        (StatusCode::UNPROCESSABLE_ENTITY, page).into_response()
    };
    if posted.text("password") != posted.text("again") {
        let problem = FieldProblem::new("again", view.t.passwords_differ);
        return Ok(refused(&problem.into()));
    }
    match ui
        .services
        .people
        .use_link(&link, posted.secret("password"))
        .await
    {
        Ok(Some(account)) => enter_or_ask(&ui, &view, &account, "/ui").await,
        Ok(None) => Ok((StatusCode::NOT_FOUND, used_up(&view)).into_response()),
        Err(error @ ApiError::Fields(_)) => Ok(refused(&error)),
        Err(error) => Err(error.into()),
    }
}

fn form(view: &View, name: &str, problem: Option<&ApiError>) -> Html<String> {
    let t = view.t;
    layout::signed_out_page(
        view,
        t.set_password,
        html! {
            @if let Some(error) = problem { (refusal(t, t.not_saved, error)) }
            p { (t.set_password_for) " " strong { (name) } }
            form.stack method="post" {
                (token_field(view))
                input type="hidden" name="name" value=(name) autocomplete="username";
                (fields(t))
                button.primary type="submit" { (t.set_and_enter) }
            }
        },
    )
}

fn used_up(view: &View) -> Html<String> {
    let t = view.t;
    layout::signed_out_page(
        view,
        t.link_over,
        html! {
            p { (t.link_over_hint) }
            p { a.button href="/ui/sign-in" { (t.sign_in) } }
        },
    )
}
