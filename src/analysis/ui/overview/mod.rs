//! `/ui/overview`: traffic, blocks, finds, tokens and times over a day, a week or a month, of one
//! application or of all; the server's health; missing records. It reads counters that are kept as
//! records come in, so its cost does not grow with the number of records.

mod chain;
mod charts;
mod health;
mod no_judge;
mod period;
mod tiles;

use crate::analysis::clock::now_ms;
use crate::analysis::records::HourTraffic;
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{content_or_refusal, head};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths::address;
use crate::analysis::ui::request::list_query::{ListQuery, Pairs};
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use crate::analysis::{ApiError, FieldProblem, Services};
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use monitor_model::{ApplicationId, TypeCount};
use period::Period;
use std::sync::Arc;

/// The address of the period's records with these filters.
type Records<'a> = dyn Fn(&[(&str, &str)]) -> String + 'a;

const NO_FILTER: &str =
    "is no filter of the overview: choose one of its periods, or filter the records";
/// Types of finds that are listed.
const TYPES: u32 = 12;

pub(super) fn routes() -> Router<Ui> {
    Router::new()
        .route("/overview", get(page))
        .route("/overview/chain", get(chain::page))
}

/// What the page is asked for in its address.
struct OverviewQuery {
    period: Period,
    filter: ListQuery,
    /// What of it the page does not do: nothing is left out silently.
    problems: Vec<FieldProblem>,
}

/// The numbers of the page.
struct Overview {
    period: Period,
    application: Option<ApplicationId>,
    now_ms: i64,
    traffic: Vec<HourTraffic>,
    types: Vec<TypeCount>,
}

async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    pairs: Pairs,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let query = OverviewQuery::read(pairs);
    let found = match query.overview(&services, &visit).await {
        Ok(overview) => Ok(content(&services, &visit, &overview).await?),
        Err(error) => Err(error),
    };
    let (status, content) = content_or_refusal(&visit.view, found)?;
    let o = visit.view.o();
    let content = html! {
        (head(o.overview, html! { p.dim { (o.overview_hint) } }, query.form(&visit)))
        (content)
    };
    let page = layout::page(&visit, Section::Overview, o.overview, content);
    Ok((status, page).into_response())
}

async fn content(
    services: &Services,
    visit: &Visit,
    overview: &Overview,
) -> Result<Markup, Failure> {
    let (view, o) = (&visit.view, visit.view.o());
    let buckets = overview.period.buckets(overview.now_ms, &overview.traffic);
    let from = buckets.first().map(|bucket| period::instant(bucket.from));
    let from = from.unwrap_or_default();
    let application = overview.application.map(|id| id.to_string());
    let records = |parts: &[(&str, &str)]| {
        let mut all = vec![("from", from.as_str())];
        all.extend(application.iter().map(|id| ("application_id", id.as_str())));
        all.extend(parts);
        address("/ui/records", &all)
    };
    let is_whole = visit.account.application_id.is_none();
    Ok(html! {
        (no_judge::notice(services, visit).await?)
        @if overview.traffic.is_empty() {
            p.notice { (o.no_traffic) " " a href="/ui/first-steps" { (o.to_first_steps) } }
        }
        (tiles::row(view, &period::total(&buckets), &records))
        div.charts {
            (charts::all(view, overview.period, &buckets))
            (charts::types(view, &overview.types, is_whole && overview.application.is_none(), &records))
        }
        @if is_whole {
            div.halves.wide {
                (health::card(services, view).await?)
                (chain::place(view))
            }
        }
    })
}

impl OverviewQuery {
    fn read(pairs: Pairs) -> Self {
        let period = pairs.0.iter().find(|(name, _)| name == "period");
        let period = Period::named(period.map_or("", |(_, word)| word));
        let filter = ListQuery::read(pairs);
        let wrong = period
            .is_none()
            .then(|| FieldProblem::new("period", "must be 24h, 7d or 30d"));
        let others = filter.names().filter(|name| *name != "application_id");
        let others = others.map(|name| FieldProblem::new(name, NO_FILTER));
        Self {
            problems: wrong.into_iter().chain(others).collect(),
            period: period.unwrap_or(Period::Day),
            filter,
        }
    }

    async fn overview(&self, services: &Services, visit: &Visit) -> Result<Overview, ApiError> {
        if !self.problems.is_empty() {
            return Err(ApiError::Fields(self.problems.clone()));
        }
        let period = self.period;
        let filter = &self.filter;
        let filter = filter
            .resolved(services, &visit.caller, visit.view.r())
            .await?;
        let application = filter.text("application_id").parse().ok();
        let now_ms = now_ms();
        let hours = period.hours(now_ms);
        let (traffic, types) = services
            .records
            .traffic(&visit.caller, application, hours, TYPES)
            .await?;
        Ok(Overview {
            period,
            application,
            now_ms,
            traffic,
            types,
        })
    }

    /// The period as links, the application as a field.
    fn form(&self, visit: &Visit) -> Markup {
        let (t, o, r) = (visit.view.t, visit.view.o(), visit.view.r());
        let application = self.filter.text("application_id");
        let to = |period: Period| {
            let mut parts = vec![("period", period.word())];
            if !application.is_empty() {
                parts.push(("application_id", application));
            }
            address("/ui/overview", &parts)
        };
        let name = |period| match period {
            Period::Day => o.last_day,
            Period::Week => o.last_week,
            Period::Month => o.last_month,
        };
        html! {
            nav.tabs aria-label=(o.period) {
                @for one in Period::ALL { a href=(to(one)) aria-current=[(one == self.period).then_some("true")] { (name(one)) } }
            }
            form.inline.pick method="get" action="/ui/overview" role="search" data-skips-empty {
                input type="hidden" name="period" value=(self.period.word());
                (application_field::field(Label::Spoken(r.application), application, o.all_applications))
                button type="submit" { (o.show) }
                @if !application.is_empty() { a.button.quiet href=(address("/ui/overview", &[("period", self.period.word())])) { (t.clear) } }
            }
        }
    }
}
