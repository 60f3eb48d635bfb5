//! `/ui/overview`: traffic, blocks, finds, tokens and times over a day, a week, a month or days of one's choice, of one
//! application or of all; the server's health; missing records. It reads counters that are kept as
//! records come in, so its cost does not grow with the number of records.

mod chain;
mod charts;
mod health;
mod no_judge;
mod period;
mod tiles;

use crate::analysis::api::extract::query::Query as FilterQuery;
use crate::analysis::api::records::filters;
use crate::analysis::clock::{day_of, now_ms};
use crate::analysis::records::{HourTraffic, KEPT_HOURS};
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
use charts::ChartData;
use maud::{Markup, html};
use monitor_model::{ApplicationId, TypeCount};
use period::{Bucket, Period};
use std::sync::Arc;
use tiles::Totals;

/// The address of the period's records with these filters.
type Records<'a> = dyn Fn(&[(&str, &str)]) -> String + 'a;

const NO_FILTER: &str =
    "is no filter of the overview: choose one of its periods, or filter the records";
/// Days whose traffic is kept, today included.
const KEPT_DAYS: i64 = KEPT_HOURS / 24;
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
    /// Of the time before, which is as long; None where it is not kept any more.
    before: Option<Vec<HourTraffic>>,
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
    let before = overview.buckets_before();
    let totals = Totals::of(&buckets, before.as_deref());
    let narrowed = overview.narrowed();
    let records = |parts: &[(&str, &str)]| {
        let own = narrowed.iter().map(|(name, text)| (*name, text.as_str()));
        let all: Vec<_> = own.chain(parts.iter().copied()).collect();
        address("/ui/records", &all)
    };
    let is_whole = visit.account.application_id.is_none();
    let data = ChartData {
        period: overview.period,
        buckets: &buckets,
        before: before.as_deref().unwrap_or_default(),
        links: buckets.iter().map(|one| overview.leads_to(one)).collect(),
    };
    Ok(html! {
        (no_judge::notice(services, visit).await?)
        @if overview.traffic.is_empty() {
            p.notice { (o.no_traffic) " " a href="/ui/first-steps" { (o.to_first_steps) } }
        }
        (tiles::row(view, &totals, &records))
        p { a href=(overview.people()) { (o.to_people) } }
        div.charts {
            (charts::all(view, data))
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

impl Overview {
    fn buckets_before(&self) -> Option<Vec<Bucket>> {
        let hours = self.period.hours_before(self.now_ms)?;
        let traffic = self.before.as_ref()?;
        Some(self.period.buckets_of(hours, traffic))
    }

    /// What narrows records to the period, which has no end if that is now, and to the application.
    fn narrowed(&self) -> Vec<(&'static str, String)> {
        let (first, last) = self.period.hours(self.now_ms);
        let mut parts = vec![("from", period::instant(first))];
        if let Period::Days { .. } = self.period {
            parts.push(("to", period::instant(last + 1)));
        }
        parts.extend(
            self.application
                .map(|id| ("application_id", id.to_string())),
        );
        parts
    }

    /// The end users of its days.
    fn people(&self) -> String {
        let (first, last) = self.period.hours(self.now_ms);
        let (from, to) = (period::day(first), period::day(last));
        let application = self.application.map(|id| id.to_string());
        let mut parts = vec![("from", from.as_str()), ("to", to.as_str())];
        parts.extend(application.iter().map(|id| ("application_id", id.as_str())));
        address("/ui/people", &parts)
    }

    /// A bucket of a day leads to the overview of that day, a shorter one to its records.
    fn leads_to(&self, bucket: &Bucket) -> String {
        let is_day = bucket.to - bucket.from == 24;
        let (path, from, to) = match is_day {
            true => (
                "/ui/overview",
                period::day(bucket.from),
                period::day(bucket.from),
            ),
            false => (
                "/ui/records",
                period::instant(bucket.from),
                period::instant(bucket.to),
            ),
        };
        let application = self.application.map(|id| id.to_string());
        let mut parts = vec![("from", from.as_str()), ("to", to.as_str())];
        parts.extend(application.iter().map(|id| ("application_id", id.as_str())));
        address(path, &parts)
    }
}

impl OverviewQuery {
    fn read(pairs: Pairs) -> Self {
        let period = pairs.0.iter().find(|(name, _)| name == "period");
        let period = Period::named(period.map_or("", |(_, word)| word));
        let filter = ListQuery::read(pairs);
        let wrong = period
            .is_none()
            .then(|| FieldProblem::new("period", "must be 24h, 7d or 30d"));
        let own = ["application_id", "from", "to"];
        let others = filter.names().filter(|name| !own.contains(name));
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
        let now_ms = now_ms();
        let period = self.chosen(now_ms)?;
        let filter = &self.filter;
        let filter = filter
            .resolved(services, &visit.caller, visit.view.r())
            .await?;
        let application = filter.text("application_id").parse().ok();
        let (records, caller) = (&services.records, &visit.caller);
        let before = match period.hours_before(now_ms) {
            Some(hours) => {
                let (traffic, _) = records.traffic(caller, application, hours, 0).await?;
                Some(traffic)
            }
            None => None,
        };
        let hours = period.hours(now_ms);
        let (traffic, types) = records.traffic(caller, application, hours, TYPES).await?;
        Ok(Overview {
            period,
            application,
            now_ms,
            traffic,
            before,
            types,
        })
    }

    /// Whether the address names days of its own.
    fn has_own_days(&self) -> bool {
        self.filter.has(&["from", "to"])
    }

    /// The days of the address, or else its period.
    fn chosen(&self, now_ms: i64) -> Result<Period, ApiError> {
        if !self.has_own_days() {
            return Ok(self.period);
        }
        let today = day_of(now_ms);
        let given = |name: &str| (name.to_owned(), self.filter.text(name).to_owned());
        let pairs = ["from", "to"].map(given).into_iter();
        let pairs = pairs.filter(|(_, text)| !text.is_empty()).collect();
        let (mut first, last) = filters::day_range(FilterQuery::of(pairs), today)?;
        if self.filter.text("from").is_empty() {
            first = last;
        }
        if last > today {
            return Err(FieldProblem::new("to", "must not be after today").into());
        }
        if first <= today - KEPT_DAYS {
            let problem = format!("must be at most {} days ago", KEPT_DAYS - 1);
            return Err(FieldProblem::new("from", problem).into());
        }
        Ok(Period::Days { first, last })
    }

    /// The periods as links, days and the application as fields.
    fn form(&self, visit: &Visit) -> Markup {
        let (t, o, r) = (visit.view.t, visit.view.o(), visit.view.r());
        let (c, has_days) = (visit.view.c(), self.has_own_days());
        let day = |name: &str, label: &str| {
            html! { input type="date" name=(name) value=(self.filter.text(name)) aria-label={ (label) " (UTC)" }; }
        };
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
            Period::Month | Period::Days { .. } => o.last_month,
        };
        html! {
            nav.tabs aria-label=(o.period) {
                @for one in Period::ALL { a href=(to(one)) aria-current=[(one == self.period && !has_days).then_some("true")] { (name(one)) } }
            }
            form.inline.pick method="get" action="/ui/overview" role="search" data-skips-empty {
                @if !has_days { input type="hidden" name="period" value=(self.period.word()); }
                (day("from", c.first_day)) (day("to", c.last_day))
                (application_field::field(Label::Spoken(r.application), application, o.all_applications))
                button type="submit" { (o.show) }
                @if has_days || !application.is_empty() { a.button.quiet href=(address("/ui/overview", &[("period", self.period.word())])) { (t.clear) } }
            }
        }
    }
}
