//! The versions of an application, each with its changes. Restoring one creates a new version.

use super::current::{CurrentApplication, Editable};
use super::differences::{self, content_of};
use crate::analysis::access::Scope;
use crate::analysis::admin::applications::Basis;
use crate::analysis::admin::{Application, ApplicationVersion};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{badge, head, time, token_field};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use axum::extract::Query;
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

const PER_PAGE: u32 = 20;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct VersionsQuery {
    before: Option<i64>,
}

pub(super) async fn page(
    current: CurrentApplication,
    Query(query): Query<VersionsQuery>,
) -> Result<Html<String>, Failure> {
    let back = current.address();
    let CurrentApplication {
        services,
        visit,
        stored,
    } = current;
    // One more than is shown: each is compared with the one before it.
    let limit = PER_PAGE + 1;
    let (versions, _) = services
        .admin
        .list_versions(&visit.caller, stored.id, query.before, limit)
        .await?;
    let t = visit.view.t;
    let next =
        (versions.len() > PER_PAGE as usize).then(|| versions[PER_PAGE as usize - 1].version);
    let title = format!("{}: {}", stored.name, t.versions);
    Ok(layout::page(
        &visit,
        Section::Applications,
        &title,
        html! {
            (head(&title, html! {}, html! { a.button href=(back) { (t.back) } }))
            ol.versions {
                @for (at, version) in versions.iter().enumerate().take(PER_PAGE as usize) {
                    (entry(&visit, &stored, version, versions.get(at + 1)))
                }
            }
            @if let Some(before) = next {
                nav.pager aria-label=(t.pages) { a.button href={ (back) "/versions?before=" (before) } { (t.next_page) } }
            }
        },
    ))
}

pub(super) async fn restore(Editable(current): Editable, form: Form) -> Result<Response, Failure> {
    let number = |name| form.text(name).parse().map_err(|_| Failure::NotFound);
    let (version, earlier) = (number("version")?, number("restore")?);
    let basis = Basis {
        id: current.stored.id,
        version,
    };
    current
        .services
        .admin
        .restore_application(&current.visit.caller, basis, earlier)
        .await?;
    Ok(Redirect::to(&format!("{}/versions", current.address())).into_response())
}

fn entry(
    visit: &Visit,
    application: &Application,
    version: &ApplicationVersion,
    before: Option<&ApplicationVersion>,
) -> Markup {
    let t = visit.view.t;
    let is_latest = version.version == application.version;
    let found =
        before.map(|before| differences::between(&content_of(before), &content_of(version)));
    html! {
        li.card {
            div.head {
                h2 { (t.version) " " (version.version) @if is_latest { " " (badge("good", t.latest)) } }
                div.actions { @if !is_latest && visit.may(Scope::Admin) {
                    form.inline method="post" action={ "/ui/applications/" (application.id) "/restore" } {
                        (token_field(&visit.view))
                        input type="hidden" name="version" value=(application.version);
                        button.quiet type="submit" name="restore" value=(version.version) data-confirm={ (t.restore_question) " " (version.version) } { (t.restore) }
                    }
                } }
            }
            p.dim { (time(version.changed_at_ms)) " · " (version.changed_by) }
            @match &found {
                Some(found) => {
                    (differences::weakened(&visit.view, found))
                    (differences::table(&visit.view, found, (t.before, t.after)))
                }
                None => p.dim { (t.first_version) },
            }
        }
    }
}
