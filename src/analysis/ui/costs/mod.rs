//! `/ui/costs`: what calls cost, by model, application, user or day. It reads sums that are kept as records come in,
//! so its cost does not grow with the number of records.

mod sums;

use crate::analysis::api::records::costs;
use crate::analysis::records::CostFilter;
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::application_names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{choice, content_or_refusal, head};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths::address;
use crate::analysis::ui::request::list_query::Pairs;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use crate::analysis::{ApiError, Services};
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use std::sync::Arc;

/// Sums on the page; a file has more of them.
const SHOWN: &str = "200";
const EXPORTED: &str = "10000";

/// The parts of the filter, as in `GET /statistics/costs`.
const NAMES: [&str; 6] = [
    "group_by",
    "application_id",
    "user_id",
    "model",
    "from",
    "to",
];

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/costs", get(page))
        .route("/costs/export", get(export))
}

/// What the page is asked for in its address, as it was typed.
struct CostQuery(Vec<(&'static str, String)>);

async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    pairs: Pairs,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let query = CostQuery::read(pairs);
    let found = query.found(&services, &visit).await;
    let (status, found) = content_or_refusal(&visit.view, found)?;
    let c = visit.view.c();
    let content = html! {
        (head(c.costs, html! { p.dim { (c.costs_hint) } }, html! {}))
        (query.form(&visit.view))
        (found)
    };
    let page = layout::page(&visit, Section::Costs, c.costs, content);
    Ok((status, page).into_response())
}

async fn export(
    State(services): State<Arc<Services>>,
    visit: Visit,
    pairs: Pairs,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let filter = CostQuery::read(pairs)
        .filter(&services, &visit, EXPORTED)
        .await?;
    Ok(costs::file(&services, &visit.caller, filter).await?)
}

impl CostQuery {
    fn read(pairs: Pairs) -> Self {
        let known = |(name, text): (String, String)| {
            let name = NAMES.into_iter().find(|known| *known == name)?;
            let text = text.trim();
            (!text.is_empty()).then(|| (name, text.to_owned()))
        };
        Self(pairs.0.into_iter().filter_map(known).collect())
    }

    fn text(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(given, _)| *given == name);
        found.map_or("", |(_, text)| text)
    }

    /// What has sums of its own; models where nothing else is said.
    fn group(&self) -> &str {
        match self.text("group_by") {
            "" => "model",
            given => given,
        }
    }

    async fn filter(
        &self,
        services: &Services,
        visit: &Visit,
        limit: &str,
    ) -> Result<CostFilter, ApiError> {
        let named = self.text("application_id");
        let application = match named {
            "" => None,
            named => {
                let r = visit.view.r();
                Some(application_names::resolve(services, &visit.caller, named, r).await?)
            }
        };
        let given = self.0.iter().map(|(name, text)| (*name, text.clone()));
        let mut parts: Vec<_> = given
            .filter(|(name, _)| !matches!(*name, "application_id" | "group_by"))
            .collect();
        parts.push(("group_by", self.group().to_owned()));
        parts.push(("limit", limit.to_owned()));
        parts.extend(application.map(|id| ("application_id", id.to_string())));
        let own = |(name, text): (&str, String)| (name.to_owned(), text);
        costs::filter(parts.into_iter().map(own).collect())
    }

    /// The sums, with the file above them.
    async fn found(&self, services: &Services, visit: &Visit) -> Result<Markup, ApiError> {
        let filter = self.filter(services, visit, SHOWN).await?;
        let groups = filter.groups;
        let (sums, is_cut) = services.records.costs(&visit.caller, filter).await?;
        let ids = sums.iter().filter_map(|sum| sum.application_id);
        let names = services.admin.application_names(&visit.caller, ids).await?;
        let c = visit.view.c();
        let parts = self.0.iter().map(|(name, text)| (*name, text.as_str()));
        let parts: Vec<_> = parts
            .filter(|(name, _)| *name != "group_by")
            .chain([("group_by", self.group())])
            .collect();
        let file = address("/ui/costs/export", &parts);
        Ok(html! {
            div.bar {
                span.dim { @if is_cut { (c.only_first) } }
                div.actions { a.button.small href=(file) title=(c.export_csv) { "CSV" } }
            }
            (sums::all(&visit.view, groups, &sums, &names))
        })
    }

    fn form(&self, view: &View) -> Markup {
        let (t, r, c) = (view.t, view.r(), view.c());
        let groups = [
            ("model", c.by_model),
            ("application", c.by_application),
            ("user", c.by_user),
            ("day", c.by_day),
        ];
        let group = self.group();
        let is_listed = groups.iter().any(|(word, _)| *word == group);
        html! {
            form.card.filters method="get" action="/ui/costs" role="search" data-skips-empty {
                div.row {
                    label { (c.group) select name="group_by" {
                        @for (word, name) in groups { (choice(word, name, group)) }
                        // Several at once, as an address may ask for.
                        @if !is_listed { (choice(group, group, group)) }
                    } }
                    label { (c.first_day) input type="date" name="from" value=(self.text("from")); }
                    label { (c.last_day) input type="date" name="to" value=(self.text("to")); }
                    (application_field::field(Label::Shown(r.application), self.text("application_id"), r.name_or_id))
                    label { (r.user) input name="user_id" value=(self.text("user_id")) autocomplete="off" spellcheck="false"; }
                    label { (r.model) input name="model" value=(self.text("model")) autocomplete="off" spellcheck="false"; }
                    div.actions {
                        button.primary type="submit" { (t.search) }
                        a.button.quiet href="/ui/costs" { (t.clear) }
                    }
                }
            }
        }
    }
}
