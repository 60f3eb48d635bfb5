//! The form again with the thresholds of a preset. Nothing is saved.

use crate::analysis::access::Scope;
use crate::analysis::ui::applications::current::{CurrentApplication, Editable};
use crate::analysis::ui::applications::edit::{Edited, editor_page};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{Tone, notice};
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::kept;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use axum::extract::{Request, State};
use axum::response::Html;
use maud::Markup;

/// For an application that is not made yet.
pub(in crate::analysis::ui::applications) async fn of_new(
    State(ui): State<Ui>,
    request: Request,
) -> Result<Html<String>, Failure> {
    let (visit, form) = kept::read::<Visit>(request, &ui).await?;
    visit.must(Scope::Admin)?;
    let form = filled(form)?;
    let edited = Edited::new(&ui.services);
    Ok(editor_page(&visit, edited, &form, told(&visit.view)))
}

pub(in crate::analysis::ui::applications) async fn of_stored(
    State(ui): State<Ui>,
    request: Request,
) -> Result<Html<String>, Failure> {
    let (Editable(current), form) = kept::read::<Editable>(request, &ui).await?;
    let form = filled(form)?;
    let CurrentApplication { visit, .. } = &current;
    let page = editor_page(visit, Edited::of(&current), &form, told(&visit.view));
    Ok(page)
}

fn filled(form: Form) -> Result<Form, Failure> {
    super::filled(form).ok_or(Failure::NotFound)
}

fn told(view: &View) -> Markup {
    notice(Tone::Good, view.a().preset_filled)
}
