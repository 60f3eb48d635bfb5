//! `/ui/users`: who may sign in, and as what. Only for administrators of all applications.

use crate::analysis::people::accounts::comes_by_provider;
use crate::analysis::people::administration::{AccountEdit, NewAccount};
use crate::analysis::people::{Account, AccountId, Role};
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::application_names::{self, Names};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{
    PageLink, Tone, badge, choice, copy_box, head, maybe_time, notice, pager, refusal, token_field,
};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths::{self, LINK_PATH, sign_ins_of};
use crate::analysis::ui::phrases::Phrases;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use crate::analysis::{ApiError, FieldProblem};
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use monitor_model::{ApplicationId, Secret};
use serde::Deserialize;

const PER_PAGE: u32 = 50;

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/users", get(list).post(create))
        .route("/users/{id}/link", post(new_link))
        .route("/users/{id}/edit", post(edit))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AccountsQuery {
    after: Option<String>,
}

async fn list(
    State(ui): State<Ui>,
    visit: Visit,
    Query(query): Query<AccountsQuery>,
) -> Result<Response, Failure> {
    visit.must_administer()?;
    let page = list_page(&ui, &visit, query.after.as_deref(), html! {}).await?;
    Ok(page.into_response())
}

async fn create(State(ui): State<Ui>, visit: Visit, form: Form) -> Result<Response, Failure> {
    visit.must_administer()?;
    let made = match read_new(&ui, &visit, &form).await {
        Ok(new) => ui.services.people.create_account(&visit.caller, new).await,
        Err(problem) => Err(problem),
    };
    link_page(&ui, &visit, None, made).await
}

async fn new_link(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Failure> {
    visit.must_administer()?;
    let made = ui
        .services
        .people
        .link_for(&visit.caller, account_id(&id)?)
        .await;
    link_page(&ui, &visit, form.value("after"), made).await
}

async fn edit(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Failure> {
    visit.must_administer()?;
    let after = form.value("after");
    let edit = match form.text("action") {
        "disable" => AccountEdit::Disable,
        "enable" => AccountEdit::Enable,
        _ => AccountEdit::Role(Role::from_name(form.text("role")).ok_or(Failure::NotFound)?),
    };
    let (t, id) = (visit.view.t, account_id(&id)?);
    let (status, message) = match ui
        .services
        .people
        .edit_account(&visit.caller, id, edit)
        .await
    {
        Ok(_) => (StatusCode::OK, notice(Tone::Good, t.saved)),
        Err(error) => (status_of(&error), refusal(t, t.not_saved, &error)),
    };
    let page = list_page(&ui, &visit, after, message).await?;
    Ok((status, page).into_response())
}

async fn read_new(ui: &Ui, visit: &Visit, form: &Form) -> Result<NewAccount, ApiError> {
    let role = Role::from_name(form.text("role"));
    let unknown = || FieldProblem::new("role", "is not one of the list");
    let application_id = application_names::of_form(&ui.services, visit, form).await?;
    Ok(NewAccount {
        name: form.text("name").to_owned(),
        role: role.ok_or_else(unknown)?,
        application_id,
    })
}

pub(crate) fn account_id(text: &str) -> Result<AccountId, Failure> {
    text.parse().map(AccountId).map_err(|_| Failure::NotFound)
}

fn status_of(error: &ApiError) -> StatusCode {
    StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The page that shows a new link, this once.
async fn link_page(
    ui: &Ui,
    visit: &Visit,
    after: Option<&str>,
    made: Result<(Account, Secret), ApiError>,
) -> Result<Response, Failure> {
    let t = visit.view.t;
    let (status, message) = match made {
        Ok((account, link)) => {
            let address = format!("{}{}{}", visit.view.origin, LINK_PATH, link.expose());
            (
                StatusCode::OK,
                html! {
                    div.notice.good role="status" {
                        strong { (t.link_made) " " (account.name) }
                        p { (t.link_made_hint) }
                        (copy_box(t, "made-link", &address))
                    }
                },
            )
        }
        Err(error) => (status_of(&error), refusal(t, t.not_saved, &error)),
    };
    let page = list_page(ui, visit, after, message).await?;
    Ok((status, page).into_response())
}

async fn list_page(
    ui: &Ui,
    visit: &Visit,
    after: Option<&str>,
    message: Markup,
) -> Result<Html<String>, Failure> {
    let (accounts, next) = ui.services.people.list_accounts(after, PER_PAGE).await?;
    let bound = accounts.iter().filter_map(|account| account.application_id);
    let names = ui
        .services
        .admin
        .application_names(&visit.caller, bound)
        .await?;
    let t = visit.view.t;
    let next = next.map(|next| PageLink {
        label: t.next_page,
        address: paths::address("/ui/users", &[("after", &next)]),
    });
    Ok(layout::page(
        visit,
        Section::Users,
        t.users,
        html! {
            (head(t.users, html! { p.dim { (t.users_hint) } }, html! {}))
            (message)
            (new_form(visit))
            (AccountList { visit, after, names: &names }.table(&accounts))
            (pager(t, None, next))
        },
    ))
}

fn new_form(visit: &Visit) -> Markup {
    let t = visit.view.t;
    html! {
        details.card {
            summary { (t.add_user) }
            form.row method="post" action="/ui/users" {
                (token_field(&visit.view))
                label { (t.name) input name="name" required maxlength="64" autocapitalize="none" spellcheck="false" autocomplete="off"; }
                label { (t.role) select name="role" { (roles(t, Role::Analyst)) } }
                (application_field::field(Label::Shown(t.only_application), "", visit.view.r().name_or_id))
                button.primary type="submit" { (t.make_link) }
            }
            p.hint { (t.roles_hint) }
        }
    }
}

/// The list of accounts as a page shows it.
struct AccountList<'a> {
    visit: &'a Visit,
    /// The account that the page begins behind; every form of the list sends it along.
    after: Option<&'a str>,
    names: &'a Names,
}

impl AccountList<'_> {
    fn table(&self, accounts: &[Account]) -> Markup {
        let t = self.visit.view.t;
        let table = Table {
            name: t.users,
            look: "",
            columns: [
                Column::Text(t.name),
                Column::Text(t.role),
                Column::Text(t.state),
                Column::Text(t.last_sign_in),
                Column::Text(t.created),
                Column::Actions(t.actions),
            ],
        };
        let rows = html! { @for account in accounts { (table.row(self.cells(account))) } };
        html! { div.table { (table.of(rows)) } }
    }

    fn cells(&self, account: &Account) -> [Markup; 6] {
        let t = self.visit.view.t;
        [
            html! { (account.name) @if let Some(id) = account.application_id { (bound(id, self.names)) } },
            html! {
                form.inline method="post" action={ "/ui/users/" (account.id.0) "/edit" } {
                    (self.hidden_fields())
                    select name="role" aria-label={ (t.role) " " (account.name) } { (roles(t, account.role)) }
                    button.quiet type="submit" { (t.save) span.hidden { " " (t.role) " " (account.name) } }
                }
            },
            html! {
                (state(t, account))
                @if account.second_factor.is_some() { " " (badge("good", self.visit.view.s().second_factor)) }
            },
            html! {
                a.plain href=(sign_ins_of(account.id)) {
                    (maybe_time(account.signed_in_at_ms)) span.hidden { " " (self.visit.view.s().sign_ins) " " (account.name) }
                }
            },
            maybe_time(Some(account.created_at_ms)),
            self.actions(account),
        ]
    }

    fn hidden_fields(&self) -> Markup {
        html! {
            (token_field(&self.visit.view))
            @if let Some(after) = self.after { input type="hidden" name="after" value=(after); }
        }
    }

    fn actions(&self, account: &Account) -> Markup {
        let t = self.visit.view.t;
        let address = format!("/ui/users/{}", account.id.0);
        let is_own = account.id == self.visit.account.id;
        // A screen reader needs to tell ten buttons of one name apart.
        let named = html! { span.hidden { " " (account.name) } };
        html! {
            form.inline method="post" action={ (address) "/link" } {
                (self.hidden_fields())
                button.quiet type="submit" disabled[account.disabled_at_ms.is_some()] { (t.new_link) (named) }
            }
            form.inline method="post" action={ (address) "/edit" } {
                (self.hidden_fields())
                @if account.disabled_at_ms.is_some() {
                    button.quiet type="submit" name="action" value="enable" { (t.enable) (named) }
                } @else {
                    button.quiet.danger type="submit" name="action" value="disable" disabled[is_own]
                        data-confirm={ (t.disable_question) " " (account.name) } { (t.disable) (named) }
                }
            }
        }
    }
}

fn bound(id: ApplicationId, names: &Names) -> Markup {
    let name = names.get(&id).cloned();
    html! {
        div.small { a.plain.cut href={ "/ui/applications/" (id) } title=(id) { (name.unwrap_or_else(|| id.to_string())) } }
    }
}

fn state(t: &Phrases, account: &Account) -> Markup {
    match (account.disabled_at_ms, &account.password) {
        (Some(_), _) => badge("bad", t.disabled),
        (None, None) if !comes_by_provider(account) => badge("warn", t.invited),
        (None, _) => badge("good", t.active),
    }
}

fn roles(t: &Phrases, chosen: Role) -> Markup {
    html! { @for role in Role::ALL { (choice(role.as_str(), t.role_name(role), chosen.as_str())) } }
}
