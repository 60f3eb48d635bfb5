//! `/ui/sign-ins`: where one's own account is signed in, and `/ui/users/{id}/sign-ins`, the same of everybody for
//! administrators of all applications, who also remove a lost second factor there.

use super::own_pages;
use crate::analysis::people::{Account, EndedSignIns, OpenSignIn, SecretHash};
use crate::analysis::ui::accounts::account_id;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{badge, head, time, time_text, token_field};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths::{OWN_SIGN_INS, sign_ins_of};
use crate::analysis::ui::request::{Form, Visit};
use crate::analysis::ui::state::Ui;
use axum::extract::{Path, State};
use axum::response::{Html, Redirect};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use maud::{Markup, html};

/// The sign-ins of an account, as a page shows them.
struct SignInList<'a> {
    visit: &'a Visit,
    account: &'a Account,
    /// The page's path, which its forms begin with.
    path: &'a str,
}

pub(super) async fn own(State(ui): State<Ui>, visit: Visit) -> Result<Html<String>, Failure> {
    let list = SignInList {
        visit: &visit,
        account: &visit.account,
        path: OWN_SIGN_INS,
    };
    let content = list.content(&ui).await?;
    let title = visit.view.s().sign_ins;
    let content = html! { (head(title, html! {}, own_pages::links(&visit))) (content) };
    Ok(layout::page(&visit, Section::Account, title, content))
}

pub(super) async fn end_own(
    State(ui): State<Ui>,
    visit: Visit,
    form: Form,
) -> Result<Redirect, Failure> {
    end(&ui, &visit, &visit.account, &form).await?;
    Ok(Redirect::to(OWN_SIGN_INS))
}

pub(super) async fn of_account(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
) -> Result<Html<String>, Failure> {
    visit.must_administer()?;
    let account = ui.services.people.account(account_id(&id)?).await?;
    let list = SignInList {
        visit: &visit,
        account: &account,
        path: &sign_ins_of(account.id),
    };
    let content = list.content(&ui).await?;
    let title = visit.view.s().sign_ins;
    let content = html! {
        (head(title, html! { p.dim { (account.name) } }, html! {}))
        (content)
        (factor(&visit, &account))
    };
    Ok(layout::page(&visit, Section::Users, title, content))
}

pub(super) async fn end_of_account(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Result<Redirect, Failure> {
    visit.must_administer()?;
    let account = ui.services.people.account(account_id(&id)?).await?;
    end(&ui, &visit, &account, &form).await?;
    Ok(Redirect::to(&sign_ins_of(account.id)))
}

pub(super) async fn remove_factor(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
    _: Form,
) -> Result<Redirect, Failure> {
    visit.must_administer()?;
    let id = account_id(&id)?;
    // One's own goes with the password and a code.
    if id == visit.account.id {
        return Err(Failure::Forbidden);
    }
    let people = &ui.services.people;
    people.remove_second_factor(&visit.caller, id).await?;
    Ok(Redirect::to(&sign_ins_of(id)))
}

/// Ends the sign-in that a form names, or all of the account but the one of this browser.
async fn end(ui: &Ui, visit: &Visit, account: &Account, form: &Form) -> Result<(), Failure> {
    let own = visit.view.browser.as_ref().map(SecretHash::of);
    let ended = match form.value("id") {
        Some(id) => EndedSignIns::One(hash_from(id).ok_or(Failure::NotFound)?),
        None => EndedSignIns::Others(own.filter(|_| account.id == visit.account.id)),
    };
    let people = &ui.services.people;
    Ok(people.end_sign_ins(&visit.caller, account, ended).await?)
}

fn hash_from(text: &str) -> Option<SecretHash> {
    let bytes: [u8; 32] = URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?;
    Some(SecretHash(bytes))
}

/// The second factor of another account, to be removed.
fn factor(visit: &Visit, account: &Account) -> Markup {
    let s = visit.view.s();
    if account.second_factor.is_none() || account.id == visit.account.id {
        return html! {};
    }
    html! {
        section.card.narrow {
            h2 { (s.second_factor) }
            p { (s.remove_hint) }
            form method="post" action={ "/ui/users/" (account.id.0) "/second-factor/remove" } {
                (token_field(&visit.view))
                button.danger type="submit" data-confirm={ (s.remove_question) " " (account.name) } { (s.remove) }
            }
        }
    }
}

impl SignInList<'_> {
    async fn content(&self, ui: &Ui) -> Result<Markup, Failure> {
        let open = ui.services.people.open_sign_ins(self.account.id).await?;
        let s = self.visit.view.s();
        if open.is_empty() {
            return Ok(html! { div.empty { (s.none) } });
        }
        let table = Table {
            name: s.sign_ins,
            look: "",
            columns: [
                Column::Text(s.began),
                Column::Text(s.browser),
                Column::Text(s.address),
                Column::Text(s.last_used),
                Column::Actions(self.visit.view.t.actions),
            ],
        };
        let rows = html! { @for one in &open { (table.row(self.cells(one))) } };
        let is_own = self.account.id == self.visit.account.id;
        Ok(html! {
            div.table { (table.of(rows)) }
            form method="post" action={ (self.path) "/end" } {
                (token_field(&self.visit.view))
                button.danger type="submit" { (if is_own { s.end_others } else { s.end_all }) }
            }
        })
    }

    fn cells(&self, open: &OpenSignIn) -> [Markup; 5] {
        let (view, s, sign_in) = (&self.visit.view, self.visit.view.s(), &open.sign_in);
        let is_this = view.browser.as_ref().map(SecretHash::of) == Some(open.hash);
        let id = URL_SAFE_NO_PAD.encode(open.hash.0);
        let or_unknown = |text: &Option<String>| match text {
            Some(text) => html! { (text) },
            None => html! { span.dim { (s.unknown) } },
        };
        [
            time(sign_in.started_at_ms),
            or_unknown(&sign_in.browser),
            or_unknown(&sign_in.address),
            time(sign_in.seen_at_ms),
            html! {
                @if is_this { (badge("good", s.this_one)) } @else {
                    form.inline method="post" action={ (self.path) "/end" } {
                        (token_field(view))
                        input type="hidden" name="id" value=(id);
                        button.quiet.danger type="submit" { (s.end) span.hidden { " " (time_text(sign_in.started_at_ms)) } }
                    }
                }
            },
        ]
    }
}
