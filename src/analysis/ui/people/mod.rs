//! `/ui/people`: the end users of calls: who sends most, who is flagged most, and the page of one of them. It reads
//! sums that are kept as records come in, so its cost does not grow with the number of records.

mod bars;
mod links;
mod table;
mod user;

use crate::analysis::api::extract::query::Query as FilterQuery;
use crate::analysis::api::records::user_filters;
use crate::analysis::clock::{day_of, now_ms};
use crate::analysis::records::UserFilter;
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::application_names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{PageLink, choice, content_or_refusal, head, pager};
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

/// The parts of the addresses of these pages.
const NAMES: [&str; 7] = [
    "application_id",
    "name",
    "sort",
    "from",
    "to",
    "page",
    "user_id",
];

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/people", get(page))
        .route("/people/user", get(user::page))
}

/// What a page is asked for in its address, as it was typed.
struct PeopleQuery(Vec<(&'static str, String)>);

async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    pairs: Pairs,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let query = PeopleQuery::read(pairs);
    let found = query.found(&services, &visit).await;
    let (status, found) = content_or_refusal(&visit.view, found)?;
    let p = visit.view.p();
    let content = html! {
        (head(p.people, html! { p.dim { (p.people_hint) } }, html! {}))
        (query.form(&visit.view))
        (found)
    };
    let page = layout::page(&visit, Section::People, p.people, content);
    Ok((status, page).into_response())
}

impl PeopleQuery {
    fn read(pairs: Pairs) -> Self {
        let known = |(name, text): (String, String)| {
            let name = NAMES.into_iter().find(|known| *known == name)?;
            // A name of a user is exact.
            let text = if name == "user_id" {
                &*text
            } else {
                text.trim()
            };
            (!text.is_empty()).then(|| (name, text.to_owned()))
        };
        Self(pairs.0.into_iter().filter_map(known).collect())
    }

    fn text(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(given, _)| *given == name);
        found.map_or("", |(_, text)| text)
    }

    /// The filter of the address; the name of one user is no part of it.
    async fn filter(&self, services: &Services, visit: &Visit) -> Result<UserFilter, ApiError> {
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
            .filter(|(name, _)| !matches!(*name, "application_id" | "user_id"))
            .collect();
        parts.extend(application.map(|id| ("application_id", id.to_string())));
        let own = |(name, text): (&str, String)| (name.to_owned(), text);
        let query = FilterQuery::of(parts.into_iter().map(own).collect());
        user_filters::users(query, day_of(now_ms()))
    }

    async fn found(&self, services: &Services, visit: &Visit) -> Result<Markup, ApiError> {
        let filter = self.filter(services, visit).await?;
        let days = filter.days;
        let page = filter.skipped / filter.limit + 1;
        let people = services.records.users(&visit.caller, filter).await?;
        let ids = people.users.iter().map(|user| user.application_id);
        let names = services.admin.application_names(&visit.caller, ids).await?;
        let (view, t) = (&visit.view, visit.view.t);
        let link = |label, page: u32| PageLink {
            label,
            address: self.at(page),
        };
        let first = (page > 1).then(|| link(t.first_page, 1));
        let next = people.has_more && page < user_filters::MOST_USER_PAGES;
        let next = next.then(|| link(t.next_page, page + 1));
        Ok(html! {
            @if people.users.is_empty() { div.empty { (view.p().no_people) } } @else { (table::all(view, &people, days, &names)) }
            (pager(t, first, next))
        })
    }

    /// The address of another page of the list.
    fn at(&self, page: u32) -> String {
        let page = page.to_string();
        let parts = self.0.iter().map(|(name, text)| (*name, text.as_str()));
        let parts: Vec<_> = parts
            .filter(|(name, _)| *name != "page")
            .chain([("page", page.as_str())])
            .collect();
        address("/ui/people", &parts)
    }

    fn form(&self, view: &View) -> Markup {
        let (t, r, p) = (view.t, view.r(), view.p());
        let orders = [
            ("flagged", p.by_flagged),
            ("share", p.by_share),
            ("messages", p.by_messages),
            ("last_seen", p.by_last_seen),
        ];
        html! {
            form.card.filters method="get" action="/ui/people" role="search" data-skips-empty {
                div.row {
                    label { (p.name_part) input type="search" name="name" value=(self.text("name")) maxlength="1000" autocomplete="off" spellcheck="false"; }
                    (application_field::field(Label::Shown(r.application), self.text("application_id"), r.name_or_id))
                    (self.days(view))
                    label { (p.sort) select name="sort" {
                        @for (word, name) in orders { (choice(word, name, self.text("sort"))) }
                    } }
                    div.actions {
                        button.primary type="submit" { (t.search) }
                        a.button.quiet href="/ui/people" { (t.clear) }
                    }
                }
            }
        }
    }

    /// The fields of the first and the last day.
    fn days(&self, view: &View) -> Markup {
        let c = view.c();
        html! {
            label { (c.first_day) input type="date" name="from" value=(self.text("from")); }
            label { (c.last_day) input type="date" name="to" value=(self.text("to")); }
        }
    }
}
